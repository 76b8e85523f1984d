// Which bytes of an input go to which rank, and what a message of them says.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/base/kinds/collective.h"
#include "runtime/transport/mpi/collective/message_layout.h"
#include "runtime/transport/mpi/collective/sections.h"

namespace cgraph::testing {
namespace {

using namespace transport;

CollectiveShape ShapeOf(CollectiveKind kind, uint64_t bytes) {
  CollectiveShape shape;
  shape.kind = kind;
  shape.members = 4;
  shape.root = 1;
  shape.tensors = {{plan::DType::f32, bytes}};
  return shape;
}
const std::vector<uint32_t> kRanks = {0, 0, 1, 2};  // of the four members

std::vector<uint32_t> MembersOf(const std::vector<Section>& sections) {
  std::vector<uint32_t> members;
  for (const Section& section : sections) members.push_back(section.part);
  return members;
}

TEST_CASE("parts and slices cover an input once") {
  for (Division division : {Division::kEqual, Division::kSlices}) {
    for (uint32_t members = 1; members < 9; ++members) {
      for (uint64_t units = 0; units < 300; units += 7) {
        const uint64_t bytes = 4 * units * (division == Division::kEqual ? members : 1);
        uint64_t end = 0;
        for (uint32_t m = 0; m < members; ++m) {
          const ByteRange part = SectionRange(division, members, m, bytes);
          REQUIRE(part.begin == end);
          REQUIRE(part.bytes <= MostSectionBytes(division, members, bytes + 4 * members));
          if (division == Division::kSlices && part.bytes != 0) REQUIRE(part.begin % 64 == 0);
          end += part.bytes;
        }
        REQUIRE(end == bytes);
      }
    }
  }
}

TEST_CASE("a rank is sent what its members need") {
  const auto sections = [](CollectiveKind kind, uint32_t from, uint32_t rank) {
    return SectionsFor(ShapeOf(kind, 400), kRanks, from, rank);
  };
  using Kind = CollectiveKind;
  const std::vector<Section> whole = {{0, 0, Division::kWhole}};
  for (Kind kind : {Kind::kAllGather, Kind::kAllReduce}) {
    REQUIRE(sections(kind, 2, 0) == whole);  // once for both members there
    REQUIRE(sections(kind, 0, 2) == whole);
  }
  for (Kind kind : {Kind::kGather, Kind::kReduce}) {
    REQUIRE(sections(kind, 2, 0) == whole);  // where the root is
    REQUIRE(sections(kind, 2, 2).empty());
  }
  REQUIRE(sections(Kind::kBroadcast, 1, 2) == whole);
  REQUIRE(sections(Kind::kBroadcast, 0, 2).empty());
  REQUIRE(MembersOf(sections(Kind::kScatter, 1, 2)) == std::vector<uint32_t>{3});
  REQUIRE(sections(Kind::kScatter, 3, 0).empty());
  for (Kind kind : {Kind::kAllToAll, Kind::kReduceScatter}) {
    REQUIRE(MembersOf(sections(kind, 3, 0)) == std::vector<uint32_t>{0, 1});
    REQUIRE(MembersOf(sections(kind, 0, 1)) == std::vector<uint32_t>{2});
  }
  CollectiveShape barrier = ShapeOf(Kind::kBarrier, 0);
  barrier.tensors.clear();
  REQUIRE(SectionsFor(barrier, kRanks, 0, 1).empty());
}

TEST_CASE("a large all_reduce goes in slices, a small one whole") {
  const CollectiveShape small = ShapeOf(CollectiveKind::kAllReduce, kSlicedBytes - 4);
  const CollectiveShape large = ShapeOf(CollectiveKind::kAllReduce, kSlicedBytes);
  REQUIRE(DivisionOf(small, 0) == Division::kWhole);
  REQUIRE(SlicesOf(small, 0).empty());
  REQUIRE(DivisionOf(large, 0) == Division::kSlices);
  REQUIRE(MembersOf(SectionsFor(large, kRanks, 3, 0)) == std::vector<uint32_t>{0, 1});
  REQUIRE(MembersOf(SlicesOf(large, 3)) == std::vector<uint32_t>{3});
  REQUIRE(SlicesOf(ShapeOf(CollectiveKind::kReduce, kSlicedBytes), 0).empty());
}

// ---- messages of them ---------------------------------------------------------------------------

struct Message {
  CollectiveShape shape = ShapeOf(CollectiveKind::kAllToAll, 400);
  // 100 bytes each for members 0 and 1
  MessageLayout layout{shape, SectionsFor(shape, kRanks, 3, 0)};
  std::vector<std::byte> value, bytes = std::vector<std::byte>(layout.most_bytes());
  std::vector<BufferSpan> found = std::vector<BufferSpan>(2);

  explicit Message(uint64_t size, bool poison = false) : value(size) {
    for (size_t i = 0; i < size; ++i) value[i] = static_cast<std::byte>(i);
    const BufferSpan span{value.data(), size};
    bytes.resize(layout.Write(5, poison, {&span, 1}, bytes.data()));
  }
  bool Read(uint64_t round = 5) { return layout.Read(round, bytes, found); }
};

TEST_CASE("a message has the sections, as large as they are in its round") {
  for (uint64_t size : {400, 80, 0}) {
    Message message(size);
    REQUIRE(!message.Read());
    for (size_t i : {0, 1}) {
      REQUIRE(message.found[i].bytes == size / 4);
      const auto* const found = static_cast<const std::byte*>(message.found[i].data);
      REQUIRE(std::equal(found, found + size / 4, message.value.begin() + i * size / 4));
    }
  }
}

TEST_CASE("a message that is poisoned, of another round, or cut is poison") {
  Message poisoned(400, true), late(400), cut(400), empty(400);
  REQUIRE(poisoned.bytes.size() == 64);  // it has no values
  REQUIRE(poisoned.Read());
  REQUIRE(late.Read(6));
  cut.bytes.resize(16);
  REQUIRE(cut.Read());
  empty.bytes.clear();
  REQUIRE(empty.Read());
  REQUIRE(empty.found[0].bytes == 0);
}

TEST_CASE("sizes that a message states wrongly stay in its memory") {
  for (uint64_t stated : {uint64_t{101}, uint64_t{1} << 40, UINT64_MAX}) {
    for (size_t length : {32, 64, 128, 256, 320}) {
      Message message(400);
      message.bytes.resize(length);
      for (size_t i : {0, 1}) std::memcpy(message.bytes.data() + 16 + 8 * i, &stated, 8);
      message.Read();
      for (const BufferSpan& section : message.found) {
        const auto* const data = static_cast<const std::byte*>(section.data);
        REQUIRE(section.bytes <= 100);
        REQUIRE(data >= message.bytes.data());
        REQUIRE(data + section.bytes <= message.bytes.data() + message.bytes.size());
      }
    }
  }
}

}  // namespace
}  // namespace cgraph::testing
