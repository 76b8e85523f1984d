// Machine: one run of a graph under one schedule: lanes step, start and finish instructions, until
// all have run their rounds, nothing can step, or a fault is seen.
#ifndef CGRAPH_TESTS_INTERPRETER_MACHINE_H_
#define CGRAPH_TESTS_INTERPRETER_MACHINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/interpreter/interpreter.h"
#include "tests/interpreter/meaning.h"
#include "tests/interpreter/memory.h"
#include "tests/interpreter/transports.h"
#include "tests/interpreter/view.h"

namespace cgraph::interpreter {

class Machine {
 public:
  Machine(const View& view, const Meaning& meaning, const std::vector<bool>& submitted,
          uint32_t rounds, const Schedule& schedule);

  Finding Run();

 private:
  // A lane's next step is to start the instruction at `position`, or to finish it when `running`.
  struct Lane {
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t position = 0;
    int64_t round = 0;
    bool running = false;
    std::vector<Ticket> tickets;         // of the running communication's parts
    std::vector<Content> produced;       // what the running instruction will leave
    std::vector<std::pair<Touch, uint64_t>> reads;   // with the instance of the arena
    std::vector<std::pair<Touch, uint64_t>> writes;
  };
  struct Member {  // of a capture: its part of one lane
    uint32_t lane;
    uint32_t first;  // position in the lane
    uint32_t count;
    std::vector<plan::Wait> waits;  // for signals from outside
  };

  void FindCaptures();
  void DealLanesToWorkers(uint32_t workers);
  uint64_t Random(uint64_t below);

  const InstructionView& Current(const Lane& lane) const {
    return view_.instructions[lane.first + lane.position];
  }
  bool Over(const Lane& lane) const { return lane.round >= rounds_ || lane.count == 0; }
  bool Passed(const Lane& lane, int64_t round, uint32_t position) const {
    return lane.round > round || (lane.round == round && lane.position >= position);
  }

  bool CanStep(uint32_t lane) const;
  bool CanStart(uint32_t lane) const;
  bool CanFinish(const Lane& lane) const;
  bool Signalled(const plan::Wait& wait, int64_t round) const;
  bool CapturesAllow(uint32_t lane) const;
  bool CaptureCanStart(uint32_t capture, int64_t round) const;
  bool CaptureIsOver(uint32_t capture, int64_t round) const;
  bool WorkerAllows(uint32_t lane) const;
  bool CallerAllows(const Lane& lane) const;
  uint32_t FirstWork(const Lane& lane) const;
  bool NothingComesBefore(const Lane& lane, uint32_t work) const;
  bool HasStarted(uint32_t instruction, int64_t round) const;

  std::optional<uint32_t> Choose(const std::vector<uint32_t>& possible);
  uint32_t ChooseByRank(const std::vector<uint32_t>& possible);
  bool IsHeld(uint32_t lane) const;

  void Step(uint32_t lane);
  void Start(uint32_t lane);
  void Touches(Lane& lane, const InstructionView& instruction, int64_t execution);
  void SeeOverlaps(uint32_t lane);
  void StartParts(uint32_t lane, const InstructionView& instruction, const Observation& found,
                  int64_t execution, bool empty);
  Shape ShapeOf(const Operand& operand, int64_t execution);
  void Finish(uint32_t lane);
  void FinishParts(Lane& lane, const InstructionView& instruction, int64_t execution);
  Finding CompareState();
  Finding DescribeHang() const;
  void Report(Outcome outcome, uint32_t lane, const std::string& text);

  const View& view_;
  const Meaning& meaning_;
  const std::vector<bool>& submitted_;
  const int64_t rounds_;
  const Schedule schedule_;
  uint64_t random_;
  ArenaMemory memory_;
  Transports transports_;
  std::vector<Lane> lanes_;
  std::vector<uint64_t> signals_;                    // by event: how often it was signalled
  std::map<uint32_t, std::vector<Member>> captures_;
  std::vector<uint32_t> worker_of_;                  // by lane; empty: every lane by itself
  std::vector<uint32_t> rank_;                       // by lane, for kPriorities
  Finding finding_;
};

}  // namespace cgraph::interpreter

#endif  // CGRAPH_TESTS_INTERPRETER_MACHINE_H_
