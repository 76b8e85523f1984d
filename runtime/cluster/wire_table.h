/* What a library with a wire exports: one C function that returns a table. Nothing of C++ crosses,
 * so such a library may be of another build or compiler than cgraph. runtime/cluster/wire.h says
 * what the functions do; one thread at a time calls them.
 */
#ifndef CGRAPH_RUNTIME_CLUSTER_WIRE_TABLE_H_
#define CGRAPH_RUNTIME_CLUSTER_WIRE_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised where a function or a struct changes. What is new at the end of the table leaves it as it
 * is: `size` says what a library has. */
#define CGRAPH_WIRE_VERSION 1

/* The connection to the other ranks, of which there is one in a process. */
typedef struct cgraph_wire cgraph_wire;

typedef struct cgraph_wire_incoming {
  uint32_t from;
  uint32_t tag;
  uint64_t bytes;
  uint64_t handle;
} cgraph_wire_incoming;

typedef struct cgraph_wire_functions {
  uint32_t version; /* CGRAPH_WIRE_VERSION */
  uint32_t size;    /* of this struct, as the library was built */
  const char* made_by; /* "cgraph 0.1.0" */

  /* Connects to the other ranks. Null where it cannot, with why in `error`, of `bytes`, as a
   * sentence that ends with a zero. */
  cgraph_wire* (*connect)(char* error, size_t bytes);
  uint32_t (*rank)(const cgraph_wire*);
  uint32_t (*count)(const cgraph_wire*);
  uint32_t (*most_tag)(const cgraph_wire*);
  const char* (*library)(const cgraph_wire*); /* "Open MPI v4.1.4"; stays as long as the wire */
  double (*share_of_cores)(const cgraph_wire*);

  uint64_t (*begin_send)(cgraph_wire*, uint32_t to, uint32_t tag, const void* data,
                         uint64_t bytes);
  int (*probe)(cgraph_wire*, cgraph_wire_incoming* message); /* 0: none has arrived */
  uint64_t (*begin_receive)(cgraph_wire*, const cgraph_wire_incoming* message, void* to);
  int (*over)(cgraph_wire*, uint64_t request); /* 0: it is not over */

  void (*finish)(cgraph_wire*);
  void (*abort)(cgraph_wire*, int exit_code);
} cgraph_wire_functions;

/* `cgraph_wire_table` */
typedef const cgraph_wire_functions* cgraph_wire_table_function(void);

#ifdef __cplusplus
}
#endif

#endif /* CGRAPH_RUNTIME_CLUSTER_WIRE_TABLE_H_ */
