#include "runtime/device/cpu/libraries/onednn_library.h"

#ifdef CGRAPH_ONEDNN
#include <dlfcn.h>

#include <algorithm>

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

// Returns whether only a call knows all extents.
bool IsOpen(const dnnl_memory_desc_t& desc) {
  return std::any_of(desc.dims, desc.dims + desc.ndims,
                     [](dnnl_dim_t extent) { return extent == DNNL_RUNTIME_DIM_VAL; });
}

}  // namespace

const DnnlLibrary* DnnlLibrary::Find() {
  static const DnnlLibrary library = OpenDnnl();
  return library.loaded ? &library : nullptr;
}

DnnlPrimitive::~DnnlPrimitive() {
  if (primitive_ != nullptr) dnnl_.primitive_destroy(primitive_);
  for (const dnnl_exec_arg_t& argument : arguments_) {
    if (argument.memory != nullptr) dnnl_.memory_destroy(argument.memory);
  }
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
  return InitBy(operands, [&](dnnl_primitive_desc_t* desc, dnnl_primitive_attr_t attributes) {
    return dnnl_.primitive_desc_create(desc, op, attributes, dnnl_.engine, hint);
  });
}

bool DnnlPrimitive::InitReorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
  const DnnlOperand operands[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  return InitBy(operands, [&](dnnl_primitive_desc_t* desc, dnnl_primitive_attr_t attributes) {
    return dnnl_.reorder_primitive_desc_create(desc, &from, dnnl_.engine, &to, dnnl_.engine,
                                               attributes);
  });
}

template <typename Describe>
bool DnnlPrimitive::InitBy(std::span<const DnnlOperand> operands, Describe describe) {
  UseOneThread(dnnl_);
  dnnl_primitive_attr_t attributes = nullptr;
  if (!IsDone(dnnl_.primitive_attr_create(&attributes))) return false;
  dnnl_primitive_desc_t desc = nullptr;
  bool made =
      IsDone(dnnl_.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user)) &&
      IsDone(describe(&desc, attributes));
  dnnl_.primitive_attr_destroy(attributes);
  if (!made) return false;
  for (size_t i = 0; made && i < operands.size(); ++i) {
    made = MakeOperand(operands[i], i, i + 1 == operands.size(), desc);
  }
  const dnnl_memory_desc_t* work = dnnl_.primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  made = made && !IsOpen(*work);
  if (made) work_.resize(dnnl_.memory_desc_get_size(work));
  made = made && MakeMemory(*work, work_.data(), DNNL_ARG_SCRATCHPAD) &&
         IsDone(dnnl_.primitive_create(&primitive_, desc)) &&
         IsDone(dnnl_.stream_create(&stream_, dnnl_.engine, dnnl_stream_default_flags));
  dnnl_.primitive_desc_destroy(desc);
  return made;
}

bool DnnlPrimitive::MakeOperand(const DnnlOperand& operand, size_t index, bool is_result,
                                const_dnnl_primitive_desc_t desc) {
  const dnnl_memory_desc_t* own =
      dnnl_.primitive_desc_query_md(desc, dnnl_query_exec_arg_md, operand.argument);
  if (own == nullptr) return false;
  if (IsOpen(*own)) {
    arguments_.push_back({operand.argument, nullptr});  // until DescribeOperand()
    return dnnl_.memory_desc_equal(own, &operand.desc) != 0;
  }
  if (!MakeMemory(*own, nullptr, operand.argument)) return false;
  if (dnnl_.memory_desc_equal(own, &operand.desc) != 0) return true;
  Reordered& reordered = reordered_.emplace_back();
  reordered.operand = index;
  reordered.memory.resize(dnnl_.memory_desc_get_size(own));
  reordered.reorder = std::make_unique<DnnlPrimitive>(dnnl_);
  return is_result ? reordered.reorder->InitReorder(*own, operand.desc)
                   : reordered.reorder->InitReorder(operand.desc, *own);
}

bool DnnlPrimitive::DescribeOperand(size_t operand, const dnnl_memory_desc_t& desc) {
  dnnl_memory_t& memory = arguments_[operand].memory;
  if (memory != nullptr) dnnl_.memory_destroy(memory);
  memory = nullptr;
  return IsDone(dnnl_.memory_create(&memory, &desc, dnnl_.engine, nullptr));
}

bool DnnlPrimitive::Run(std::span<void* const> data) {
  UseOneThread(dnnl_);
  const auto set = [&](size_t operand, void* memory) {
    return IsDone(dnnl_.memory_set_data_handle(arguments_[operand].memory, memory));
  };
  const size_t result = data.size() - 1;
  for (size_t i = 0; i < data.size(); ++i) {
    if (!set(i, data[i])) return false;
  }
  for (Reordered& reordered : reordered_) {
    void* const ends[] = {data[reordered.operand], reordered.memory.data()};
    if (!set(reordered.operand, reordered.memory.data())) return false;
    if (reordered.operand != result && !reordered.reorder->Run(ends)) return false;
  }
  if (!IsDone(dnnl_.primitive_execute(primitive_, stream_, static_cast<int>(arguments_.size()),
                                      arguments_.data()))) {
    return false;
  }
  if (reordered_.empty() || reordered_.back().operand != result) return true;
  void* const ends[] = {reordered_.back().memory.data(), data[result]};
  return reordered_.back().reorder->Run(ends);
}

}  // namespace cgraph::device

#endif
