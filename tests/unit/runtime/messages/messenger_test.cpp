// Messengers over wires that are late with everything: who hears what, and in which order.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

#include "runtime/cluster/messenger.h"
#include "tests/unit/runtime/messages/wires.h"

namespace cgraph::testing {
namespace {

using cluster::MessageBytes;
using cluster::Messenger;

// Letter: what a message of these tests begins with; the rest is `Filling` of it.
struct Letter {
  uint64_t number = 0;
  uint64_t bytes = 0;
};
std::byte Filling(uint64_t number, uint64_t at) {
  return static_cast<std::byte>(number * 131 + at * 7 + 3);
}
std::vector<std::byte> Write(uint64_t number, uint64_t bytes) {
  std::vector<std::byte> text(std::max<uint64_t>(bytes, sizeof(Letter)));
  for (uint64_t at = sizeof(Letter); at < text.size(); ++at) text[at] = Filling(number, at);
  const Letter letter{number, text.size()};
  std::memcpy(text.data(), &letter, sizeof(letter));
  return text;
}

// Reader: hears of one tag at one rank, and notes the numbers by sender.
class Reader final : public cluster::Listener {
 public:
  explicit Reader(uint32_t ranks) : buffers_(ranks), numbers(ranks) {}
  std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) override {
    return buffers_[from].New(bytes);
  }
  bool OnMessage(uint32_t from, std::span<const std::byte> message) override {
    std::vector<std::byte> text = buffers_[from].Take();
    Letter letter;
    std::memcpy(&letter, text.data(), sizeof(letter));
    bool whole = message.size() == text.size() && MessageBytes(letter.bytes) == text.size();
    for (uint64_t at = sizeof(letter); whole && at < letter.bytes; ++at) {
      whole = text[at] == Filling(letter.number, at);
    }
    broken += !whole;
    numbers[from].push_back(letter.number);
    buffers_[from].Return(std::move(text));
    return waited_for;
  }

 private:
  std::vector<cluster::ReceiveBuffers> buffers_;

 public:
  std::vector<std::vector<uint64_t>> numbers;  // by sender
  int broken = 0;
  bool waited_for = true;  // what comes
};

// Outbox: messages whose memory the sender keeps, and scribbles over as soon as it may.
class Outbox {
 public:
  void Send(Messenger& messenger, uint32_t to, uint32_t tag, uint64_t number, uint64_t bytes) {
    bytes = MessageBytes(std::max<uint64_t>(bytes, sizeof(Letter)));
    sent_.push_back(std::make_unique<Sent>());
    sent_.back()->text = Write(number, bytes);
    messenger.Send(to, tag, sent_.back()->text, &sent_.back()->busy);
  }
  bool Clear() {
    std::erase_if(sent_, [](const auto& sent) {
      if (sent->busy.load(std::memory_order_acquire)) return false;
      std::fill(sent->text.begin(), sent->text.end(), std::byte{0xee});
      return true;
    });
    return sent_.empty();
  }

 private:
  struct Sent {
    std::vector<std::byte> text;
    std::atomic<bool> busy{false};
  };
  std::vector<std::unique_ptr<Sent>> sent_;
};

uint64_t SizeOf(std::mt19937_64& random) {
  return random() % 8 == 0 ? random() % 5000 : random() % 200;
}

// Ranks with messengers on one thread, which a seed makes do something in turn.
struct Office {
  Network network;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Messenger>> messengers;
  std::vector<Outbox> outboxes;

  Office(uint32_t ranks, uint64_t seed) : network(ranks, seed), random(seed), outboxes(ranks) {
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      messengers.push_back(std::make_unique<Messenger>(network.wire(rank)));
    }
  }
  uint32_t count() const { return network.count(); }

  void SendSomething(uint64_t number, uint32_t tags, uint32_t& from, uint32_t& to, uint32_t& tag) {
    from = random() % count();
    to = (from + 1 + random() % (count() - 1)) % count();
    tag = 1 + random() % tags;
    if (random() % 2 == 0) {
      messengers[from]->SendCopy(to, tag, Write(number, SizeOf(random)));
    } else {
      outboxes[from].Send(*messengers[from], to, tag, number, SizeOf(random));
    }
  }
  void PollOne() {
    const uint32_t rank = random() % count();
    messengers[rank]->Poll();
    outboxes[rank].Clear();
  }
  // Goes on until nothing is under way.
  void Settle() {
    bool all = false;
    for (int i = 0; i < 100000 && !all; ++i) {
      all = true;
      for (uint32_t rank = 0; rank < count(); ++rank) {
        messengers[rank]->Poll();
        all &= outboxes[rank].Clear() && messengers[rank]->AllSent();
      }
      all &= network.Quiet();
    }
    REQUIRE(all);
    REQUIRE(network.fault() == "");
  }
};

TEST_CASE("messages of a rank with one tag come whole and in the order in which they were sent") {
  for (uint64_t seed = 1; seed <= 2000 / kSanitizedShare; ++seed) {
    CAPTURE(seed);
    Office office(2 + seed % 3, seed);
    const uint32_t ranks = office.count(), tags = 3;
    std::vector<std::vector<Reader>> readers(ranks, std::vector<Reader>(tags, Reader(ranks)));
    // Nobody listens for the last tag at rank 0.
    const auto listens = [&](uint32_t rank, uint32_t tag) { return rank != 0 || tag != tags; };
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      for (uint32_t tag = 1; tag <= tags; ++tag) {
        if (listens(rank, tag)) office.messengers[rank]->Listen(tag, &readers[rank][tag - 1]);
      }
    }
    std::vector<std::vector<Reader>> expected(ranks, std::vector<Reader>(tags, Reader(ranks)));
    for (uint64_t number = 0; number < 60; ++number) {
      uint32_t from, to, tag;
      office.SendSomething(number, tags, from, to, tag);
      if (listens(to, tag)) expected[to][tag - 1].numbers[from].push_back(number);
      for (uint64_t polls = office.random() % 4; polls > 0; --polls) office.PollOne();
    }
    office.Settle();
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      for (uint32_t tag = 0; tag < tags; ++tag) {
        REQUIRE(readers[rank][tag].numbers == expected[rank][tag].numbers);
        REQUIRE(readers[rank][tag].broken == 0);
      }
    }
  }
}

TEST_CASE("a listener that goes has no message coming, and the next one hears those after it") {
  for (uint64_t seed = 1; seed <= 1500 / kSanitizedShare; ++seed) {
    CAPTURE(seed);
    Office office(2 + seed % 2, seed);
    const uint32_t ranks = office.count();
    std::vector<std::unique_ptr<Reader>> readers;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      readers.push_back(std::make_unique<Reader>(ranks));
      office.messengers[rank]->Listen(1, readers[rank].get());
    }
    std::vector<std::vector<uint64_t>> heard(ranks * ranks);
    const auto note = [&](uint32_t rank) {
      REQUIRE(readers[rank]->broken == 0);
      for (uint32_t from = 0; from < ranks; ++from) {
        auto& all = heard[rank * ranks + from];
        const auto& more = readers[rank]->numbers[from];
        all.insert(all.end(), more.begin(), more.end());
      }
    };
    for (uint64_t number = 1; number <= 60; ++number) {
      uint32_t from, to, tag;
      office.SendSomething(number, 1, from, to, tag);
      for (uint64_t polls = office.random() % 4; polls > 0; --polls) office.PollOne();
      if (office.random() % 6 != 0) continue;
      const uint32_t rank = office.random() % ranks;
      office.messengers[rank]->Listen(1, nullptr);
      note(rank);
      readers[rank] = std::make_unique<Reader>(ranks);  // with new buffers
      if (office.random() % 2 == 0) office.PollOne();
      office.messengers[rank]->Listen(1, readers[rank].get());
    }
    office.Settle();
    for (uint32_t rank = 0; rank < ranks; ++rank) note(rank);
    uint64_t count = 0;
    for (const auto& numbers : heard) {
      REQUIRE(std::is_sorted(numbers.begin(), numbers.end(), std::less_equal<>()));
      count += numbers.size();
    }
    REQUIRE(count > 0);
  }
}

TEST_CASE("a message without a buffer is dropped, and those behind it come") {
  struct Picky final : cluster::Listener {
    std::span<std::byte> BufferFor(uint32_t, uint64_t bytes) override {
      return bytes > 128 ? std::span<std::byte>() : buffers.New(bytes);
    }
    bool OnMessage(uint32_t, std::span<const std::byte> message) override {
      REQUIRE(message.size() <= 128);
      Letter letter;
      std::memcpy(&letter, buffers.Take().data(), sizeof(letter));
      numbers.push_back(letter.number);
      return true;
    }
    cluster::ReceiveBuffers buffers;
    std::vector<uint64_t> numbers;
  };
  for (uint64_t seed = 1; seed <= 500 / kSanitizedShare; ++seed) {
    CAPTURE(seed);
    Office office(2, seed);
    Picky picky;
    office.messengers[1]->Listen(1, &picky);
    std::vector<uint64_t> expected;
    for (uint64_t number = 0; number < 30; ++number) {
      const uint64_t bytes = office.random() % 256;
      office.messengers[0]->SendCopy(1, 1, Write(number, bytes));
      if (MessageBytes(std::max<uint64_t>(bytes, sizeof(Letter))) <= 128) {
        expected.push_back(number);
      }
      office.PollOne();
    }
    office.Settle();
    REQUIRE(picky.numbers == expected);
  }
}

// Hears answers.
struct Answers final : cluster::Listener {
  std::span<std::byte> BufferFor(uint32_t, uint64_t bytes) override { return buffers.New(bytes); }
  bool OnMessage(uint32_t, std::span<const std::byte> message) override {
    uint64_t value = 0;
    std::memcpy(&value, message.data(), sizeof(value));
    values.push_back(value);
    return true;
  }
  cluster::ReceiveBuffers buffers;
  std::vector<uint64_t> values;
};

// Answering: rank 0, whose thread polls, answers rank 1.
struct Answering {
  Answering() { messenger.Poll(); }
  void Send(uint64_t value) { messenger.SendAnswer(1, {1, value}, delay); }
  uint64_t sent() { return office.network.Sent(1, 2).first; }

  Office office{2, 1};
  Messenger& messenger = *office.messengers[0];
  cluster::AnswerDelay delay;
};

TEST_CASE("an answer goes when its thread polls, before a later one, or with another message") {
  Answering at;
  at.Send(1);
  REQUIRE(at.sent() == 0);
  std::thread([&] { at.Send(2); }).join();
  REQUIRE(at.sent() == 2);  // of a thread that does not poll at once, and in their order
  at.delay = {};
  at.Send(3);
  REQUIRE(at.sent() == 2);
  at.messenger.Poll();
  REQUIRE(at.sent() == 3);
  at.Send(4);
  REQUIRE(at.messenger.under_way());
  at.office.Settle();  // all that was sent has left
  REQUIRE(at.sent() == 4);
  at.delay = {};
  at.Send(5);
  REQUIRE(!at.messenger.TakeAnswer(0).has_value());
  const auto taken = at.messenger.TakeAnswer(1);
  REQUIRE((taken && taken->tag == 1 && taken->value == 5));
  REQUIRE(!at.messenger.TakeAnswer(1).has_value());
  at.messenger.Poll();
  REQUIRE(at.sent() == 4);

  Answers answers;
  at.office.messengers[1]->Listen(1, &answers);
  at.office.messengers[1]->PassOn(0, *taken);
  at.office.messengers[1]->PassOn(0, {2, 7});  // of which nobody wants to hear
  REQUIRE(answers.values == std::vector<uint64_t>{5});
  at.office.messengers[1]->Listen(1, nullptr);
}

TEST_CASE("an answer may wait longer where a message takes answers along") {
  using namespace std::chrono_literals;
  cluster::AnswerDelay delay;
  REQUIRE(delay.IsShort());
  delay.Note(20us, /*along=*/false);
  REQUIRE(!delay.IsShort());
  delay.Note(20us, /*along=*/true);
  REQUIRE(delay.IsShort());
  delay.Note(40us, /*along=*/true);
  REQUIRE(!delay.IsShort());
}

TEST_CASE("answers that went at once are measured by the message that could have taken them") {
  Answering at;
  at.delay.Note(std::chrono::seconds(1), /*along=*/false);
  at.Send(1);
  REQUIRE(at.sent() == 1);
  REQUIRE(!at.messenger.TakeAnswer(1).has_value());  // and its delay was short
  at.Send(2);
  REQUIRE(at.sent() == 1);
  REQUIRE(at.messenger.TakeAnswer(1)->value == 2);
}

TEST_CASE("answers go at once where the ones before have waited long") {
  Answering at;
  at.Send(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a kernel
  at.messenger.Poll();
  REQUIRE(at.sent() == 1);
  at.Send(2);
  REQUIRE(at.sent() == 2);
  at.messenger.Poll();
  at.delay = {};  // as where that was at once
  at.Send(3);
  REQUIRE(at.sent() == 2);
}

TEST_CASE("Poll() says whether anything has come that somebody may wait for") {
  for (const bool waited_for : {true, false}) {
    Office office(2, 1);
    Reader reader(2);
    reader.waited_for = waited_for;
    office.messengers[1]->Listen(1, &reader);
    office.messengers[0]->SendCopy(1, 1, Write(1, 100));
    bool any = false;
    for (int i = 0; i < 1000 && reader.numbers[0].empty(); ++i) {
      office.messengers[0]->Poll();
      any |= office.messengers[1]->Poll();
    }
    REQUIRE(reader.numbers[0].size() == 1);
    REQUIRE(any == waited_for);
    office.messengers[1]->Listen(1, nullptr);
  }
}

// PromptWire: of rank 0 of two; everything is over at once, and what it is asked is counted.
class PromptWire final : public cluster::Wire {
 public:
  uint32_t rank() const override { return 0; }
  uint32_t count() const override { return 2; }
  uint32_t most_tag() const override { return 1; }
  std::string library() const override { return "none"; }
  double share_of_cores() const override { return 1; }
  Request BeginSend(uint32_t, uint32_t, const void*, uint64_t) override { return 0; }
  std::optional<Incoming> Probe() override {
    ++probes;
    if (coming == 0) return std::nullopt;
    --coming;
    return Incoming{1, 1, kMessageUnit, 0};
  }
  Request BeginReceive(const Incoming&, void* to) override {
    std::memcpy(to, Write(1, kMessageUnit).data(), kMessageUnit);
    return 0;
  }
  bool Over(Request) override { return true; }
  void Finish() override {}
  void Abort(int) override { std::abort(); }

  int coming = 0, probes = 0;
};

TEST_CASE("a message that somebody may wait for is heard before the wire is asked for more") {
  PromptWire wire;
  Messenger messenger(wire);
  Reader reader(2);
  messenger.Listen(1, &reader);
  wire.coming = 2;
  REQUIRE(messenger.Poll());
  REQUIRE((reader.numbers[1].size() == 1 && wire.probes == 1));
  REQUIRE(messenger.Poll());
  REQUIRE((reader.numbers[1].size() == 2 && wire.probes == 2));
  reader.waited_for = false;
  wire.coming = 2;
  REQUIRE(!messenger.Poll());
  REQUIRE((reader.numbers[1].size() == 4 && wire.probes == 5));
  REQUIRE(reader.broken == 0);
  messenger.Listen(1, nullptr);
}

TEST_CASE("a small message that has left at once is not under way") {
  PromptWire wire;
  Messenger messenger(wire);
  const std::vector<std::byte> small = Write(1, 64), large = Write(2, 1 << 20);
  std::atomic<bool> busy{false};
  messenger.SendCopy(1, 1, small);
  messenger.Send(1, 1, small, &busy);
  REQUIRE((!busy && !messenger.under_way()));
  messenger.Send(1, 1, large, &busy);
  REQUIRE((busy && messenger.under_way()));
  messenger.Poll();
  REQUIRE((!busy && !messenger.under_way()));
}

TEST_CASE("any thread may send and poll") {
  constexpr uint32_t kRanks = 3, kEach = 300;
  Network network(kRanks, 1);
  std::vector<std::unique_ptr<Messenger>> messengers;
  std::vector<std::unique_ptr<Reader>> readers;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    messengers.push_back(std::make_unique<Messenger>(network.wire(rank)));
    readers.push_back(std::make_unique<Reader>(kRanks));
    messengers[rank]->Listen(1, readers[rank].get());
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> pollers, senders;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    for (int i = 0; i < 2; ++i) {
      pollers.emplace_back([&, rank] {
        while (!stop.load()) {
          if (!messengers[rank]->Poll()) std::this_thread::yield();
        }
      });
    }
    senders.emplace_back([&, rank] {
      Outbox outbox;
      for (uint64_t number = 0; number < kEach; ++number) {
        for (uint32_t to = 0; to < kRanks; ++to) {
          if (to == rank) continue;
          if (number % 2 == 0) {
            messengers[rank]->SendCopy(to, 1, Write(number, number));
          } else {
            outbox.Send(*messengers[rank], to, 1, number, number);
          }
        }
        outbox.Clear();
      }
      while (!outbox.Clear()) std::this_thread::yield();
    });
  }
  for (std::thread& sender : senders) sender.join();
  while (!network.Quiet()) std::this_thread::yield();
  for (const auto& messenger : messengers) {
    while (!messenger->AllSent()) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& poller : pollers) poller.join();
  for (const auto& messenger : messengers) messenger->Poll();
  REQUIRE(network.fault() == "");
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    REQUIRE(readers[rank]->broken == 0);
    for (uint32_t from = 0; from < kRanks; ++from) {
      const auto& numbers = readers[rank]->numbers[from];
      REQUIRE(numbers.size() == (from == rank ? 0 : kEach));
      for (uint64_t i = 0; i < numbers.size(); ++i) REQUIRE(numbers[i] == i);
    }
  }
}

}  // namespace
}  // namespace cgraph::testing
