// How the allocator behaves in programs that compile: what jemalloc reads when it starts, where it
// is linked. A graph of a million operations is some ten million small vectors in two gigabytes;
// with huge pages a quarter of the time is saved that the allocator and the kernel would take.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}
