// The plan as the runtime and the tools read it: the schema's object API under short names.
//
// plan.fbs is the contract; this header only gives names to it. A loaded plan is a plain tree of
// vectors of structs, so its readers (check, prove, simulate, draw, engine) need no FlatBuffers of
// their own.
#ifndef CGRAPH_RUNTIME_PLAN_PLAN_H_
#define CGRAPH_RUNTIME_PLAN_PLAN_H_

#include <cstdint>

#include "runtime/plan/plan_generated.h"

namespace cgraph::plan {

using Plan = wire::PlanT;
using Graph = wire::GraphT;
using Kernel = wire::KernelT;
using Primitive = wire::PrimitiveT;
using Attribute = wire::AttributeT;
using Collective = wire::CollectiveT;
using Actor = wire::ActorT;
using State = wire::StateT;
using WeightFile = wire::WeightFileT;
using Device = wire::DeviceT;
using Port = wire::PortT;
using Repeat = wire::RepeatT;
using Parameter = wire::ParameterT;
using Certificate = wire::CertificateT;
using Partition = wire::PartitionT;

using wire::Arena;
using wire::Buffer;
using wire::Call;
using wire::Carry;
using wire::Channel;
using wire::CommPart;
using wire::Communicator;
using wire::Constant;
using wire::DeviceKind;
using wire::Dim;
using wire::DType;
using wire::Extent;
using wire::Inplace;
using wire::Instruction;
using wire::Kind;
using wire::LaneInfo;
using wire::LaneKind;
using wire::Memory;
using wire::Part;
using wire::Protocol;
using wire::Range;
using wire::Site;
using wire::Space;
using wire::TransportKind;
using wire::Symbol;
using wire::Value;
using wire::Wait;

inline constexpr uint32_t kFormat = 4;         // raised whenever an old reader would misread
inline constexpr uint32_t kNone = 0xffffffff;  // an absent index

// Flags of an instruction.
inline constexpr uint8_t kMayFail = 1;
inline constexpr uint8_t kCommitsState = 2;
inline constexpr uint8_t kMayBeCaptured = 4;
inline constexpr uint8_t kAlwaysRuns = 8;

// Flags of a part of a comm. (node_parts.h has one more, 2.) kIsMessage: of a broadcast among two,
// whose root leaves its own output out, so that it is a message; both its parts have it.
inline constexpr uint8_t kAtBound = 1;
inline constexpr uint8_t kIsMessage = 4;

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_PLAN_H_
