// Symbolic memory: every byte knows its origin, and nothing is computed.
//
// A byte is (origin, position): byte `position` of what `origin` stands for, a hash of its maker,
// the execution and the inputs. So two contents have the same value exactly when the real bytes of
// every possible run are the same, up to a collision of 64 bits. Origin 0: nobody wrote it. A byte
// also knows its last writer, since a value can be copied: a reader that finds the right bytes
// although another write than the plan means left them was lucky, so contents with different
// writers are not equal.
#ifndef CGRAPH_TESTS_INTERPRETER_SYMBOLIC_H_
#define CGRAPH_TESTS_INTERPRETER_SYMBOLIC_H_

#include <cstdint>
#include <vector>

namespace cgraph::interpreter {

using Tag = uint64_t;

inline constexpr Tag kUnwritten = 0;

// Mixes two tags; order matters; never kUnwritten.
inline Tag Mix(Tag a, Tag b) {
  uint64_t x = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  x ^= x >> 31;
  return x == kUnwritten ? 1 : x;
}

// `length` bytes of `origin` from `position`.
struct Run {
  uint64_t length;
  Tag origin;
  uint64_t position;
  Tag writer = 0;

  friend bool operator==(const Run&, const Run&) = default;
};
using Content = std::vector<Run>;  // runs that go on where the last one ended are joined

inline Content Whole(Tag origin, uint64_t bytes) { return {{bytes, origin, 0}}; }
uint64_t Length(const Content& content);
Tag Hash(const Content& content);       // of equal contents the same
Tag ValueHash(const Content& content);  // of contents with the same value the same
// Returns the content as its writer leaves it.
Content WrittenBy(Tag writer, Content content);
bool HasUnwritten(const Content& content);

class Block {
 public:
  explicit Block(uint64_t bytes = 0) : bytes_(bytes) {}

  void Write(uint64_t begin, const Content& content);
  Content Read(uint64_t begin, uint64_t end) const;
  Content All() const { return Read(0, bytes_); }

 private:
  struct Interval {
    uint64_t begin;
    uint64_t end;
    Tag origin;
    uint64_t position;  // of byte `begin`
    Tag writer;
  };
  uint64_t bytes_;
  std::vector<Interval> intervals_;  // sorted, disjoint; what is between them is unwritten
};

}  // namespace cgraph::interpreter

#endif  // CGRAPH_TESTS_INTERPRETER_SYMBOLIC_H_
