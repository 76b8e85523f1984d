#include "runtime/device/cuda/device/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/sync/spin.h"
#include "runtime/device/cuda/collectives/nccl_memory.h"
#include "runtime/device/cuda/device/cuda_queue.h"
#include "runtime/device/cuda/device/prepared.h"

namespace cgraph::cuda {

using namespace device;

namespace {

constexpr uint32_t kCopyThreads = 256;
constexpr uint64_t kCopyBytesPerThread = 64;
constexpr uint64_t kMostCopyBlocks = 1024;

// The watcher looks without a pause for as long as it would take to wake it, then from time to
// time.
constexpr uint32_t kLooksWithoutPause = 2000;
constexpr auto kPause = std::chrono::microseconds(50);

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::Make(
    std::string name, std::shared_ptr<Gpu> gpu, std::shared_ptr<NcclCommunicators> communicators,
    Shared shared) {
  std::unique_ptr<CudaDevice> device(
      new CudaDevice(std::move(name), std::move(gpu), std::move(communicators), std::move(shared)));
  for (const auto& [name, function] : {std::pair("pass_poison", &device->pass_poison_),
                                       std::pair("show_poison", &device->show_poison_),
                                       std::pair("take_poison", &device->take_poison_),
                                       std::pair("copy_guarded", &device->copy_guarded_)}) {
    auto found = device->gpu_->module().Find(name);
    if (!found.ok()) return found.status();
    *function = *found;
  }
  device->watcher_ = std::thread(&CudaDevice::RunWatcher, device.get());
  return device;
}

CudaDevice::~CudaDevice() {
  ended_ = true;
  pending_.Notify();
  if (watcher_.joinable()) watcher_.join();
}

// What several processes share comes first: pinned memory from the region that all of them map, and
// blocks that the driver exports whole. Collectives by NCCL want memory that NCCL gives.
Result<Memory> CudaDevice::Allocate(uint64_t bytes, MemoryKind kind, const std::string& what) {
  if (kind == MemoryKind::pinned && shared_.memory != nullptr) {
    return shared_.memory->Allocate(bytes, kind, what);
  }
  if (kind == MemoryKind::pinned) return AllocatePinned(gpu_, bytes, kind, what);
  if (kind == MemoryKind::shareable && shared_.memory != nullptr) {
    return AllocateOnGpu(gpu_, InExports(bytes), kind, what);
  }
  if (kind == MemoryKind::symmetric) return AllocateForCollectives(gpu_, bytes, kind, what);
  return AllocateOnGpu(gpu_, bytes, kind, what);
}

Result<std::unique_ptr<Executable>> CudaDevice::MakeKernel(const plan::Kernel& kernel,
                                                           std::span<const OperandType> inputs,
                                                           std::span<const OperandType> outputs) {
  CGRAPH_RETURN_IF_ERROR(Check(gpu_->MakeCurrent(), "making a kernel"));
  auto made = MakeCudaKernel(gpu_->target(), kernel, inputs, outputs);
  if (!made.ok()) return made.status();
  auto prepared = std::make_unique<Prepared>();
  prepared->kernel = std::move(*made);
  most_scratch_ = std::max(most_scratch_, prepared->kernel->scratch());
  return std::unique_ptr<Executable>(std::move(prepared));
}

Result<std::unique_ptr<Executable>> CudaDevice::MakeUpload(std::unique_ptr<Source> source) {
  auto prepared = std::make_unique<Prepared>();
  prepared->source = std::move(source);
  return std::unique_ptr<Executable>(std::move(prepared));
}

Result<std::unique_ptr<Executable>> CudaDevice::MakeQueueCode(std::unique_ptr<QueueCode> code) {
  auto prepared = std::make_unique<Prepared>();
  prepared->code = std::move(code);
  calls_code_ = true;
  return std::unique_ptr<Executable>(std::move(prepared));
}

bool CudaDevice::MakeCurrent() {
  return !gpu_->driver().abandoned() && gpu_->MakeCurrent() == CUDA_SUCCESS;
}

Result<std::unique_ptr<Queue>> CudaDevice::OpenQueue(const QueueOptions& options) {
  auto queue = CudaQueue::Open(*this, options);
  if (!queue.ok()) return queue.status();
  return std::unique_ptr<Queue>(std::move(*queue));
}

bool CudaDevice::Reaches(const Device& other) const {
  const auto* device = dynamic_cast<const CudaDevice*>(&other);
  return device != nullptr && gpu_->Reaches(*device->gpu_);
}

Result<std::shared_ptr<Communicator>> CudaDevice::MakeCommunicator(
    uint32_t number, std::span<Device* const> members) {
  std::vector<std::shared_ptr<Gpu>> gpus;
  for (Device* member : members) {
    const auto* device = dynamic_cast<const CudaDevice*>(member);
    if (device == nullptr) return std::shared_ptr<Communicator>();
    gpus.push_back(device->gpu());
  }
  auto made = communicators_->Of(number, std::move(gpus));
  if (!made.ok()) return made.status();
  return std::shared_ptr<Communicator>(std::move(*made));
}

Result<CommunicatorOffer> CudaDevice::OfferCommunicator(uint32_t number,
                                                        std::span<const uint32_t> units,
                                                        bool makes_id) {
  return communicators_->Offer(number, units, makes_id);
}

Result<std::shared_ptr<Communicator>> CudaDevice::JoinCommunicator(uint32_t number,
                                                                   std::span<Device* const> members,
                                                                   std::span<const uint32_t> units,
                                                                   const CommunicatorId& id) {
  std::vector<std::shared_ptr<Gpu>> gpus;  // null: another process's
  for (Device* member : members) {
    const auto* device = dynamic_cast<const CudaDevice*>(member);
    gpus.push_back(device != nullptr ? device->gpu() : nullptr);
  }
  auto made = communicators_->Join(number, std::move(gpus), units, id);
  if (!made.ok()) return made.status();
  return std::shared_ptr<Communicator>(std::move(*made));
}

Status CudaDevice::AddGraph(const GraphLayout& layout) {
  auto poison = PoisonTable::Make(gpu_, layout);
  if (!poison.ok()) return poison.status();
  graphs_.resize(std::max<size_t>(graphs_.size(), layout.graph + 1));
  graphs_[layout.graph] = {std::move(*poison), layout.steps};
  return Status::Ok();
}

uint64_t CudaDevice::most_failures() const {
  uint64_t most = 0;
  for (const Graph& graph : graphs_) most += graph.poison->most_failures();
  return most;
}

// An execution that has failed is not the steady state: this may wait for the GPU.
Status CudaDevice::ClearPoison(const Bindings& bindings) {
  const CUresult cleared = graphs_[bindings.graph].poison->Clear(bindings);
  if (cleared == CUDA_SUCCESS) return Status::Ok();
  return {StatusCode::kFailed, FailureText(cleared)};
}

void CudaDevice::SetFailure(const std::string& why) {
  std::lock_guard lock(failure_mutex_);
  if (failure_.ok()) {
    failure_ = {StatusCode::kFailed, why};
    if (shared_.failed) shared_.failed(failure_);
  }
  failed_ = true;
}

Status CudaDevice::Failure() const {
  CGRAPH_RETURN_IF_ERROR(communicators_->Failure());
  if (!failed_) return Status::Ok();
  std::lock_guard lock(failure_mutex_);
  return failure_;
}

std::string CudaDevice::name() const {
  return fmt::format("{} (cuda:{})", logical_name_, gpu_->ordinal());
}

std::string CudaDevice::FailureText(CUresult error) const {
  return fmt::format("{} has failed: {}\n{}", name(), gpu_->driver().ErrorText(error),
                     MendOf(error));
}

Status CudaDevice::Check(CUresult result, const std::string& what) const {
  if (result == CUDA_SUCCESS) return Status::Ok();
  return {StatusCode::kFailed, ErrorText(result, what)};
}

std::string CudaDevice::ErrorText(CUresult error, const std::string& what) const {
  return gpu_->ErrorText(error, what, name());
}

CUresult CudaDevice::Copy(CUstream stream, const Guard& guard, void* to, const void* from,
                          const View& sized, uint32_t width) {
  const Driver& driver = gpu_->driver();
  uint64_t bytes = width;
  for (int d = 0; d < sized.rank; ++d) bytes *= static_cast<uint64_t>(sized.dims[d].number);
  if (bytes == 0 || to == from) return guard.looks ? PassPoison(stream, guard) : CUDA_SUCCESS;
  if (!guard.looks) return driver.cuMemcpyAsync(AddressOf(to), AddressOf(from), bytes, stream);
  const uint64_t blocks = std::clamp<uint64_t>(bytes / (kCopyThreads * kCopyBytesPerThread), 1,
                                               kMostCopyBlocks);
  return LaunchGrid(driver, stream, copy_guarded_, static_cast<uint32_t>(blocks), kCopyThreads,
                    guard, to, from, sized, width);
}

CUresult CudaDevice::PassPoison(CUstream stream, const Guard& guard) {
  return LaunchGrid(gpu_->driver(), stream, pass_poison_, 1, 1, guard);
}

CUresult CudaDevice::ShowPoison(CUstream stream, const Guard& guard, void* shown) {
  return LaunchGrid(gpu_->driver(), stream, show_poison_, 1, 1, guard, shown);
}

CUresult CudaDevice::TakePoison(CUstream stream, const Guard& guard, const void* shown) {
  return LaunchGrid(gpu_->driver(), stream, take_poison_, 1, 1, guard, shown);
}

Status CudaDevice::Upload(std::byte* to, const void* from, uint64_t bytes) {
  return gpu_->CopyToGpu(to, from, bytes);
}

Status CudaDevice::Download(void* to, const std::byte* from, uint64_t bytes) {
  const std::string what = "copying";
  CGRAPH_RETURN_IF_ERROR(Check(gpu_->MakeCurrent(), what));
  return Check(gpu_->driver().cuMemcpyDtoH(to, AddressOf(from), bytes), what);
}

// ---- the watcher --------------------------------------------------------------------------------

void CudaDevice::Add(CudaQueue* queue) {
  std::lock_guard lock(queues_mutex_);
  queues_.push_back(queue);
}

void CudaDevice::Remove(CudaQueue* queue) {
  std::lock_guard lock(queues_mutex_);
  std::erase(queues_, queue);
}

bool CudaDevice::WatchAll() {
  std::lock_guard lock(queues_mutex_);
  bool pending = false;
  for (CudaQueue* queue : queues_) pending |= queue->Watch();
  return pending;
}

// A GPU writes a semaphore's word and wakes no thread, so this one looks. It sleeps only while no
// queue has anything pending; the predicate looks once more when the sleep is announced, so a
// signal that was issued just before is not missed.
void CudaDevice::RunWatcher() {
  uint32_t looks = 0;
  while (!ended_) {
    if (!WatchAll()) {
      looks = 0;
      pending_.Wait([&] { return ended_ || WatchAll(); });
    } else if (++looks < kLooksWithoutPause) {
      Pause();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

}  // namespace cgraph::cuda
