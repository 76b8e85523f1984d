// Questions about states and their answers, between rank 0 and ranks of other machines
// (cluster/state_request.h): a StateRequest, and its piece behind it.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cluster/message.h"
#include "runtime/engine/machines/other_ranks.h"
#include "runtime/engine/machines/rank_reporter.h"

namespace cgraph::engine {
namespace {

using cluster::StateRequest;

std::string TextOf(const StateRequest& request, std::span<const uint8_t> piece) {
  std::string text(reinterpret_cast<const char*>(&request), sizeof request);
  text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  return text;
}

// Reads what TextOf() has made; the piece is cut where it is longer than this one.
void ReadText(std::string_view text, StateRequest& request, std::span<uint8_t> piece) {
  std::memcpy(&request, text.data(), std::min(text.size(), sizeof request));
  text.remove_prefix(std::min(text.size(), sizeof request));
  request.piece_bytes = static_cast<uint32_t>(std::min(text.size(), piece.size()));
  if (request.piece_bytes != 0) std::memcpy(piece.data(), text.data(), request.piece_bytes);
}

}  // namespace

// ---- rank 0 -------------------------------------------------------------------------------------

void OtherRanks::AskStates(uint32_t rank, const StateRequest& request,
                           std::span<const uint8_t> piece) {
  has_states_.store(false, std::memory_order_relaxed);
  SendMessage(messenger_, rank, {.kind = cluster::MachineMessage::kStates}, TextOf(request, piece));
}

void OtherRanks::TakeStates(StateRequest& request, std::span<uint8_t> piece) {
  ReadText(states_, request, piece);
}

// ---- the others ---------------------------------------------------------------------------------

void RankReporter::AnswerStates(
    const std::function<void(StateRequest&, std::span<uint8_t> piece)>& answer) {
  StateRequest request;
  states_piece_.resize(StateRequest::kMostBytes);
  const std::span<uint8_t> piece(states_piece_);
  ReadText(states_, request, piece);
  asked_states_.store(false, std::memory_order_relaxed);
  answer(request, piece);
  SendMessage(messenger_, 0, {.kind = cluster::MachineMessage::kStates},
              TextOf(request, piece.first(request.piece_bytes)));
}

}  // namespace cgraph::engine
