// Weights: the files that a plan loads from, and the sources of their slices.
#ifndef CGRAPH_RUNTIME_LOAD_WEIGHTS_WEIGHTS_H_
#define CGRAPH_RUNTIME_LOAD_WEIGHTS_WEIGHTS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/device/kernel.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/shards.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Asks rank 0, with which this rank shares no memory, about a slice of a weight file, which is the
// plan's number `weight` of this rank and to fill a value of type `out`. Returns its bytes where
// this rank's are others, or it cannot read them (`own` is null); nothing where its own file is to
// be read.
using AskFirstRank = std::function<Result<std::optional<std::vector<uint8_t>>>(
    uint32_t weight, const plan::WeightFile& slice, const device::OperandType& out,
    const files::Safetensors* own)>;

class Weights {
 public:
  // `ask`: empty at rank 0, and where all ranks share memory.
  Weights(std::string dir, AskFirstRank ask) : dir_(std::move(dir)), ask_(std::move(ask)) {}

  // Returns the source of the plan's slice number `weight`, whose file is here or, at another rank
  // than the first, perhaps at rank 0. Zeros where the slice names no file: see LeaveOutLoads().
  Result<std::unique_ptr<device::Source>> SourceOf(uint32_t weight, const plan::WeightFile& slice,
                                                   const device::OperandType& out);
  // Opens the file that has a slice, once: the one that the plan names, or of an index of shards,
  // which may stand in the place of that file, the one that the index names. A plan is not trusted,
  // so the file must lie below the directory that the user named.
  Result<std::shared_ptr<files::Safetensors>> Open(const plan::WeightFile& slice);

  // Returns whether a source has failed because a file could not be read.
  bool unreadable() const { return unreadable_; }
  // Return how many bytes the sources read from files, and how many rank 0 has sent, in whole
  // slices.
  uint64_t read_bytes() const { return read_bytes_; }
  uint64_t sent_bytes() const { return sent_bytes_; }
  // Frees what rank 0 has sent, once no source is read any more.
  void Release() { sent_.clear(); }

 private:
  Result<std::string> PathOf(const plan::WeightFile& slice);

  std::string dir_;
  const AskFirstRank ask_;
  std::map<std::string, std::shared_ptr<files::Safetensors>> files_;  // by path
  std::map<std::string, files::Shards> indices_;                      // by path
  std::vector<std::unique_ptr<std::vector<uint8_t>>> sent_;           // that sources read
  std::atomic<bool> unreadable_ = false;
  uint64_t read_bytes_ = 0, sent_bytes_ = 0;
};

// kInvalid where a tensor, of which a slice is loaded, has not the type that the program declares.
Status CheckSlice(const files::Safetensors::Entry& entry, const plan::WeightFile& slice,
                  const device::OperandType& out, const std::string& path);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_WEIGHTS_WEIGHTS_H_
