// Typed ids and the tables they index.
//
// Every representation of the compiler is a set of tables; nodes refer to each other by id, never
// by pointer. An id prints as `actor3`, so that dumps are stable and an id in a debugger says what
// it is. A new kind of id is one line: `CGRAPH_ID(ActorId, "actor")`.
#ifndef CGRAPH_COMPILER_BASE_IDS_H_
#define CGRAPH_COMPILER_BASE_IDS_H_

#include <cassert>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cgraph {

// `Self` names its prefix: `static constexpr const char* kPrefix = "actor";`.
template <typename Self>
struct Id {
  static constexpr uint32_t kNone = 0xffffffff;

  constexpr Id() = default;
  constexpr explicit Id(size_t value) : index(static_cast<uint32_t>(value)) {}

  constexpr bool valid() const { return index != kNone; }
  std::string str() const {
    return valid() ? Self::kPrefix + std::to_string(index) : std::string(Self::kPrefix) + "?";
  }

  friend constexpr bool operator==(const Self& a, const Self& b) { return a.index == b.index; }
  friend constexpr auto operator<=>(const Self& a, const Self& b) { return a.index <=> b.index; }

  uint32_t index = kNone;
};

#define CGRAPH_ID(Name, prefix)                    \
  struct Name : Id<Name> {                         \
    static constexpr const char* kPrefix = prefix; \
    using Id::Id;                                  \
  };

// A growing array of `T`, indexed only by `IdType`.
template <typename IdType, typename T>
class Table {
 public:
  IdType Add(T value) {
    rows_.push_back(std::move(value));
    return IdType(rows_.size() - 1);
  }
  T& operator[](IdType id) {
    assert(id.index < rows_.size());
    return rows_[id.index];
  }
  const T& operator[](IdType id) const {
    assert(id.index < rows_.size());
    return rows_[id.index];
  }
  size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  bool Contains(IdType id) const { return id.index < rows_.size(); }

  // Rows in id order. `Ids()` is for loops that need the id: `for (ActorId id : actors.Ids())`.
  auto begin() { return rows_.begin(); }
  auto end() { return rows_.end(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

  struct IdRange {
    struct Iterator {
      uint32_t index;
      IdType operator*() const { return IdType(index); }
      Iterator& operator++() {
        ++index;
        return *this;
      }
      bool operator!=(const Iterator& other) const { return index != other.index; }
    };
    uint32_t count;
    Iterator begin() const { return {0}; }
    Iterator end() const { return {count}; }
  };
  IdRange Ids() const { return {static_cast<uint32_t>(rows_.size())}; }

 private:
  std::vector<T> rows_;
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_IDS_H_
