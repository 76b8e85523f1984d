// A library whose objects can be saved, or not. A `Tally` keeps as many numbers as its parameter
// says, which a step adds to; a `Bare` has an object and no save; a
// `Half` could be saved and not restored.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <unistd.h>

#include <cgraph_extern.h>

CGRAPH_EXTERN_LIBRARY

namespace {

struct Tally {
  std::vector<int64_t> numbers;
};

constexpr int64_t kUnsaved = 100, kFails = 101, kDies = 102, kHangs = 103,
                  kSlow = 104;

}  // namespace

extern "C" {

void* Tally_create(const cgraph_actor* actor) {
  return new Tally{std::vector<int64_t>(actor->parameters[0].ints[0], 0)};
}
void Tally_destroy(void* object) { delete static_cast<Tally*>(object); }

int32_t Tally_save(void* object, const cgraph_saving* saving) {
  const auto& numbers = static_cast<Tally*>(object)->numbers;
  const int64_t last = numbers.empty() ? 0 : numbers.back();
  if (last == kUnsaved) {
    saving->fail(saving->error, "it is in a bad mood");
    return CGRAPH_NOT_SAVED;
  }
  if (last == kFails) {
    saving->fail(saving->error, "it will not be saved");
    return 1;
  }
  if (last == kDies) _exit(5);
  while (last == kHangs) pause();
  if (last == kSlow) {
    std::fputs("saving\n", stderr);
    sleep(2);
  }
  const uint64_t half = numbers.size() / 2;  // in two writes
  saving->write(saving->to, numbers.data(), half * sizeof(int64_t));
  saving->write(saving->to, numbers.data() + half, (numbers.size() - half) * sizeof(int64_t));
  return 0;
}

// Puts the numbers in one after the other, and refuses a negative one where it comes upon it.
int32_t Tally_restore(void* object, const cgraph_restoring* restoring) {
  auto& numbers = static_cast<Tally*>(object)->numbers;
  if (restoring->size != numbers.size() * sizeof(int64_t)) {
    restoring->fail(restoring->error, "that is another number of numbers");
    return 1;
  }
  for (uint64_t i = 0; i < numbers.size(); ++i) {
    int64_t number;
    std::memcpy(&number, static_cast<const char*>(restoring->data) + i * sizeof number,
                sizeof number);
    if (number < 0) return 7;
    numbers[i] = number;
  }
  return 0;
}

// Adds x to every number; returns their sum.
int32_t tally_step(const cgraph_call* call) {
  auto& numbers = static_cast<Tally*>(call->object)->numbers;
  const int64_t x = *static_cast<const int64_t*>(cgraph_data(&call->arguments[0]));
  int64_t sum = 0;
  for (int64_t& number : numbers) sum += number += x;
  *static_cast<int64_t*>(cgraph_data(&call->results[0])) = sum;
  return 0;
}

void* Bare_create(const cgraph_actor*) { return new int64_t(0); }
void Bare_destroy(void* object) { delete static_cast<int64_t*>(object); }
int32_t bare_step(const cgraph_call* call) {
  auto* count = static_cast<int64_t*>(call->object);
  *static_cast<int64_t*>(cgraph_data(&call->results[0])) = ++*count;
  return 0;
}

// Of an actor without objects.
int32_t none_step(const cgraph_call* call) {
  *static_cast<int64_t*>(cgraph_data(&call->results[0])) =
      *static_cast<const int64_t*>(cgraph_data(&call->arguments[0]));
  return 0;
}

// What an actor Half would be saved with, and nothing to restore it.
int32_t Half_save(void*, const cgraph_saving*) { return 0; }

}  // extern "C"
