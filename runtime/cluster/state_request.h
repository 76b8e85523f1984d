// StateRequest: what rank 0 asks another rank about what an actor keeps between executions, its
// states or its object of native code, and the answer. There is one at a time, whose bytes go in
// pieces: through the region that ranks of one machine share (control.h), else as texts of messages
// (message.h).
#ifndef CGRAPH_RUNTIME_CLUSTER_STATE_REQUEST_H_
#define CGRAPH_RUNTIME_CLUSTER_STATE_REQUEST_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace cgraph::cluster {

struct StateRequest {
  enum class Kind : uint32_t {
    kRead,     // returns bytes of the actor's states
    kWrite,    // sets bytes of the actor's states
    kLook,     // says whether the actor's object can be saved
    kSave,     // returns what the object keeps
    kRestore,  // gives the object what it kept
  };
  static constexpr uint32_t kMostBytes = 1 << 20;  // of a piece

  Kind kind = Kind::kRead;
  uint32_t actor = 0;
  uint64_t offset = 0;  // kRead and kWrite: where the bytes are in the actor's states
  // All bytes, and where this piece of them begins. kSave: the rank saves when it is asked for the
  // first piece, and answers how many there are. kRestore: it restores when it has the last one.
  uint64_t bytes = 0, begin = 0;
  uint32_t piece_bytes = 0;  // of the piece that goes with it
  uint32_t storing = 0;      // native::Storing; the answer of kLook and kSave
  // The answer. Where it is not kOk, the piece is a text that says why; so it is where an object
  // cannot be saved.
  StatusCode code = StatusCode::kOk;

  // Returns whether the piece goes with the question, and not with the answer.
  bool HasPiece() const { return kind == Kind::kWrite || kind == Kind::kRestore; }

  // The request and its piece, as the text of a message.
  std::string ToText(std::span<const uint8_t> piece) const {
    std::string text(reinterpret_cast<const char*>(this), sizeof *this);
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return text;
  }
  // Reads such a text; a piece that is longer than there is room for is cut.
  void Read(std::string_view text, std::span<uint8_t> piece) {
    std::memcpy(this, text.data(), std::min(text.size(), sizeof *this));
    text.remove_prefix(std::min(text.size(), sizeof *this));
    piece_bytes = static_cast<uint32_t>(std::min(text.size(), piece.size()));
    if (piece_bytes != 0) std::memcpy(piece.data(), text.data(), piece_bytes);
  }
};

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_STATE_REQUEST_H_
