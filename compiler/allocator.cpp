// How the allocator behaves in programs that compile: what jemalloc reads when it starts, where it
// is linked. A graph of a million operations is some ten million small vectors in two gigabytes;
// with huge pages and one arena it is scheduled in three quarters of the time. What is freed goes
// back, so that a limit on address space holds what it would hold with any allocator.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,narenas:1,retain:false";
}
