// The rules that every device must keep, whichever backend serves it. A candidate is a line in
// Candidates(); one that this build or machine does not have says why, and its cases are skipped
// with that sentence.
#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include "runtime/device/backends.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/device/shared_array.h"
#include "tests/support/deferred/deferred.h"
#include "tests/support/kernel_calls.h"

namespace cgraph::device::testing {
namespace {

using cgraph::testing::DeferredOptions;
using cgraph::testing::MakeDeferredBackend;
using Progress = Communication::Progress;

struct Candidate {
  std::string name;
  std::function<std::unique_ptr<Backend>()> make;  // none: not here
  std::string why_not;
};

std::vector<Candidate> Candidates() {
  std::vector<Candidate> candidates = {{"cpu", [] { return MakeCpuBackend(); }, ""}};
  if (const Status& usable = FindGpus().usable; usable.ok()) {
    candidates.push_back({"cuda", [] {
      auto made = BackendRegistry::Get().MakeAll({{{1, 0}}, {}});
      return std::move((*made).front());  // what was registered last is asked first
    }, ""});
  } else {
    candidates.push_back({"cuda", nullptr, usable.message()});
  }
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    candidates.push_back({"deferred, seed " + std::to_string(seed), [seed] {
      return MakeDeferredBackend({.seed = seed, .thread = seed % 4 == 0});
    }, ""});
  }
  return candidates;
}

// A device, some memory of it as i64 scalars, and the frame that operations work on.
class Fixture {
 public:
  explicit Fixture(const Candidate& candidate) : backend_(candidate.make()) {
    plan_.devices.push_back(std::make_unique<plan::Device>());
    plan_.devices.push_back(std::make_unique<plan::Device>());
    plan_.devices[1]->kind = plan::DeviceKind::gpu;
    REQUIRE(backend_->Serves(plan_, 1).ok());
    host_ = std::move(*backend_->Open(plan_, 0));
    device_ = std::move(*backend_->Open(plan_, 1));
    semaphores_ = std::move(*SemaphoreArray::Make(*host_, 8, "semaphores"));
    flags_ = std::move(*SharedArray<std::atomic<uint8_t>>::Make(*host_, kScalars, "flags"));
    memory_ = std::move(*device_->Allocate(kScalars * 8, MemoryKind::plain, "scalars"));
    for (uint32_t i = 0; i < kScalars; ++i) {
      tensors_[i].dtype = plan::DType::i64;
      tensors_[i].data = memory_.data() + i * 8;
      extents_[i] = tensors_[i].data;
    }
    bindings_ = {tensors_, extents_, flags_.data(), &poisoned_};
    const std::vector<uint32_t> setters(kScalars, 1);
    const std::vector<bool> may_fail(kScalars, true);
    REQUIRE(device_->AddGraph({0, 1, setters, &may_fail, {&bindings_}, {kChecks}, kScalars}).ok());
  }

  // A semaphore that lies where the device reaches it.
  TimelineSemaphore& NewSemaphore() { return semaphores_[used_++]; }
  // Checks of the flags 2 and 3.
  std::span<const uint32_t> Checks() const { return kChecks; }
  Device& device() { return *device_; }
  std::unique_ptr<Queue> Open() {
    return std::move(*device_->OpenQueue({&event_count_, 1024, false}));
  }
  void Set(uint32_t scalar, int64_t number) {
    REQUIRE(device_->CopyIn(memory_, scalar * 8, &number, 8).ok());
  }
  int64_t Get(uint32_t scalar) {
    int64_t number = 0;
    REQUIRE(device_->CopyOut(&number, memory_, scalar * 8, 8).ok());
    return number;
  }
  bool Poisoned(uint32_t flag) const { return bindings_.Poisoned(flag); }
  void Poison(uint32_t flag) { bindings_.Poison(flag); }
  // Clears all flags, as before the next execution.
  void Clear() {
    for (auto& flag : flags_) flag = 0;
    poisoned_ = false;
    REQUIRE(device_->ClearPoison(bindings_).ok());
  }
  Tensor& tensor(uint32_t scalar) { return tensors_[scalar]; }
  const void*& extent(uint32_t i) { return extents_[i]; }

  // Operands: scalars at consecutive places, inputs first. `flag` is the operation's own.
  Launch Call(const std::string& op, uint32_t first, uint16_t inputs, uint16_t outputs,
              uint32_t flag = 0, const Attributes& attributes = {}) {
    std::vector<OperandType> types;
    for (uint32_t i = first; i < first + inputs + outputs; ++i) {
      types.push_back(TypeOf(tensors_[i]));
    }
    auto made = device_->MakeKernel(Named(op, attributes),
                                    std::span(types).first(inputs),
                                    std::span(types).subspan(inputs));
    REQUIRE(made.ok());
    kernels_.push_back(std::move(*made));
    Launch launch;
    Common(launch, flag);
    launch.executable = kernels_.back().get();
    launch.operands = tensors_ + first;
    launch.inputs = inputs;
    launch.outputs = outputs;
    return launch;
  }
  device::Copy Move(uint32_t from, uint32_t to, uint32_t flag = 0) {
    device::Copy copy;
    Common(copy, flag);
    copy.from = &tensors_[from];
    copy.to = &tensors_[to];
    return copy;
  }
  void Common(Operation& operation, uint32_t flag) {
    operation.bindings = &bindings_;
    operation.predicate.own = flag;
    operation.tag = {0, flag, 7};
  }
  std::vector<Report>& reports() { return reports_; }

  // Polls all of these until the semaphore has reached the value.
  void Await(const std::vector<Queue*>& queues, const TimelineSemaphore& semaphore,
             uint64_t value) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!semaphore.Reached(value) && std::chrono::steady_clock::now() < end) {
      for (Queue* queue : queues) queue->Poll(reports_);
    }
    REQUIRE(semaphore.Reached(value));
    for (Queue* queue : queues) queue->Poll(reports_);
  }
  // Gives operations that could run every chance to.
  void Linger(Queue& queue) {
    for (int i = 0; i < 50; ++i) {
      while (queue.Poll(reports_)) {}
      if (device_->event_count() != nullptr) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

 private:
  static constexpr uint32_t kScalars = 16;
  plan::Plan plan_;
  static constexpr uint32_t kChecks[] = {2, 3};
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Device> host_;
  std::unique_ptr<Device> device_;
  SemaphoreArray semaphores_;
  size_t used_ = 0;  // of the semaphores
  Memory memory_;
  EventCount event_count_;
  Tensor tensors_[kScalars];
  const void* extents_[kScalars];
  SharedArray<std::atomic<uint8_t>> flags_;
  std::atomic<bool> poisoned_{false};
  Bindings bindings_;
  std::vector<std::unique_ptr<Executable>> kernels_;
  std::vector<Report> reports_;
};

// Calls `test` with a fixture of each candidate that is here.
template <typename Test>
void OnEveryBackend(Test&& test) {
  for (const Candidate& candidate : Candidates()) {
    if (candidate.make == nullptr) {
      WARN("skipped on " << candidate.name << ": " << candidate.why_not);
      continue;
    }
    INFO("on " << candidate.name);
    Fixture fixture(candidate);
    test(fixture);
  }
}

struct CountDown : Communication {
  Progress Advance(uint64_t, std::string& error) override {
    if (left.fetch_sub(1) > 0) return Progress::kPending;
    error = text;
    return text.empty() ? Progress::kDone : Progress::kFailed;
  }
  std::atomic<int> left{0};
  std::string text;
};

}  // namespace

TEST_CASE("memory has a kind, is zeroed and aligned, and outlives its device") {
  for (const Candidate& candidate : Candidates()) {
    if (candidate.make == nullptr) continue;
    INFO("on " << candidate.name);
    Memory kept;
    {
      Fixture fixture(candidate);
      for (MemoryKind kind : {MemoryKind::plain, MemoryKind::pinned, MemoryKind::shareable}) {
        auto memory = fixture.device().Allocate(100000, kind, "a block");
        REQUIRE(memory.ok());
        REQUIRE(memory->kind() == kind);
        REQUIRE(memory->size() >= 100000);
        REQUIRE(reinterpret_cast<uintptr_t>(memory->data()) % kLineAlign == 0);
        std::vector<char> bytes(100000, 'x');
        REQUIRE(fixture.device().CopyOut(bytes.data(), *memory, 0, bytes.size()).ok());
        REQUIRE(std::count(bytes.begin(), bytes.end(), '\0') == 100000);
        std::iota(bytes.begin(), bytes.end(), char{1});
        REQUIRE(fixture.device().CopyIn(*memory, 10, bytes.data(), 5000).ok());
        std::vector<char> back(5000);
        REQUIRE(fixture.device().CopyOut(back.data(), *memory, 10, 5000).ok());
        REQUIRE(std::equal(back.begin(), back.end(), bytes.begin()));
        kept = std::move(*memory);
      }
      auto much = fixture.device().Allocate(1ull << 60, MemoryKind::plain, "the arenas of gpu[0]");
      REQUIRE(!much.ok());
      REQUIRE(much.status().message().find("the arenas of gpu[0]") == 0);
    }
    REQUIRE(kept.size() >= 100000);
  }
}

TEST_CASE("a device of another machine is opened, and an unknown kernel refused with a sentence") {
  OnEveryBackend([](Fixture& fixture) {
    auto none = fixture.device().MakeKernel(Named("no such kernel", {}), {}, {});
    REQUIRE(!none.ok());
    REQUIRE(none.status().message().find("no such kernel") != std::string::npos);
  });
  plan::Plan plan;
  plan.devices.push_back(std::make_unique<plan::Device>());
  plan.devices[0]->kind = plan::DeviceKind::gpu;
  plan.devices[0]->node = 1;
  REQUIRE(BackendRegistry::Get().OpenAll(plan).ok());
}

TEST_CASE("the backends of a registry are asked in turn, and all their reasons are told") {
  struct Refuses : Backend {
    explicit Refuses(std::string why) : why(std::move(why)) {}
    std::string_view name() const override { return "refuses"; }
    Status Serves(const plan::Plan&, uint32_t) const override {
      return Status(StatusCode::kUnsupported, why);
    }
    Result<std::unique_ptr<Device>> Open(const plan::Plan&, uint32_t) override { std::abort(); }
    std::string why;
  };
  plan::Plan plan;
  plan.devices.push_back(std::make_unique<plan::Device>());
  BackendRegistry registry;
  const auto add = [&](auto make) {
    registry.Add({[=](const Assignment&) -> Result<std::unique_ptr<Backend>> {
      return std::unique_ptr<Backend>(make());
    }});
  };
  add([] { return std::make_unique<Refuses>("the driver is too old"); });
  add([] { return std::make_unique<Refuses>("there is no device 0"); });
  add([] { return nullptr; });  // has nothing to do for this engine
  REQUIRE(registry.OpenAll(plan).status().message() ==
          "there is no device 0; the driver is too old");
  add([] { return MakeCpuBackend(); });
  REQUIRE(registry.OpenAll(plan).ok());
}

TEST_CASE("a queue works in order, and a signal comes when all before it is over") {
  OnEveryBackend([](Fixture& f) {
    TimelineSemaphore& done = f.NewSemaphore();
    auto queue = f.Open();
    f.Set(0, 1);
    f.Set(1, 10);  // scalar 2 = 1 + 10, then 0 = 2, again and again
    const Launch add = f.Call("add", 0, 2, 1);
    const device::Copy back = f.Move(2, 0);
    for (int i = 0; i < 20; ++i) {
      queue->Launch(add);
      queue->Copy(back);
      queue->Signal(&done, i + 1);
    }
    f.Await({queue.get()}, done, 20);
    REQUIRE(f.Get(0) == 201);
    REQUIRE(f.reports().empty());
    REQUIRE(!queue->Head().has_value());
  });
}

TEST_CASE("a wait holds back what is behind it, and nothing else") {
  OnEveryBackend([](Fixture& f) {
    TimelineSemaphore &go = f.NewSemaphore(), &made = f.NewSemaphore();
    TimelineSemaphore &done = f.NewSemaphore(), &other = f.NewSemaphore();
    for (TimelineSemaphore* each : {&go, &made}) {
      if (f.device().event_count() != nullptr) each->AddListener(f.device().event_count());
    }
    auto first = f.Open(), second = f.Open(), third = f.Open();
    f.Set(0, 5);
    first->Wait(&go, 3, {0, 1, 0});
    first->Copy(f.Move(0, 1));
    first->Signal(&made, 1);
    second->Wait(&made, 1, {0, 2, 0});
    second->Copy(f.Move(1, 2));
    second->Signal(&done, 1);
    third->Copy(f.Move(0, 3));
    third->Signal(&other, 1);
    f.Await({first.get(), second.get(), third.get()}, other, 1);
    go.Signal(2);
    f.Linger(*first);
    f.Linger(*second);
    REQUIRE(!made.Reached(1));
    REQUIRE(!done.Reached(1));
    REQUIRE(f.Get(1) == 0);
    REQUIRE(first->Head()->tag.step == 1);
    REQUIRE(second->Head()->tag.step == 2);
    go.Signal(3);
    f.Await({second.get(), first.get()}, done, 1);
    REQUIRE(f.Get(2) == 5);
  });
}

TEST_CASE("a failure arrives before the signal behind it, and the queue goes on") {
  OnEveryBackend([](Fixture& f) {
    TimelineSemaphore& done = f.NewSemaphore();
    auto queue = f.Open();
    f.tensor(4).dtype = plan::DType::bool_;  // false: fails
    f.Set(5, 8);
    queue->Launch(f.Call("check", 4, 1, 0, 3, {.texts = {{"message", "it went wrong"}}}));
    device::Copy behind = f.Move(5, 6, 9);
    behind.predicate.checks = f.Checks();
    queue->Copy(behind);
    queue->Copy(f.Move(5, 7, 10));
    queue->Signal(&done, 1);
    while (!done.Reached(1)) queue->Poll(f.reports());
    queue->Poll(f.reports());
    REQUIRE(f.reports().size() == 1);
    REQUIRE(f.reports()[0].failed);
    REQUIRE(f.reports()[0].tag.step == 3);
    REQUIRE(f.reports()[0].tag.round == 7);
    REQUIRE(f.reports()[0].error.find("it went wrong") != std::string::npos);
    REQUIRE(f.Poisoned(3));
    REQUIRE(f.Poisoned(9));  // it checks what failed
    REQUIRE(f.Get(6) == 0);
    REQUIRE(f.Get(7) == 8);  // it does not
    REQUIRE(!f.Poisoned(10));
  });
}

TEST_CASE("an operation whose flag is set already does nothing") {
  OnEveryBackend([](Fixture& f) {
    TimelineSemaphore& done = f.NewSemaphore();
    auto queue = f.Open();
    f.Set(0, 5);
    f.Poison(1);
    queue->Copy(f.Move(0, 1, 1));
    Store store;
    f.Common(store, 1);
    store.to = &f.tensor(2);
    store.number = 9;
    queue->Store(store);
    f.Common(store, 2);
    store.to = &f.tensor(3);
    queue->Store(store);
    queue->Signal(&done, 1);
    f.Await({queue.get()}, done, 1);
    REQUIRE(f.Get(1) == 0);
    REQUIRE(f.Get(2) == 0);
    REQUIRE(f.Get(3) == 9);
  });
}

TEST_CASE("extents are read when an operation begins, and one beyond its bound fails it") {
  OnEveryBackend([](Fixture& f) {
    TimelineSemaphore& done = f.NewSemaphore();
    auto queue = f.Open();
    Tensor& rows = f.tensor(8);  // the scalars 8.. as a vector
    rows.rank = 1;
    rows.dims[0] = 4;
    Tensor copied = rows;
    copied.data = static_cast<std::byte*>(rows.data) + 4 * 8;
    for (uint32_t i = 8; i < 12; ++i) f.Set(i, i);
    const DynamicDim dims[] = {{8, 0, 0, 0, 4}};
    device::Copy copy = f.Move(8, 8, 5);
    copy.to = &copied;
    copy.dims = dims;
    Store store;  // the extent, made by the queue itself
    f.Common(store, 4);
    store.to = &f.tensor(0);
    store.number = 2;
    queue->Store(store);
    queue->Copy(copy);
    queue->Signal(&done, 1);
    f.Await({queue.get()}, done, 1);
    REQUIRE(f.Get(13) == 9);
    REQUIRE(f.Get(14) == 0);
    store.number = 5;
    queue->Store(store);
    queue->Copy(copy);
    queue->Signal(&done, 2);
    f.Await({queue.get()}, done, 2);
    REQUIRE(f.reports().size() == 1);
    REQUIRE(f.reports()[0].beyond == dims);
    REQUIRE(f.reports()[0].extent == 5);
    REQUIRE(f.Poisoned(5));
  });
}

TEST_CASE("each of many extents is looked at, whichever of them is beyond its bound") {
  OnEveryBackend([](Fixture& f) {
    constexpr uint32_t kDims = 6;  // more than a device looks at at once
    TimelineSemaphore& done = f.NewSemaphore();
    auto queue = f.Open();
    Tensor& from = f.tensor(6);  // the scalars 6.., and its copy behind it
    from.rank = kDims;
    std::fill_n(from.dims, kDims, 1);
    Tensor to = from;
    to.data = static_cast<std::byte*>(from.data) + 5 * 8;
    std::vector<DynamicDim> dims;
    for (uint32_t d = 0; d < kDims; ++d) dims.push_back({6, d, d, 0, 4});
    device::Copy copy = f.Move(6, 6, 5);
    copy.to = &to;
    copy.dims = dims;
    for (uint32_t beyond = 0; beyond < kDims; ++beyond) {
      for (uint32_t d = 0; d < kDims; ++d) f.Set(d, d == beyond ? 5 : 1);
      f.reports().clear();
      f.Clear();
      queue->Copy(copy);
      queue->Signal(&done, beyond + 1);
      f.Await({queue.get()}, done, beyond + 1);
      REQUIRE(f.Poisoned(5));
      REQUIRE(f.reports().size() == 1);
      REQUIRE(f.reports()[0].beyond == &dims[beyond]);
      REQUIRE(f.reports()[0].extent == 5);
    }
  });
}

TEST_CASE("what the host knows to be poisoned is found so behind it, by other queues, too") {
  OnEveryBackend([](Fixture& f) {
    TimelineSemaphore &known = f.NewSemaphore(), &done = f.NewSemaphore();
    auto first = f.Open(), second = f.Open();
    f.Set(0, 7);
    device::Copy received = f.Move(0, 1, 2), used = f.Move(0, 4, 5), far = f.Move(0, 5, 6);
    used.predicate.checks = far.predicate.checks = f.Checks();  // received's flag is one of them
    first->Poison(received);
    first->Copy(used);
    first->Signal(&known, 1);
    second->Wait(&known, 1, {});
    second->Copy(far);
    second->Signal(&done, 1);
    f.Await({first.get(), second.get()}, done, 1);
    for (uint32_t flag : {2, 5, 6}) REQUIRE(f.Poisoned(flag));
    for (uint32_t scalar : {1, 4, 5}) REQUIRE(f.Get(scalar) == 0);
    REQUIRE(f.reports().empty());
  });
}

TEST_CASE("a copy that moves nothing passes errors on all the same") {
  OnEveryBackend([](Fixture& f) {
    TimelineSemaphore& done = f.NewSemaphore();
    auto queue = f.Open();
    Tensor& nothing = f.tensor(8);
    nothing.rank = 1;
    nothing.dims[0] = 0;
    device::Copy of_nothing = f.Move(8, 9, 5), onto_itself = f.Move(4, 4, 6);
    of_nothing.predicate.checks = onto_itself.predicate.checks = f.Checks();
    queue->Poison(f.Move(0, 1, 2));
    queue->Copy(of_nothing);
    queue->Copy(onto_itself);
    queue->Signal(&done, 1);
    f.Await({queue.get()}, done, 1);
    for (uint32_t flag : {5, 6}) REQUIRE(f.Poisoned(flag));
  });
}

TEST_CASE("communication is tried until it is over, and may fail then") {
  OnEveryBackend([](Fixture& f) {
    // Where queues communicate, a group is waits and copies of their own.
    if (f.device().traits().queues_communicate) return;
    TimelineSemaphore& done = f.NewSemaphore();
    auto queue = f.Open();
    CountDown well, wrong;
    well.left = 3;
    wrong.left = 2;
    wrong.text = "the peer is gone";
    queue->Communicate({&well, {0, 1, 0}});
    queue->Signal(&done, 1);
    queue->Communicate({&wrong, {0, 2, 4}});
    queue->Signal(&done, 2);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done.Reached(2) && std::chrono::steady_clock::now() < end) {
      // As a transport does.
      if (f.device().event_count() != nullptr) f.device().event_count()->Notify();
      queue->Poll(f.reports());
    }
    queue->Poll(f.reports());
    REQUIRE(done.Reached(2));
    REQUIRE(f.reports().size() == 1);
    REQUIRE(f.reports()[0].tag.step == 2);
    REQUIRE(f.reports()[0].error == "the peer is gone");
  });
}

TEST_CASE("a queue that is closed does not go on") {
  OnEveryBackend([](Fixture& f) {
    if (!f.device().traits().queues_host_waits) return;  // a stream cannot be called back
    TimelineSemaphore &never = f.NewSemaphore(), &done = f.NewSemaphore();
    auto queue = f.Open();
    queue->Wait(&never, 1, {});
    queue->Signal(&done, 1);
    queue.reset();
    never.Signal(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(!done.Reached(1));
  });
}

TEST_CASE("queues that wait for each other, and for nobody any more, end in any order") {
  OnEveryBackend([](Fixture& f) {
    TimelineSemaphore &never = f.NewSemaphore(), &shown = f.NewSemaphore();
    auto first = f.Open(), second = f.Open();
    first->Wait(&never, 1, {});
    first->Signal(&shown, 1);
    second->Wait(&shown, 1, {});
    // Both are closed before one is destroyed: a GPU's driver frees memory only once all that is
    // queued on the GPU is done.
    second->Close();
    f.Linger(*first);  // its signal may look as if it had come
    first->Close();
  });
}

TEST_CASE("operations are measured where a queue is asked to") {
  OnEveryBackend([](Fixture& f) {
    TimelineSemaphore& done = f.NewSemaphore();
    EventCount event_count;
    auto queue = std::move(*f.device().OpenQueue({&event_count, 0, true}));
    queue->Copy(f.Move(0, 1, 6));
    queue->Signal(&done, 1);
    f.Await({queue.get()}, done, 1);
    REQUIRE(f.reports().size() == 1);
    REQUIRE(!f.reports()[0].failed);
    REQUIRE(f.reports()[0].tag.step == 6);
    REQUIRE(f.reports()[0].begun_ns <= f.reports()[0].ended_ns);
    REQUIRE(f.reports()[0].begun_ns != 0);
  });
}

TEST_CASE("a source fills what it is uploaded to, or says why not") {
  struct Numbers : Source {
    Status Read(std::span<uint8_t> to) override {
      if (fails) return Status(StatusCode::kFailed, "the file ends early");
      std::fill(to.begin(), to.end(), uint8_t{1});
      return Status::Ok();
    }
    bool fails = false;
  };
  OnEveryBackend([](Fixture& f) {
    TimelineSemaphore& done = f.NewSemaphore();
    auto queue = f.Open();
    std::vector<std::unique_ptr<Executable>> made;
    for (bool fails : {false, true}) {
      auto source = std::make_unique<Numbers>();
      source->fails = fails;
      made.push_back(std::move(*f.device().MakeUpload(std::move(source))));
      Launch launch;
      f.Common(launch, fails ? 8 : 7);
      launch.executable = made.back().get();
      launch.operands = &f.tensor(fails ? 2 : 1);
      launch.outputs = 1;
      queue->Launch(launch);
    }
    queue->Signal(&done, 1);
    f.Await({queue.get()}, done, 1);
    REQUIRE(f.Get(1) == 0x0101010101010101);
    REQUIRE(f.reports().size() == 1);
    REQUIRE(f.reports()[0].error == "the file ends early");
    REQUIRE(f.Poisoned(8));
  });
}

}  // namespace cgraph::device::testing
