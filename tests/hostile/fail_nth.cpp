// A library to be preloaded: the n-th call of one kind fails, as the system lets it fail when
// something is short.
//
//   CGRAPH_FAIL=alloc:17     the 17th allocation returns nothing
//   CGRAPH_FAIL=alloc:17+    so does every later one
//   CGRAPH_FAIL=count:FILE   nothing fails; at exit the number of calls of each kind is in FILE
//
// Only in the program itself, not in those that it starts.
//
// Kinds: alloc, mmap, open, read, write, close, stat, rename, thread, dlopen, spawn, share (what
// processes have in common).
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum Kind { kAlloc, kMmap, kOpen, kRead, kWrite, kClose, kStat, kRename, kThread, kDlopen, kSpawn,
            kShare, kKinds };
constexpr const char* kNames[] = {"alloc", "mmap",   "open",   "read",   "write", "close",
                                  "stat",  "rename", "thread", "dlopen", "spawn", "share"};

struct Order {
  int kind = -1;  // none: nothing fails
  long at = 0;
  bool ever_after = false;
};
Order order;
std::atomic<bool> armed = false;
std::atomic<long> calls[kKinds];
const char* count_to = nullptr;

// Reads the variable before main(), and after the libraries that this one needs.
__attribute__((constructor)) void Read() {
  const char* text = std::getenv("CGRAPH_FAIL");
  const char* colon = text == nullptr ? nullptr : std::strchr(text, ':');
  if (colon == nullptr) return;
  const auto length = static_cast<size_t>(colon - text);
  if (std::strncmp(text, "count", length) == 0) count_to = colon + 1;
  for (int kind = 0; kind < kKinds; ++kind) {
    if (std::strlen(kNames[kind]) != length || std::strncmp(text, kNames[kind], length) != 0) {
      continue;
    }
    char* end = nullptr;
    order = {kind, std::strtol(colon + 1, &end, 10), false};
    order.ever_after = *end == '+';
  }
  unsetenv("LD_PRELOAD");  // not what this program starts
  armed = true;
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

__attribute__((destructor)) void WriteCounts() {
  if (count_to == nullptr) return;
  armed = false;
  std::FILE* file = Next<decltype(&std::fopen)>("fopen")(count_to, "w");
  for (int kind = 0; kind < kKinds; ++kind) {
    std::fprintf(file, "%s %ld\n", kNames[kind], calls[kind].load());
  }
  std::fclose(file);
}

bool Fails(Kind kind) {
  if (!armed) return false;
  const long call = ++calls[kind];
  return order.kind == kind && (call == order.at || (order.ever_after && call > order.at));
}

// Memory for dlsym(), which itself allocates before there is an allocator.
alignas(16) char early[1 << 16];
std::atomic<size_t> early_used = 0;
bool IsEarly(const void* memory) { return memory >= early && memory < early + sizeof(early); }
void* Early(size_t bytes) { return early + early_used.fetch_add((bytes + 15) / 16 * 16); }

thread_local bool looking = false;
template <typename Function>
Function Allocator(const char* name) {
  looking = true;
  const Function function = Next<Function>(name);
  looking = false;
  return function;
}

}  // namespace

// The next function of a name, looked up once.
#define NEXT(name) \
  static const auto next = Next<decltype(&::name)>(#name)
#define FAIL_IF(kind, error, result) \
  if (Fails(kind)) {                 \
    errno = error;                   \
    return result;                   \
  }

extern "C" {

void* malloc(size_t bytes) noexcept {
  if (looking) return Early(bytes);
  static const auto next = Allocator<void* (*)(size_t)>("malloc");
  FAIL_IF(kAlloc, ENOMEM, nullptr);
  return next(bytes);
}
void* calloc(size_t count, size_t bytes) noexcept {
  if (looking) return Early(count * bytes);
  static const auto next = Allocator<void* (*)(size_t, size_t)>("calloc");
  FAIL_IF(kAlloc, ENOMEM, nullptr);
  return next(count, bytes);
}
void* realloc(void* memory, size_t bytes) noexcept {
  static const auto next = Allocator<void* (*)(void*, size_t)>("realloc");
  FAIL_IF(kAlloc, ENOMEM, nullptr);
  return next(memory, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
  static const auto next = Allocator<int (*)(void**, size_t, size_t)>("posix_memalign");
  if (Fails(kAlloc)) return ENOMEM;
  return next(memory, alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  static const auto next = Allocator<void* (*)(size_t, size_t)>("aligned_alloc");
  FAIL_IF(kAlloc, ENOMEM, nullptr);
  return next(alignment, bytes);
}
void free(void* memory) noexcept {
  if (IsEarly(memory)) return;
  static const auto next = Allocator<void (*)(void*)>("free");
  next(memory);
}

void* mmap(void* at, size_t bytes, int rights, int flags, int file, off_t offset) noexcept {
  NEXT(mmap);
  FAIL_IF(kMmap, ENOMEM, MAP_FAILED);
  return next(at, bytes, rights, flags, file, offset);
}

int open(const char* path, int flags, ...) {
  NEXT(open);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  FAIL_IF(kOpen, EMFILE, -1);
  return next(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  NEXT(open64);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  FAIL_IF(kOpen, EMFILE, -1);
  return next(path, flags, mode);
}
std::FILE* fopen(const char* path, const char* mode) {
  NEXT(fopen);
  FAIL_IF(kOpen, EMFILE, nullptr);
  return next(path, mode);
}
std::FILE* fopen64(const char* path, const char* mode) {
  NEXT(fopen64);
  FAIL_IF(kOpen, EMFILE, nullptr);
  return next(path, mode);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  NEXT(memfd_create);
  FAIL_IF(kOpen, EMFILE, -1);
  return next(name, flags);
}

ssize_t read(int file, void* bytes, size_t count) {
  NEXT(read);
  FAIL_IF(kRead, EIO, -1);
  return next(file, bytes, count);
}
ssize_t pread(int file, void* bytes, size_t count, off_t offset) {
  NEXT(pread);
  FAIL_IF(kRead, EIO, -1);
  return next(file, bytes, count, offset);
}
ssize_t pread64(int file, void* bytes, size_t count, off64_t offset) {
  NEXT(pread64);
  FAIL_IF(kRead, EIO, -1);
  return next(file, bytes, count, offset);
}

ssize_t write(int file, const void* bytes, size_t count) {
  NEXT(write);
  FAIL_IF(kWrite, ENOSPC, -1);
  return next(file, bytes, count);
}
// stdio's own writes do not go through write().
int fflush(std::FILE* file) {
  NEXT(fflush);
  FAIL_IF(kWrite, ENOSPC, EOF);
  return next(file);
}

int close(int file) {
  NEXT(close);
  const int done = next(file);
  FAIL_IF(kClose, EIO, -1);
  return done;
}
int fclose(std::FILE* file) {
  NEXT(fclose);
  const int done = next(file);
  FAIL_IF(kClose, EIO, EOF);
  return done;
}

int stat(const char* path, struct stat* info) noexcept {
  NEXT(stat);
  FAIL_IF(kStat, EIO, -1);
  return next(path, info);
}
int fstat(int file, struct stat* info) noexcept {
  NEXT(fstat);
  FAIL_IF(kStat, EIO, -1);
  return next(file, info);
}
int lstat(const char* path, struct stat* info) noexcept {
  NEXT(lstat);
  FAIL_IF(kStat, EIO, -1);
  return next(path, info);
}
int access(const char* path, int how) noexcept {
  NEXT(access);
  FAIL_IF(kStat, EIO, -1);
  return next(path, how);
}

int rename(const char* from, const char* to) noexcept {
  NEXT(rename);
  FAIL_IF(kRename, EIO, -1);
  return next(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  NEXT(renameat2);
  FAIL_IF(kRename, EIO, -1);
  return next(from_folder, from, to_folder, to, flags);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  NEXT(linkat);
  FAIL_IF(kRename, EIO, -1);
  return next(from_folder, from, to_folder, to, flags);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  NEXT(pthread_create);
  if (Fails(kThread)) return EAGAIN;
  return next(thread, attributes, run, argument);
}

namespace {
thread_local bool no_library = false;
}
void* dlopen(const char* path, int flags) noexcept {
  NEXT(dlopen);
  no_library = Fails(kDlopen);
  return no_library ? nullptr : next(path, flags);
}
char* dlerror() noexcept {
  NEXT(dlerror);
  static char text[] = "cannot map the library";
  if (!no_library) return next();
  no_library = false;
  return text;
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* files,
                const posix_spawnattr_t* attributes, char* const* arguments,
                char* const* environment) noexcept {
  NEXT(posix_spawn);
  if (Fails(kSpawn)) return EAGAIN;
  return next(pid, path, files, attributes, arguments, environment);
}
int ftruncate(int file, off_t size) noexcept {
  NEXT(ftruncate);
  FAIL_IF(kShare, ENOSPC, -1);
  return next(file, size);
}
int fallocate(int file, int mode, off_t offset, off_t size) {
  NEXT(fallocate);
  FAIL_IF(kShare, ENOSPC, -1);
  return next(file, mode, offset, size);
}
int socketpair(int domain, int type, int protocol, int ends[2]) noexcept {
  NEXT(socketpair);
  FAIL_IF(kShare, EMFILE, -1);
  return next(domain, type, protocol, ends);
}

}  // extern "C"

// jemalloc has an operator new of its own, which does not ask malloc().
void* operator new(size_t bytes) {
  static const auto next = Allocator<void* (*)(size_t)>("malloc");
  void* const memory = Fails(kAlloc) ? nullptr : next(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  static const auto next = Allocator<void* (*)(size_t)>("malloc");
  return Fails(kAlloc) ? nullptr : next(bytes);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  static const auto next = Allocator<void* (*)(size_t, size_t)>("aligned_alloc");
  const auto align = static_cast<size_t>(alignment);
  void* const memory =
      Fails(kAlloc) ? nullptr : next(align, (bytes + align - 1) / align * align);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
