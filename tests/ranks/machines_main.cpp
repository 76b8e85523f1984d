// Runs a Catch test under mpirun: rank 0 runs the cases, the others serve nodes of its engines.
// Without a launcher the cases fail to begin, so that nothing is tried by mistake.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cstdio>

#include "runtime/cluster/launcher.h"
#include "runtime/engine/ranks/serve.h"
#include "tests/support/run.h"

int main(int argc, char** argv) {
  using namespace cgraph;
  const auto launch = cluster::FindLaunch();
  if (!launch) {
    std::fputs("start this with mpirun -n 2\n", stderr);
    return 1;
  }
  const auto connected = cluster::Connect(*launch);
  if (!connected.ok()) {
    std::fprintf(stderr, "%s\n", connected.status().message().c_str());
    return 1;
  }
  cluster::Peers& peers = **connected;
  if (peers.messenger.rank() != 0) return engine::ServeMachine(peers);
  testing::UsePeers(&peers);
  const int failed = Catch::Session().run(argc, argv);
  if (!engine::EndMachines(peers, failed)) peers.messenger.wire().Abort(1);
  return failed;
}
