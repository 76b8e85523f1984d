#include "tests/interpreter/symbolic.h"

#include <algorithm>

namespace cgraph::interpreter {
namespace {

void Append(Content& content, const Run& run) {
  if (run.length == 0) {
    return;
  }
  if (!content.empty()) {
    Run& last = content.back();
    const bool goes_on = last.origin == run.origin && last.writer == run.writer &&
                         (run.origin == kUnwritten || last.position + last.length == run.position);
    if (goes_on) {
      last.length += run.length;
      return;
    }
  }
  content.push_back(run);
}

}  // namespace

uint64_t Length(const Content& content) {
  uint64_t length = 0;
  for (const Run& run : content) {
    length += run.length;
  }
  return length;
}

Tag Hash(const Content& content) {
  Tag hash = ValueHash(content);
  for (const Run& run : content) {
    hash = Mix(hash, run.writer);
  }
  return hash;
}

Tag ValueHash(const Content& content) {
  Tag hash = 7;
  uint64_t length = 0;  // of a run by one writer or several
  for (size_t i = 0; i < content.size(); ++i) {
    const Run& run = content[i];
    length += run.length;
    const bool goes_on = i + 1 < content.size() && content[i + 1].origin == run.origin &&
                         content[i + 1].position == run.position + run.length;
    if (goes_on) {
      continue;
    }
    hash = Mix(Mix(Mix(hash, length), run.origin), run.position + run.length);
    length = 0;
  }
  return hash;
}

Content WrittenBy(Tag writer, Content content) {
  for (Run& run : content) {
    run.writer = run.origin == kUnwritten ? 0 : writer;
  }
  return content;
}

bool HasUnwritten(const Content& content) {
  return std::any_of(content.begin(), content.end(),
                     [](const Run& run) { return run.origin == kUnwritten; });
}

void Block::Write(uint64_t begin, const Content& content) {
  const uint64_t end = begin + Length(content);
  // The pieces that the written range touches, replaced by what is left of the outer two and the
  // content's runs.
  const auto first =
      std::partition_point(intervals_.begin(), intervals_.end(),
                           [&](const Interval& piece) { return piece.end <= begin; });
  auto last = first;
  while (last != intervals_.end() && last->begin < end) {
    ++last;
  }
  std::vector<Interval> fresh;
  if (first != last && first->begin < begin) {
    fresh.push_back({first->begin, begin, first->origin, first->position, first->writer});
  }
  uint64_t at = begin;
  for (const Run& run : content) {
    if (run.origin != kUnwritten && run.length > 0) {
      fresh.push_back({at, at + run.length, run.origin, run.position, run.writer});
    }
    at += run.length;
  }
  if (first != last && (last - 1)->end > end) {
    const Interval& piece = *(last - 1);
    fresh.push_back(
        {end, piece.end, piece.origin, piece.position + (end - piece.begin), piece.writer});
  }
  if (last - first == 1 && fresh.size() == 1) {
    *first = fresh.front();  // the usual case: the same value again
    return;
  }
  const auto at_fresh = intervals_.erase(first, last);
  intervals_.insert(at_fresh, fresh.begin(), fresh.end());
}

Content Block::Read(uint64_t begin, uint64_t end) const {
  Content content;
  uint64_t at = begin;
  auto piece = std::partition_point(intervals_.begin(), intervals_.end(),
                                    [&](const Interval& p) { return p.end <= begin; });
  for (; piece != intervals_.end() && piece->begin < end; ++piece) {
    if (piece->begin > at) {
      Append(content, {piece->begin - at, kUnwritten, 0});
      at = piece->begin;
    }
    const uint64_t until = std::min(piece->end, end);
    Append(content,
           {until - at, piece->origin, piece->position + (at - piece->begin), piece->writer});
    at = until;
  }
  if (at < end) {
    Append(content, {end - at, kUnwritten, 0});
  }
  return content;
}

}  // namespace cgraph::interpreter
