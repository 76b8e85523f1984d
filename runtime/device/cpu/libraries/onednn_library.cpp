#include "runtime/device/cpu/libraries/onednn_library.h"

#ifdef CGRAPH_ONEDNN
#include <dlfcn.h>

#include <cstdint>

namespace cgraph::device {
namespace {

DnnlLibrary OpenDnnl() {
  DnnlLibrary library;
  void* handle = dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return library;
  bool complete = true;
#define X(name)                                                                          \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, "dnnl_" #name)); \
  complete &= library.name != nullptr;
  CGRAPH_DNNL_FUNCTIONS(X)
#undef X
  library.set_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
  library.loaded = complete && library.set_threads != nullptr &&
                   library.engine_create(&library.engine, dnnl_cpu, 0) == dnnl_success;
  return library;
}

// Sets one OpenMP thread for the calling thread: the number is a property of each thread. More
// would take cores from the engine's other workers.
void UseOneThread(const DnnlLibrary& library) {
  thread_local const bool once = (library.set_threads(1), true);
  (void)once;
}

}  // namespace

const DnnlLibrary* DnnlLibrary::Find() {
  static const DnnlLibrary library = OpenDnnl();
  return library.loaded ? &library : nullptr;
}

DnnlPrimitive::~DnnlPrimitive() {
  if (primitive_ != nullptr) dnnl_.primitive_destroy(primitive_);
  for (const dnnl_exec_arg_t& argument : arguments_) dnnl_.memory_destroy(argument.memory);
  if (stream_ != nullptr) dnnl_.stream_destroy(stream_);
}

bool DnnlPrimitive::MakeMemory(const dnnl_memory_desc_t& desc, void* data, int argument) {
  dnnl_memory_t memory = nullptr;
  if (!IsDone(dnnl_.memory_create(&memory, &desc, dnnl_.engine, data))) return false;
  arguments_.push_back({argument, memory});
  return true;
}

bool DnnlPrimitive::Init(const_dnnl_op_desc_t op, const_dnnl_primitive_desc_t hint,
                         std::span<const DnnlOperand> operands) {
  UseOneThread(dnnl_);
  dnnl_primitive_attr_t attributes = nullptr;
  if (!IsDone(dnnl_.primitive_attr_create(&attributes))) return false;
  dnnl_primitive_desc_t desc = nullptr;
  bool made =
      IsDone(dnnl_.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user)) &&
      IsDone(dnnl_.primitive_desc_create(&desc, op, attributes, dnnl_.engine, hint));
  dnnl_.primitive_attr_destroy(attributes);
  if (!made) return false;
  for (const DnnlOperand& operand : operands) {
    made = made && MakeMemory(operand.desc, nullptr, operand.argument);
  }
  const dnnl_memory_desc_t* work = dnnl_.primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  constexpr uintptr_t kAlign = 64;
  work_.resize(dnnl_.memory_desc_get_size(work) + kAlign);
  const uintptr_t start = reinterpret_cast<uintptr_t>(work_.data());
  void* aligned = reinterpret_cast<void*>((start + kAlign - 1) / kAlign * kAlign);
  made = made && MakeMemory(*work, aligned, DNNL_ARG_SCRATCHPAD) &&
         IsDone(dnnl_.primitive_create(&primitive_, desc)) &&
         IsDone(dnnl_.stream_create(&stream_, dnnl_.engine, dnnl_stream_default_flags));
  dnnl_.primitive_desc_destroy(desc);
  return made;
}

bool DnnlPrimitive::Run(std::span<void* const> data) {
  UseOneThread(dnnl_);
  for (size_t i = 0; i < data.size(); ++i) {
    if (!IsDone(dnnl_.memory_set_data_handle(arguments_[i].memory, data[i]))) return false;
  }
  return IsDone(dnnl_.primitive_execute(primitive_, stream_, static_cast<int>(arguments_.size()),
                                        arguments_.data()));
}

}  // namespace cgraph::device

#endif
