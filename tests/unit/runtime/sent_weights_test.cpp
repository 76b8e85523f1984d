// Weights that rank 0 sends: slices of every shape, files of which bytes are others, and questions
// that no rank of ours asks. Over a wire within the process that is late with everything.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "runtime/engine/ranks/sent_weights.h"
#include "runtime/plan/kinds.h"
#include "tests/unit/runtime/messages/wires.h"

namespace cgraph::testing {
namespace {

using cluster::MachineMessage;

constexpr uint64_t kMostPiece = 1 << 20;

// Folder: of a rank's weights, for as long as the test.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("cgraph_sent_weights_{}_{}", getpid(), name)) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string path() const { return path_.string(); }
  // Writes a tensor `t` of bytes.
  void Write(const std::vector<int64_t>& dims, const std::vector<uint8_t>& bytes) const {
    const std::string header =
        fmt::format(R"({{"t": {{"dtype": "U8", "shape": [{}], "data_offsets": [0, {}]}}}})",
                    fmt::join(dims, ", "), bytes.size());
    const uint64_t length = header.size();
    std::ofstream file(path_ / "w.safetensors", std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof(length));
    file << header;
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

 private:
  const std::filesystem::path path_;
};

// Ears: passes on what comes with the control tag.
class Ears final : public cluster::Listener {
 public:
  using Hear = std::function<void(uint32_t, const MachineMessage&, std::string_view)>;
  Ears(cluster::Messenger& messenger, Hear hear)
      : messenger_(messenger), hear_(std::move(hear)), buffers_(messenger.count()) {
    messenger_.Listen(cluster::kMachineTag, this);
  }
  ~Ears() override { messenger_.Listen(cluster::kMachineTag, nullptr); }
  std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) override {
    return buffers_[from].New(bytes);
  }
  bool OnMessage(uint32_t from, std::span<const std::byte>) override {
    const std::vector<std::byte> bytes = buffers_[from].Take();
    const auto [message, text] = cluster::ReadMessage(bytes);
    most_text = std::max(most_text, text.size());
    hear_(from, message, text);
    return true;
  }
  size_t most_text = 0;

 private:
  cluster::Messenger& messenger_;
  Hear hear_;
  std::vector<cluster::ReceiveBuffers> buffers_;
};

// FirstRankThread: rank 0, which answers.
class FirstRankThread {
 public:
  FirstRankThread(cluster::Wire& wire, const plan::WeightFile& slice, const std::string& folder)
      : messenger_(wire), weights_(folder, nullptr) {
    plan_.weights.push_back(std::make_unique<plan::WeightFile>(slice));
    thread_ = std::thread([this] {
      engine::WeightQuestions questions;
      const Ears ears(messenger_,
                      [&](uint32_t from, const MachineMessage& message, std::string_view text) {
                        questions.Note(from, message, text);
                      });
      while (!ends_) {
        messenger_.Poll();
        questions.Answer(messenger_, plan_, weights_);
      }
    });
  }
  ~FirstRankThread() {
    ends_ = true;
    thread_.join();
  }

 private:
  cluster::Messenger messenger_;
  plan::Plan plan_;
  engine::Weights weights_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

struct Case {
  std::vector<int64_t> dims, first, count;  // of the tensor; of the slice, empty: all
};

// Returns the bytes of the tensor that the slice has, as they are numbered there.
std::vector<size_t> SliceOf(const Case& of) {
  const std::vector<int64_t> zeros(of.dims.size(), 0);
  const auto& first = of.first.empty() ? zeros : of.first;
  const auto& count = of.count.empty() ? of.dims : of.count;
  std::vector<size_t> bytes{0};
  for (size_t d = 0; d < of.dims.size(); ++d) {
    std::vector<size_t> longer;
    for (size_t byte : bytes) {
      for (int64_t i = 0; i < count[d]; ++i) {
        longer.push_back(byte * static_cast<size_t>(of.dims[d]) +
                         static_cast<size_t>(first[d] + i));
      }
    }
    bytes = std::move(longer);
  }
  return bytes;
}

const Case kCases[] = {
    {{3'000'000}, {}, {}},
    {{3'000'000}, {5}, {2'500'001}},
    {{}, {}, {}},
    {{5, 0}, {}, {}},
    {{1100, 2000}, {}, {}},
    {{1100, 2000}, {3, 0}, {1090, 2000}},
    {{1100, 2000}, {0, 7}, {1100, 1900}},
    {{2, 1'500'000}, {1, 0}, {1, 1'500'000}},
    {{2, 1'500'000}, {0, 99}, {2, 1'400'000}},
    {{3, 2, 600'000}, {1, 0, 0}, {2, 2, 600'000}},
    {{3, 700, 900}, {0, 1, 2}, {3, 650, 850}},
    {{300, 70, 90}, {10, 1, 2}, {200, 65, 85}},
    {{4, 4}, {1, 1}, {2, 2}},
};

TEST_CASE("a rank gets the slices of rank 0, whatever it has itself") {
  std::mt19937 random(1);
  for (size_t number = 0; number < std::size(kCases); ++number) {
    const Case& of = kCases[number];
    const size_t size =
        std::accumulate(of.dims.begin(), of.dims.end(), size_t{1},
                        [](size_t a, int64_t b) { return a * static_cast<size_t>(b); });
    std::vector<uint8_t> all(size);
    for (uint8_t& byte : all) byte = static_cast<uint8_t>(random());
    const std::vector<size_t> slice = SliceOf(of);
    std::vector<uint8_t> expected;
    for (size_t byte : slice) expected.push_back(all[byte]);
    const Folder first("first"), own("own");
    first.Write(of.dims, all);
    plan::WeightFile weight;
    weight.name = "w.safetensors";
    weight.tensor = "t";
    weight.first = of.first;
    weight.count = of.count;
    device::OperandType out;
    out.dtype = plan::DType::u8;
    const auto& count = of.count.empty() ? of.dims : of.count;
    out.rank = static_cast<uint8_t>(count.size());
    std::copy(count.begin(), count.end(), out.dims);
    Network network(2, number);
    const FirstRankThread rank0(network.wire(0), weight, first.path());
    cluster::Messenger messenger(network.wire(1));
    engine::AskedFirstRank asked(
        messenger, {0}, [] { return false; }, std::chrono::nanoseconds(0));
    const Ears ears(messenger, [&](uint32_t, const MachineMessage& message, std::string_view text) {
      asked.OnAnswer(message, text);
    });
    const auto ask = [&](const files::Safetensors* file) {
      auto sent = asked.Ask(0, weight, out, file);
      REQUIRE(sent.ok());
      return std::move(*sent);
    };
    CAPTURE(number);
    CHECK(ask(nullptr) == expected);
    for (int other = -1; other < 3; ++other) {
      // One byte is another: none, the first, the last, any of the slice; and one that is in none.
      std::vector<uint8_t> changed = all;
      if (other >= 0 && slice.empty()) break;
      const size_t at = other == 0   ? 0
                        : other == 1 ? slice.size() - 1
                                     : random() % std::max<size_t>(1, slice.size());
      if (other >= 0) changed[slice[at]] ^= 1;
      own.Write(of.dims, changed);
      auto file = files::Safetensors::Open(own.path() + "/w.safetensors");
      REQUIRE(file.ok());
      CAPTURE(other);
      const auto sent = ask(file->get());
      CHECK(sent.has_value() == (other >= 0));
      if (sent) CHECK(*sent == expected);
    }
    CHECK(ears.most_text <= kMostPiece);
    CHECK(network.fault() == "");
  }
}

TEST_CASE("rank 0 answers no question about more than a piece, or about what is not there") {
  const Folder first("first");
  first.Write({2, 1'500'000}, std::vector<uint8_t>(3'000'000));
  plan::WeightFile weight;
  weight.name = "w.safetensors";
  weight.tensor = "t";
  Network network(2, 1);
  const FirstRankThread rank0(network.wire(0), weight, first.path());
  cluster::Messenger messenger(network.wire(1));
  StatusCode code = StatusCode::kOk;
  bool heard = false;
  const Ears ears(messenger, [&](uint32_t, const MachineMessage& message, std::string_view) {
    code = message.code;
    heard = true;
  });
  const auto ask = [&](uint32_t number, const std::vector<int64_t>& range, size_t cut = 0) {
    MachineMessage question{.kind = MachineMessage::kAskWeights};
    question.weights = {.weight = number, .piece = true};
    heard = false;
    cluster::SendMessage(
        messenger, 0, question,
        {reinterpret_cast<const char*>(range.data()), range.size() * sizeof(range[0]) - cut});
    cluster::PollUntil(messenger, [&] { return heard; });
    return code;
  };
  CHECK(ask(0, {0, 0, 1, 1'000'000}) == StatusCode::kOk);
  CHECK(ask(0, {0, 0, 1, 1'200'000}) == StatusCode::kInvalid);
  CHECK(ask(0, {0, 0, 2, 1'500'000}) == StatusCode::kInvalid);
  CHECK(ask(0, {0, 0, INT64_MAX, INT64_MAX}) == StatusCode::kInvalid);
  CHECK(ask(0, {1, 1'499'999, 1, 2}) == StatusCode::kInvalid);
  CHECK(ask(0, {0, -1, 1, 2}) == StatusCode::kInvalid);
  CHECK(ask(0, {0, 0, -1, 2}) == StatusCode::kInvalid);
  CHECK(ask(0, {0, 1}) == StatusCode::kInvalid);
  CHECK(ask(0, {}) == StatusCode::kInvalid);
  CHECK(ask(0, {0, 0, 1, 1}, 3) == StatusCode::kInvalid);
  CHECK(ask(0, std::vector<int64_t>(4000, 0)) == StatusCode::kInvalid);
  CHECK(ask(1, {0, 0, 1, 1}) == StatusCode::kInvalid);
  CHECK(ask(UINT32_MAX, {0, 0, 1, 1}) == StatusCode::kInvalid);
}

}  // namespace
}  // namespace cgraph::testing
