// The participants of a collective, and what each gives.
//
// The participants are the homes of the values in the list, rank = position in it; of broadcast and
// scatter they are the places named. All must give tensors of the same types, so that what each
// gets is known from what the first gives.
#ifndef CGRAPH_COMPILER_ELABORATE_OPS_PARTICIPANTS_H_
#define CGRAPH_COMPILER_ELABORATE_OPS_PARTICIPANTS_H_

#include <vector>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

struct Participants {
  std::vector<graph::DeviceId> devices;      // by rank
  std::vector<std::vector<Tensor>> tensors;  // by rank; of the root alone where only it gives
  std::vector<Range> ranges;                 // where each was named
  Value shape;                               // lists and tuples around the tensors of one
};

// By the values in a list.
bool FindGivers(ElaborationContext& elaboration, const program::CallCollective& e, Frame& frame,
                Participants& found);

// By the places that are named.
bool FindPlaces(ElaborationContext& elaboration, const program::CallCollective& e, Frame& frame,
                Participants& found);

bool CheckParticipants(ElaborationContext& elaboration, const Participants& found,
                       const char* name);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_OPS_PARTICIPANTS_H_
