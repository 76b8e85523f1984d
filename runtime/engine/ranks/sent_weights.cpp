#include "runtime/engine/ranks/sent_weights.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "runtime/files/digest.h"
#include "runtime/plan/kinds.h"

namespace cgraph::engine {
namespace {

constexpr uint64_t kMostPiece = 1 << 20;  // bytes

std::string TextOf(std::span<const int64_t> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}
std::vector<int64_t> NumbersIn(std::string_view text) {
  std::vector<int64_t> numbers(text.size() / sizeof(int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), text.data(), numbers.size() * sizeof(int64_t));
  return numbers;
}

// Tells what the file is like, and the tensor in it.
void Describe(const files::Safetensors& file, const files::Safetensors::Entry& entry,
              cluster::MachineMessage& answer, std::string& text) {
  const files::Safetensors::Identity identity = file.identity();
  answer.weights.file_bytes = identity.bytes;
  answer.weights.modified_ns = identity.modified_ns;
  answer.weights.digest = identity.header;
  answer.weights.dtype = static_cast<uint8_t>(entry.dtype);
  text = TextOf(entry.dims);
}

// Tells that a piece is the same, or what it is. The text of the question is where it begins in the
// tensor, and how many elements it has, for each dimension.
Status TellPiece(const files::Safetensors& file, const std::string& tensor, plan::DType dtype,
                 const cluster::MachineMessage& question, cluster::MachineMessage& answer,
                 std::string& text) {
  const std::vector<int64_t> range = NumbersIn(text);
  const auto first = std::span(range).first(range.size() / 2);
  const auto count = std::span(range).subspan(range.size() / 2);
  const std::optional<uint64_t> size = plan::TensorBytes(dtype, count, kMostPiece);
  if (!size) return Status(StatusCode::kInvalid, "more weights were asked for than one piece");
  std::vector<uint8_t> bytes(*size);
  CGRAPH_RETURN_IF_ERROR(file.Read(tensor, first, count, bytes));
  answer.weights.same = question.weights.has && question.weights.digest == files::Digest64(bytes);
  text.clear();
  if (!answer.weights.same) text.assign(bytes.begin(), bytes.end());
  return Status::Ok();
}

// Answers one question, whose text becomes that of the answer.
Status AnswerOne(const plan::Plan& plan, Weights& weights, const cluster::MachineMessage& question,
                 cluster::MachineMessage& answer, std::string& text) {
  if (question.weights.weight >= plan.weights.size()) {
    return Status(StatusCode::kInvalid, "weights were asked for that the plan does not load");
  }
  const plan::WeightFile& slice = *plan.weights[question.weights.weight];
  auto file = weights.Open(slice);
  if (!file.ok()) return file.status();
  const auto entry = (*file)->entries().find(slice.tensor);
  if (entry == (*file)->entries().end()) return (*file)->Missing(slice.tensor);
  if (question.weights.piece) {
    return TellPiece(**file, slice.tensor, entry->second.dtype, question, answer, text);
  }
  Describe(**file, entry->second, answer, text);
  return Status::Ok();
}

}  // namespace

bool WeightQuestions::Answer(cluster::Messenger& messenger, const plan::Plan& plan,
                             Weights& weights) {
  const auto asked = std::exchange(open_, {});
  for (const auto& [from, question] : asked) {
    cluster::MachineMessage answer{.kind = cluster::MachineMessage::kWeights};
    answer.weights = {};
    std::string text = question.second;
    const Status status = AnswerOne(plan, weights, question.first, answer, text);
    answer.code = status.code();
    SendMessage(messenger, from, answer, status.ok() ? text : status.message());
  }
  return !asked.empty();
}

// ---- the others ---------------------------------------------------------------------------------

// Cuts a slice into pieces that lie one after the other in its bytes: rows of the outermost
// dimension of which some fit.
std::vector<AskedFirstRank::Piece> AskedFirstRank::PiecesOf(std::vector<int64_t> first,
                                                            const std::vector<int64_t>& count,
                                                            uint64_t width) {
  if (std::find(count.begin(), count.end(), 0) != count.end()) return {};
  if (count.empty()) return {{{}, {}, width}};
  uint64_t row = width;  // bytes of an index of dimension `cut`
  size_t cut = count.size() - 1;
  while (cut > 0 && row * static_cast<uint64_t>(count[cut]) <= kMostPiece) {
    row *= static_cast<uint64_t>(count[cut--]);
  }
  const auto rows = static_cast<int64_t>(std::max<uint64_t>(1, kMostPiece / row));
  const std::vector<int64_t> begin = first;
  std::vector<Piece> pieces;
  for (;;) {
    Piece& piece = pieces.emplace_back();
    piece.first = first;
    piece.count = count;
    std::fill_n(piece.count.begin(), cut, 1);
    piece.count[cut] = std::min(rows, begin[cut] + count[cut] - first[cut]);
    piece.bytes = row * static_cast<uint64_t>(piece.count[cut]);
    first[cut] += piece.count[cut];
    for (size_t d = cut; first[d] == begin[d] + count[d]; --d) {
      if (d == 0) return pieces;
      first[d] = begin[d];
      ++first[d - 1];
    }
  }
}

Result<AskedFirstRank::Answer> AskedFirstRank::AskFirst(cluster::MachineMessage question,
                                                        std::string_view text) {
  answer_.reset();
  question.kind = cluster::MachineMessage::kAskWeights;
  SendMessage(messenger_, 0, question, text);
  const auto end = std::chrono::steady_clock::now() + patience_;
  bool late = false;
  PollUntil(messenger_, [&] {
    late = patience_.count() > 0 && std::chrono::steady_clock::now() > end;
    return answer_.has_value() || ended_() || late;
  });
  if (answer_) return std::move(*answer_);
  if (late && !ended_()) {
    return Status(
        StatusCode::kTimeout,
        fmt::format("rank 0 has not answered in {} s which weights it has: it is stopped, "
                    "or still loads the plan itself",
                    std::chrono::duration<double>(patience_).count()));
  }
  return Status(StatusCode::kClosed, "rank 0 has ended the engine");
}

// Compares a piece with rank 0's, and fills it with the bytes where they are others. Returns
// whether they were.
Result<bool> AskedFirstRank::Compare(uint32_t weight, const Piece& piece, bool has,
                                     std::span<uint8_t> bytes) {
  cluster::MachineMessage question;
  question.weights = {.weight = numbers_[weight], .piece = true, .has = has};
  if (has) question.weights.digest = files::Digest64(bytes);
  auto answer = AskFirst(question, TextOf(piece.first) + TextOf(piece.count));
  if (!answer.ok()) return answer.status();
  const auto& [told, text] = *answer;
  if (told.code != StatusCode::kOk) return Status(told.code, text);
  if (told.weights.same && has) return false;
  if (text.size() != bytes.size()) {
    return Status(StatusCode::kInvalid,
                  "rank 0 has sent another number of bytes of weights than "
                  "it was asked for");
  }
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return true;
}

Result<std::optional<std::vector<uint8_t>>> AskedFirstRank::Ask(uint32_t weight,
                                                                const plan::WeightFile& slice,
                                                                const device::OperandType& out,
                                                                const files::Safetensors* own) {
  using Sent = std::optional<std::vector<uint8_t>>;
  cluster::MachineMessage question;
  question.weights = {.weight = numbers_[weight]};
  auto answer = AskFirst(question, {});
  if (!answer.ok()) return answer.status();
  // Where rank 0 has no such weights, this rank's are all there is.
  if (answer->first.code != StatusCode::kOk) return Sent();
  const auto& told = answer->first.weights;
  const files::Safetensors::Identity identity{told.file_bytes, told.modified_ns, told.digest};
  if (own != nullptr && own->identity() == identity) return Sent();
  files::Safetensors::Entry entry;
  entry.dtype = static_cast<plan::DType>(told.dtype);
  entry.dims = NumbersIn(answer->second);
  CGRAPH_RETURN_IF_ERROR(CheckSlice(entry, slice, out, slice.name + " of rank 0"));
  const std::vector<int64_t>& count = slice.count.empty() ? entry.dims : slice.count;
  const std::vector<int64_t> first =
      slice.first.empty() ? std::vector<int64_t>(count.size(), 0) : slice.first;
  std::vector<uint8_t> bytes(plan::TensorBytes(out.dtype, count).value_or(0));
  bool has = own != nullptr && own->entries().contains(slice.tensor) &&
             CheckSlice(own->entries().at(slice.tensor), slice, out, "").ok();
  bool sent = !has;
  uint64_t at = 0;
  const auto width = static_cast<uint64_t>(plan::DTypeBytes(out.dtype));
  for (const Piece& piece : PiecesOf(first, count, width)) {
    const std::span<uint8_t> to = std::span(bytes).subspan(at, piece.bytes);
    has = has && own->Read(slice.tensor, piece.first, piece.count, to).ok();
    const Result<bool> other = Compare(weight, piece, has, to);
    if (!other.ok()) return other.status();
    sent = sent || *other;
    at += piece.bytes;
  }
  return sent ? Sent(std::move(bytes)) : Sent();
}

}  // namespace cgraph::engine
