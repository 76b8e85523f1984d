// The wire by MPI: point-to-point messages, polled. The same source is built for each MPI that is
// installed, into a library of its own; cgrun loads that of the MPI whose launcher started it.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/sync/cores.h"
#include "runtime/cluster/wire.h"
#include "runtime/cluster/wire_table.h"

namespace cgraph::cluster {
namespace {

// An MPI's handles are numbers or pointers.
template <typename Handle>
uint64_t ToNumber(Handle handle) {
  static_assert(sizeof(Handle) <= sizeof(uint64_t));
  uint64_t number = 0;
  std::memcpy(&number, &handle, sizeof(handle));
  return number;
}
template <typename Handle>
Handle FromNumber(uint64_t number) {
  Handle handle;
  std::memcpy(&handle, &number, sizeof(handle));
  return handle;
}

// Errors of MPI end all ranks (MPI_ERRORS_ARE_FATAL), so no call's result is looked at.
class MpiWire {
 public:
  using Request = Wire::Request;
  using Incoming = Wire::Incoming;
  static constexpr uint64_t kMessageUnit = Wire::kMessageUnit;

  MpiWire() {
    int rank = 0, count = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    rank_ = static_cast<uint32_t>(rank);
    count_ = static_cast<uint32_t>(count);
    // Messages are counted in units: MPI's counts have 31 bits.
    MPI_Type_contiguous(kMessageUnit, MPI_BYTE, &unit_);
    MPI_Type_commit(&unit_);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    void* most = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    most_tag_ = found ? static_cast<uint32_t>(*static_cast<int*>(most)) : 32767;
    share_of_cores_ = FindShareOfCores();
    library_ = FindLibrary();
  }

  uint32_t rank() const { return rank_; }
  uint32_t count() const { return count_; }
  uint32_t most_tag() const { return most_tag_; }
  double share_of_cores() const { return share_of_cores_; }
  const std::string& library() const { return library_; }

  Request BeginSend(uint32_t to, uint32_t tag, const void* data, uint64_t bytes) {
    MPI_Request request;
    MPI_Isend(data, Units(bytes), unit_, static_cast<int>(to), static_cast<int>(tag), comm_,
              &request);
    return ToNumber(request);
  }

  std::optional<Incoming> Probe() {
    int found = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, &message, &status);
    if (!found) return std::nullopt;
    int units = 0;
    MPI_Get_count(&status, unit_, &units);
    return Incoming{static_cast<uint32_t>(status.MPI_SOURCE),
                    static_cast<uint32_t>(status.MPI_TAG),
                    static_cast<uint64_t>(units) * kMessageUnit, ToNumber(message)};
  }

  Request BeginReceive(const Incoming& incoming, void* to) {
    MPI_Request request;
    auto message = FromNumber<MPI_Message>(incoming.handle);
    MPI_Imrecv(to, Units(incoming.bytes), unit_, &message, &request);
    return ToNumber(request);
  }

  bool Over(Request number) {
    auto request = FromNumber<MPI_Request>(number);
    int over = 0;
    MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    return over != 0;
  }

  void Finish() {
    // MPICH 4.0's end by UCX and TCP: each flushes its connections, which the others answer only
    // while they flush theirs; who comes late waits for ever (pmodels/mpich#6596). So all begin
    // together, which is as good as certain where processes have a core each.
    const std::vector<int> sent(count_, 0);
    std::vector<int> received(count_, 0);
    MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm_);
    MPI_Comm_free(&comm_);
    MPI_Type_free(&unit_);
    MPI_Finalize();
  }
  void Abort(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

 private:
  static std::string FindLibrary() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole(text, static_cast<size_t>(length));
    return whole.substr(0, whole.find_first_of(",\n"));
  }

  // Returns how many cores this rank has for itself, by which it decides how many workers it starts
  // and whether they spin. All ranks call it together: each tells those of its machine which cores
  // it may use.
  static double FindShareOfCores() {
    const cpu_set_t own = AllowedCores();
    MPI_Comm here;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    int ranks = 1;
    MPI_Comm_size(here, &ranks);
    std::vector<cpu_set_t> of_ranks(static_cast<size_t>(ranks));
    MPI_Allgather(&own, sizeof(own), MPI_BYTE, of_ranks.data(), sizeof(own), MPI_BYTE, here);
    MPI_Comm_free(&here);
    return ShareOfCores(own, of_ranks);
  }

  static int Units(uint64_t bytes) { return static_cast<int>(bytes / kMessageUnit); }

  uint32_t rank_ = 0, count_ = 1, most_tag_ = 0;
  double share_of_cores_ = 1;
  std::string library_;
  MPI_Datatype unit_;
  MPI_Comm comm_;
};

MpiWire& Of(cgraph_wire* wire) { return *reinterpret_cast<MpiWire*>(wire); }
const MpiWire& Of(const cgraph_wire* wire) { return *reinterpret_cast<const MpiWire*>(wire); }

cgraph_wire* Connect(char* error, size_t bytes) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) {
    std::snprintf(error, bytes,
                  "this MPI was built without threads (MPI_THREAD_SERIALIZED); install one with "
                  "them");
    return nullptr;
  }
  static MpiWire wire;
  return reinterpret_cast<cgraph_wire*>(&wire);
}

int Probe(cgraph_wire* wire, cgraph_wire_incoming* message) {
  const std::optional<Wire::Incoming> found = Of(wire).Probe();
  if (found) *message = {found->from, found->tag, found->bytes, found->handle};
  return found.has_value();
}

constexpr cgraph_wire_functions kFunctions = {
    .version = CGRAPH_WIRE_VERSION,
    .size = sizeof(cgraph_wire_functions),
    .made_by = "cgraph " CGRAPH_VERSION,
    .connect = Connect,
    .rank = [](const cgraph_wire* wire) { return Of(wire).rank(); },
    .count = [](const cgraph_wire* wire) { return Of(wire).count(); },
    .most_tag = [](const cgraph_wire* wire) { return Of(wire).most_tag(); },
    .library = [](const cgraph_wire* wire) { return Of(wire).library().c_str(); },
    .share_of_cores = [](const cgraph_wire* wire) { return Of(wire).share_of_cores(); },
    .begin_send = [](cgraph_wire* wire, uint32_t to, uint32_t tag, const void* data,
                     uint64_t bytes) { return Of(wire).BeginSend(to, tag, data, bytes); },
    .probe = Probe,
    .begin_receive =
        [](cgraph_wire* wire, const cgraph_wire_incoming* message, void* to) {
          return Of(wire).BeginReceive(
              {message->from, message->tag, message->bytes, message->handle}, to);
        },
    .over = [](cgraph_wire* wire, uint64_t request) -> int { return Of(wire).Over(request); },
    .finish = [](cgraph_wire* wire) { Of(wire).Finish(); },
    .abort = [](cgraph_wire* wire, int exit_code) { Of(wire).Abort(exit_code); },
};

}  // namespace
}  // namespace cgraph::cluster

extern "C" __attribute__((visibility("default"))) cgraph_wire_table_function cgraph_wire_table;

const cgraph_wire_functions* cgraph_wire_table() { return &cgraph::cluster::kFunctions; }
