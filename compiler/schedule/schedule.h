// The scheduler: a Graph -> lanes, an order, waits between lanes, and memory.
//
// Its passes, in order, one function and one file each:
//   Lower   (lower.cpp)   edges between devices become transfers; every step gets a lane
//   Order   (order.cpp)   one total order of all steps: program order, both ends of a transfer
//                         as one step
//   Synchronise (sync.cpp) the waits between lanes that data, state and reused memory need, less
//                         those that others imply
//   PlanMemory (memory.cpp) lifetimes from the order; interval colouring gives offsets
// The result is an order of the graph's own ids, not a representation of its own.
#ifndef CGRAPH_COMPILER_SCHEDULE_SCHEDULE_H_
#define CGRAPH_COMPILER_SCHEDULE_SCHEDULE_H_
