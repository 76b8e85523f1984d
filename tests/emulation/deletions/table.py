"""What is left out, one after the other: waits, signals, flags and records of the GPU runtime.

Each row: a name, a file, and a text that stands there once, with what stands there instead. A text
may be shortened to its beginning and end by `...`.
"""
QUEUE = "runtime/cuda/device/cuda_queue.cpp"
END = "runtime/cuda/device/cuda_queue_end.cpp"
DEVICE = "runtime/cuda/device/cuda_device.cpp"
TABLE = "runtime/cuda/device/poison_table.cpp"
NCCL = "runtime/cuda/collectives/nccl_communicator.cpp"
NATIVE = "runtime/engine/load/communication/native_collectives.cpp"
GPU = "runtime/cuda/gpu/gpu.cpp"
CODE = "runtime/cuda/kernels/device_code.h"
PRODUCT = "runtime/cuda/kernels/matmul/library_product.cpp"
QUEUED = "runtime/channel/queued/"

DELETIONS = [
    # Streams.
    ("a stream's wait", QUEUE,
     "if (!Remember({Kind::kWait, tag, semaphore, value})) return;", "return;"),
    ("a stream's signal", QUEUE,
     "if (Remember({Kind::kSignal, {}, semaphore, value})) {",
     "if (!Remember({Kind::kSignal, {}, semaphore, value})) {"),
    ("waking the watcher after a signal", QUEUE, "  device_.Wake();\n", ""),
    ("waiting until a weight has arrived", QUEUE,
     "if (copied != CUDA_SUCCESS) return copied;\n  return driver.cuStreamSynchronize(stream_);",
     "return copied;"),
    ("ending a stream before its memory", END,
     "if (!AwaitEnd()) {", "if (false) {"),
    ("giving up a kernel that never ends", END,
     "    if (most.count() != 0 && std::chrono::steady_clock::now() - begun > most) "
     "return false;\n", ""),
    ("keeping memory behind a kernel that never ends", GPU,
     "  if (gpu_->driver().abandoned()) return;\n  gpu_->MakeCurrent();\n  Release",
     "  gpu_->MakeCurrent();\n  Release"),
    ("waits that a signal of another queue has passed over", QUEUE,
     "      awaited_[front.semaphore] = front.value;\n    }\n", "    }\n"),
    ("releasing a stream that is ended", END,
     "      if (issued.kind == Kind::kWait) awaited_[issued.semaphore] = issued.value;\n", ""),
    ("errors of communicators behind the first one", QUEUE,
     "const bool first = asks && asked", "const bool first = asks && asked.empty() && asked"),
    ("waiting until a communicator is aborted", QUEUE,
     "return (!aborting && FailIssued(come)) || any;",
     "static_cast<void>(aborting);\n  return FailIssued(come) || any;"),
    ("aborting a communicator beside what waits for it", NCCL,
     "        AbortRank(nccl, *gpu, *rank);\n      });\n",
     "        AbortRank(nccl, *gpu, *rank);\n      });\n      aborts_.back().join();\n"
     "      aborts_.pop_back();\n"),
    ("the context of the issuing thread", QUEUE,
     "  const CUresult current = device_.gpu()->MakeCurrent();\n  Check(current, operation",
     "  const CUresult current = CUDA_SUCCESS;\n  Check(current, operation"),
    # Failures.
    ("reading the log of failures", QUEUE, "  ReadLog(reports);\n  return any;", "  return any;"),
    ("the flag on the GPU of what was not issued", QUEUE,
     "  return device_.gpu()->driver().cuMemsetD8Async(AddressOf(flag), 1, 1, stream_);\n",
     "  (void)flag;\n  return CUDA_SUCCESS;\n"),
    ("the host's flag of what was not issued", QUEUE,
     "  operation.bindings->Poison(own);\n  const PoisonTable", "  const PoisonTable"),
    ("where a step was issued last", QUEUE,
     "steps_[tag.graph][launch.operation.tag.step] = {", "Step unused = {"),
    ("the bound of an extent", QUEUE,
     "    guard.bounds[guard.bound_count++] = {where, dim.bound, i};\n", ""),
    ("checking extents beyond one guard's room", QUEUE,
     "      Check(device_.PassPoison(stream_, guard), operation, \"checking extents\");\n", ""),
    ("reports of a broken queue", QUEUE,
     "      report.error = why_broken_;\n      reports_.push_back(std::move(report));",
     "      report.error = why_broken_;"),
    ("signals of a broken queue", QUEUE,
     "      forced_[front.semaphore] = front.value;\n", ""),
    ("issuing nothing to a broken queue", QUEUE,
     "                     graph});\n  return !broken_;",
     "                     graph});\n  return true;"),
    ("flags of which the host hears late", "runtime/engine/load/prepare.cpp",
     "      out_.flags_unannounced |= !(*p_.devices)[setter]->immediate();\n", ""),
    # Copies.
    ("looking at flags before a copy", DEVICE, "if (!guard.looks) return driver.cuMemcpyAsync",
     "return driver.cuMemcpyAsync"),
    ("passing flags on where nothing is copied", DEVICE,
     "return guard.looks ? PassPoison(stream, guard) : CUDA_SUCCESS;", "return CUDA_SUCCESS;"),
    ("waiting for a copy to the GPU", GPU,
     "\"copying to the GPU\";...return driver_.Check(driver_.cuStreamSynchronize(nullptr), what);",
     "\"copying to the GPU\";\n"
     "  CGRAPH_RETURN_IF_ERROR(driver_.Check(MakeCurrent(), what));\n"
     "  return driver_.Check(driver_.cuMemcpyHtoD(AddressOf(to), from, bytes), what);"),
    # Memory.
    ("zeroing memory", GPU,
     "  CGRAPH_RETURN_IF_ERROR(driver_.Check(driver_.cuMemsetD8(AddressOf(data), 0, bytes), "
     "what));\n", ""),
    ("waiting until memory is zeroed", GPU,
     "AddressOf(data), 0, bytes), what));\n"
     "  return driver_.Check(driver_.cuStreamSynchronize(nullptr), what);",
     "AddressOf(data), 0, bytes), what));\n  return Status::Ok();"),
    ("reaching other GPUs", GPU,
     "if (enabled == CUDA_SUCCESS) enabled = driver_.cuCtxEnablePeerAccess(peer.context_, 0);", ""),
    ("loading a kernel before it is launched", "runtime/cuda/module/module.cpp",
     "      CGRAPH_RETURN_IF_ERROR(driver_.Check(driver_.cuFuncLoad(function), what));\n", ""),
    # Flags.
    ("clearing flags", TABLE,
     "    result = driver.cuMemsetD8(AddressOf(FlagsOf(bindings.frame)), 0, stride_);\n", ""),
    ("waiting until flags are cleared", TABLE,
     "return result == CUDA_SUCCESS ? driver.cuStreamSynchronize(nullptr) : result;",
     "return result;"),
    ("which flags lie elsewhere", TABLE,
     "kept.push_back(layout.setters[flag] == layout.device ? flag : flag | kElsewhere);",
     "kept.push_back(flag);"),
    ("the flags that an operation checks", TABLE,
     "guard.count = pool.kept_before[at + predicate.checks.size()] - kept;", "guard.count = 0;"),
    ("that an operation looks at flags", TABLE,
     "guard.looks = guard.count != 0 || may_fail_[predicate.own];", "guard.looks = false;"),
    ("the flag on the GPU", CODE,
     "  *const_cast<volatile uint8_t*>(guard.flags + guard.own) = 1;\n", ""),
    ("the flag on the host", CODE,
     "  *const_cast<volatile uint8_t*>(guard.host_flags + guard.own) = 1;\n", ""),
    ("the flag of what depends on a failure", CODE, "  if (poisoned) Poison(guard);\n", ""),
    ("the flag of what fails", CODE,
     "  *const_cast<volatile uint64_t*>(&log->count) = count + 1;\n  Poison(guard);",
     "  *const_cast<volatile uint64_t*>(&log->count) = count + 1;"),
    ("doing nothing where something is poisoned", CODE,
     "  if (poisoned || Poisoned(guard, guard.own)) return false;\n", ""),
    # Channels.
    ("a rendezvous: the sender waits", QUEUED + "rendezvous_channel.cpp",
     "      message.queue->Wait(&taken(), message.number + 1, message.operation->tag);\n", ""),
    ("a rendezvous: the receiver waits", QUEUED + "rendezvous_channel.cpp",
     "    message.queue->Wait(&shown(), message.number + 1, message.operation->tag);\n", ""),
    ("a staged message: the receiver waits", QUEUED + "staged_channel.cpp",
     "    message.queue->Wait(&shown(), n + 1, message.operation->tag);\n", ""),
    ("a staged message: the sender waits for a slot", QUEUED + "staged_channel.cpp",
     "if (n >= slots_) message.queue->Wait(&taken(), n + 1 - slots_, message.operation->tag);",
     ""),
    ("a staged message: the host has sent", QUEUED + "staged_channel.cpp",
     "return !ends_.sends || shown().Reached(n + 1);", "return true;"),
    ("a staged message: the host has a slot", QUEUED + "staged_channel.cpp",
     "    if (!HasRoom(n)) return false;\n", ""),
    # Collectives.
    ("a collective: all have arrived", QUEUED + "queued_collective.cpp",
     "          if (other != at.member) at.queue->Wait(&Arrived(other), at.round + 1, tag);\n", ""),
    ("a collective: all have left", QUEUED + "queued_collective.cpp",
     "          if (other != at.member) at.queue->Wait(&HasLeft(other), at.round + 1, tag);\n", ""),
    ("a hosted collective: the copies are there", QUEUED + "hosted_collective.cpp",
     "          if (!copied_[at.member].Reached(at.round + 1)) return false;\n", ""),
    ("a hosted collective: all have arrived", QUEUED + "hosted_collective.cpp",
     "          if (!carried_->AllArrived(at.round)) return false;\n", ""),
    ("a hosted collective: all have left", QUEUED + "hosted_collective.cpp",
     "case Pass::kEnd: return carried_->Left(at.round);", "case Pass::kEnd: return true;"),
    ("a hosted collective: flags of the values", QUEUED + "hosted_collective.cpp",
     "at.empty || device::AnyPoisoned(at.checks, *at.operation->bindings);", "at.empty;"),
    ("a hosted collective: what the host knows", QUEUED + "hosted_collective.cpp",
     "    if (member.poison) return at.queue->Poison(*at.operation);\n", ""),
    ("a staged message: what the host knows", QUEUED + "staged_channel.cpp",
     "    if (poison && !message.empty) message.queue->Poison(*message.operation);\n", ""),
    ("a native collective: flags are there", QUEUED + "native_collective.cpp",
     "if (!Moves(at) || at.queue->Looks(*at.operation)) {", "if (!Moves(at)) {"),
    # Memory that is registered with NCCL.
    ("registered everywhere or nowhere", NCCL,
     "  if (!std::all_of(blocks.begin(), blocks.end(), [](auto* block) { return "
     "IsOfNccl(*block); })) {\n    return Status::Ok();\n  }\n", ""),
    ("a thread for each member whose memory is registered", NATIVE,
     "    fits = fits && workers.size() == found.members.size();\n", ""),
    ("a window only where offsets are the same", NATIVE,
     "          common = common && (theirs.empty() || Offset(graph, theirs[t], frame) == "
     "offset);\n", ""),
    ("waiting for windows", NCCL,
     "  CGRAPH_RETURN_IF_ERROR(ended);\n  return SettleAll(kWhat);\n}\n\nStatus "
     "NcclCommunicator::RegisterRank", "  return ended;\n}\n\nStatus "
     "NcclCommunicator::RegisterRank"),
    ("deregistering memory before it is freed", "runtime/engine/core.cpp",
     "  native_.Deregister();\n", ""),
    # Products by cuBLASLt.
    ("a product for a state that may be poisoned", PRODUCT,
     "    if (in_state_ && call.guard.looks) return own_->Launch(call);\n", ""),
    ("a product passes poison on", PRODUCT,
     "const CUresult passed = launcher_.PassPoison(call);",
     "const CUresult passed = CUDA_SUCCESS;"),
    # The engine.
    ("ending collectives before queues are closed", "runtime/engine/core.cpp",
     "    for (auto& work_queue : work_queues_) work_queue->AbortCollectives();\n", ""),
    ("the host waits before it issues", "runtime/engine/load/prepare.cpp",
     "step.queue = held ? 0 : SlotOf(instruction);",
     "if (held) continue;\n      step.queue = SlotOf(instruction);"),
    ("an entry is over when its streams are", "runtime/engine/execute/lane_queues.cpp",
     "if (!Omits(Omission::kOneQueue, i)) over = std::min(over, queues_[i].over->value());",
     "if (i == 0) over = std::min(over, queues_[i].over->value());"),
    ("making what recordings launch", "runtime/engine/core.cpp",
     "  return FinishRecordings(graphs_);", "  return Status::Ok();"),
    ("an entry's signals", "runtime/engine/execute/lane_queues.cpp",
     "for (Opened& opened : queues_) opened.queue->Signal(opened.over, number);",
     "for (Opened& opened : queues_) opened.over->Signal(number);"),
]
