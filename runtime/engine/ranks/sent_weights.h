// Weights that rank 0 sends to ranks of other machines: those that a rank cannot read, and those
// that differ from rank 0's.
//
// While a rank loads the plan it asks rank 0 about each slice that its actors load, and waits for
// the answer. Where its file has the size, the time of modification and the header of rank 0's, it
// is taken for the same. Else the slice is compared piece by piece: the rank tells the digest of a
// piece, and rank 0 answers that its own is the same, or with the bytes. So a rank has one question
// open at a time, a message has one piece at most, and no rank allocates more than the plan says.
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_SENT_WEIGHTS_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_SENT_WEIGHTS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/message.h"
#include "runtime/cluster/messenger.h"
#include "runtime/load/weights/weights.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// WeightQuestions: what ranks have asked rank 0, which answers when it has loaded the plan itself.
class WeightQuestions {
 public:
  // Notes the question of a rank, which asks the next one when it has the answer.
  void Note(uint32_t from, const cluster::MachineMessage& question, std::string_view text) {
    open_[from] = {question, std::string(text.substr(0, kMostQuestion))};
  }
  // Answers all; returns whether there was any.
  bool Answer(cluster::Messenger& messenger, const plan::Plan& plan, Weights& weights);

 private:
  static constexpr size_t kMostQuestion = 4096;  // bytes of a text

  std::map<uint32_t, std::pair<cluster::MachineMessage, std::string>> open_;  // by rank
};

// AskedFirstRank: rank 0, as another rank asks it.
class AskedFirstRank {
 public:
  // `numbers`: of the rank's slices in the whole plan; `ended`: rank 0 has ended the engine.
  // `patience`: how long an answer is waited for; 0: for ever.
  AskedFirstRank(cluster::Messenger& messenger, std::vector<uint32_t> numbers,
                 std::function<bool()> ended, std::chrono::nanoseconds patience)
      : messenger_(messenger),
        numbers_(std::move(numbers)),
        ended_(std::move(ended)),
        patience_(patience) {}

  // As AskFirstRank says.
  Result<std::optional<std::vector<uint8_t>>> Ask(uint32_t weight, const plan::WeightFile& slice,
                                                  const device::OperandType& out,
                                                  const files::Safetensors* own);
  // Called when the answer to the open question has come.
  void OnAnswer(const cluster::MachineMessage& answer, std::string_view text) {
    answer_ = {answer, std::string(text)};
  }

 private:
  using Answer = std::pair<cluster::MachineMessage, std::string>;
  struct Piece {
    std::vector<int64_t> first, count;  // in the tensor
    uint64_t bytes = 0;
  };
  static std::vector<Piece> PiecesOf(std::vector<int64_t> first, const std::vector<int64_t>& count,
                                     uint64_t width);
  Result<Answer> AskFirst(cluster::MachineMessage question, std::string_view text);
  Result<bool> Compare(uint32_t weight, const Piece& piece, bool has, std::span<uint8_t> bytes);

  cluster::Messenger& messenger_;
  const std::vector<uint32_t> numbers_;
  const std::function<bool()> ended_;
  const std::chrono::nanoseconds patience_;
  std::optional<Answer> answer_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_SENT_WEIGHTS_H_
