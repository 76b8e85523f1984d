// oneDNN 2 through its C interface. Its headers give the layout of its structures; a build without
// them has no oneDNN.
#include "runtime/device/libraries/onednn.h"

#if __has_include(<oneapi/dnnl/dnnl.h>) && defined(__x86_64__)
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <vector>

#if DNNL_VERSION_MAJOR == 2
#define CGRAPH_ONEDNN 1
#endif
#endif

namespace cgraph::device {

#ifdef CGRAPH_ONEDNN
namespace {

// The functions that are used, under their names without the prefix.
#define CGRAPH_DNNL_FUNCTIONS(X)                                                              \
  X(engine_create) X(stream_create) X(stream_destroy) X(memory_desc_init_by_strides)          \
  X(memory_desc_get_size) X(memory_create) X(memory_set_data_handle) X(memory_destroy)        \
  X(matmul_desc_init) X(primitive_attr_create) X(primitive_attr_set_scratchpad_mode)          \
  X(primitive_attr_destroy) X(primitive_desc_create) X(primitive_desc_query_md)               \
  X(primitive_desc_destroy) X(primitive_create) X(primitive_execute) X(primitive_destroy)

struct Library {
#define X(name) decltype(&dnnl_##name) name = nullptr;
  CGRAPH_DNNL_FUNCTIONS(X)
#undef X
  void (*set_threads)(int) = nullptr;  // of OpenMP, for the calling thread
  dnnl_engine_t engine = nullptr;
  bool loaded = false;
};

Library OpenOneDnnLibrary() {
  Library library;
  if (!__builtin_cpu_supports("avx512bf16")) return library;
  void* handle = dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return library;
  bool complete = true;
#define X(name)                                                                           \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, "dnnl_" #name)); \
  complete &= library.name != nullptr;
  CGRAPH_DNNL_FUNCTIONS(X)
#undef X
  library.set_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
  library.loaded = complete && library.set_threads != nullptr &&
                   library.engine_create(&library.engine, dnnl_cpu, 0) == dnnl_success;
  return library;
}

// Returns the one library of this process, never unloaded; null when there is none.
const Library* Loaded() {
  static const Library library = OpenOneDnnLibrary();
  return library.loaded ? &library : nullptr;
}

class Matmul final : public DnnlMatmul {
 public:
  explicit Matmul(const Library& library) : dnnl_(library) {}
  ~Matmul() override {
    if (primitive_ != nullptr) dnnl_.primitive_destroy(primitive_);
    for (dnnl_memory_t memory : {a_, b_, c_, scratchpad_}) {
      if (memory != nullptr) dnnl_.memory_destroy(memory);
    }
    if (stream_ != nullptr) dnnl_.stream_destroy(stream_);
  }

  bool Init(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k) {
    OneThread();
    dnnl_memory_desc_t a, b, c;
    dnnl_matmul_desc_t matmul;
    return Describe(a, m, k, transpose_a) && Describe(b, k, n, transpose_b) &&
           Describe(c, m, n, false) &&
           Done(dnnl_.matmul_desc_init(&matmul, &a, &b, nullptr, &c)) && MakePrimitive(matmul) &&
           Done(dnnl_.stream_create(&stream_, dnnl_.engine, dnnl_stream_default_flags)) &&
           MakeMemory(a_, a, nullptr) && MakeMemory(b_, b, nullptr) && MakeMemory(c_, c, nullptr);
  }

  bool Run(const void* a, const void* b, void* c) override {
    OneThread();
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_},
                                         {DNNL_ARG_DST, c_}, {DNNL_ARG_SCRATCHPAD, scratchpad_}};
    return Done(dnnl_.memory_set_data_handle(a_, const_cast<void*>(a))) &&
           Done(dnnl_.memory_set_data_handle(b_, const_cast<void*>(b))) &&
           Done(dnnl_.memory_set_data_handle(c_, c)) &&
           Done(dnnl_.primitive_execute(primitive_, stream_, 4, arguments));
  }

 private:
  static bool Done(dnnl_status_t status) { return status == dnnl_success; }

  // Sets one OpenMP thread for the calling thread: the number is a property of each thread.
  void OneThread() const {
    thread_local const bool once = (dnnl_.set_threads(1), true);
    (void)once;
  }

  bool Describe(dnnl_memory_desc_t& desc, int64_t rows, int64_t columns, bool transpose) const {
    const dnnl_dims_t dims = {rows, columns};
    const dnnl_dims_t strides = {transpose ? 1 : columns, transpose ? rows : 1};
    return Done(dnnl_.memory_desc_init_by_strides(&desc, 2, dims, dnnl_bf16, strides));
  }
  bool MakeMemory(dnnl_memory_t& memory, const dnnl_memory_desc_t& desc, void* data) const {
    return Done(dnnl_.memory_create(&memory, &desc, dnnl_.engine, data));
  }

  // Makes the primitive with work memory of ours: the library's own belongs to the thread that made
  // the primitive.
  bool MakePrimitive(const dnnl_matmul_desc_t& matmul) {
    dnnl_primitive_attr_t attributes = nullptr;
    if (!Done(dnnl_.primitive_attr_create(&attributes))) return false;
    dnnl_primitive_desc_t desc = nullptr;
    bool made =
        Done(dnnl_.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user)) &&
        Done(dnnl_.primitive_desc_create(&desc, &matmul, attributes, dnnl_.engine, nullptr));
    dnnl_.primitive_attr_destroy(attributes);
    if (!made) return false;
    const dnnl_memory_desc_t* work =
        dnnl_.primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    constexpr uintptr_t kAlign = 64;
    work_.resize(dnnl_.memory_desc_get_size(work) + kAlign);
    const uintptr_t start = reinterpret_cast<uintptr_t>(work_.data());
    made = MakeMemory(scratchpad_, *work,
                      reinterpret_cast<void*>((start + kAlign - 1) / kAlign * kAlign)) &&
           Done(dnnl_.primitive_create(&primitive_, desc));
    dnnl_.primitive_desc_destroy(desc);
    return made;
  }

  const Library& dnnl_;
  dnnl_primitive_t primitive_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  dnnl_memory_t a_ = nullptr, b_ = nullptr, c_ = nullptr, scratchpad_ = nullptr;
  std::vector<char> work_;
};

}  // namespace

std::unique_ptr<DnnlMatmul> DnnlMatmul::Make(bool transpose_a, bool transpose_b, int64_t m,
                                             int64_t n, int64_t k) {
  const Library* library = Loaded();
  if (library == nullptr) return nullptr;
  auto matmul = std::make_unique<Matmul>(*library);
  if (!matmul->Init(transpose_a, transpose_b, m, n, k)) return nullptr;
  return matmul;
}

#else

std::unique_ptr<DnnlMatmul> DnnlMatmul::Make(bool, bool, int64_t, int64_t, int64_t) {
  return nullptr;
}

#endif

}  // namespace cgraph::device
