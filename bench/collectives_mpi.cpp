// The MPI side of collectives.cpp: one kind, again and again; rank 0 prints the microseconds of
// one, the least of some loops and their median. As there, the result of one call is the input of
// the next.
//
// Usage (under mpirun): collectives_mpi KIND BYTES REPEATS LOOPS
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, members = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &members);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const std::string kind = argv[1];
  const int count = static_cast<int>(std::atoll(argv[2]) / 4), part = count / members;
  const int repeats = std::atoi(argv[3]);
  // The ranks other than 0 keep no copy of the values that rank 0 gathers.
  const size_t all = kind == "gather + scatter" && rank == 0 ? size_t(count) * members : 0;
  std::vector<float> x(count, 1), y(count, 1), piece(part, 1), gathered(all, 1);
  std::vector<double> loops;
  for (int loop = 0; loop < std::atoi(argv[4]); ++loop) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < repeats; ++i) {
      if (kind == "all_reduce") {
        MPI_Allreduce(x.data(), y.data(), count, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
      } else if (kind == "all_to_all") {
        MPI_Alltoall(x.data(), part, MPI_FLOAT, y.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
      } else if (kind == "broadcast") {
        MPI_Bcast(x.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD);
      } else if (kind == "reduce + broadcast") {
        MPI_Reduce(x.data(), y.data(), count, MPI_FLOAT, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Bcast(y.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD);
      } else if (kind == "gather + scatter") {
        MPI_Gather(x.data(), count, MPI_FLOAT, gathered.data(), count, MPI_FLOAT, 0,
                   MPI_COMM_WORLD);
        MPI_Scatter(gathered.data(), count, MPI_FLOAT, y.data(), count, MPI_FLOAT, 0,
                    MPI_COMM_WORLD);
      } else if (kind == "round trip") {  // of two ranks
        float* const from = rank == 0 ? x.data() : y.data();
        for (const int sender : {0, 1}) {
          if (rank == sender) {
            MPI_Send(from, count, MPI_FLOAT, 1 - sender, 0, MPI_COMM_WORLD);
          } else {
            MPI_Recv(y.data(), count, MPI_FLOAT, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          }
        }
      } else if (kind == "barrier") {
        MPI_Barrier(MPI_COMM_WORLD);
      } else if (kind == "reduce_scatter + all_gather") {
        MPI_Reduce_scatter_block(x.data(), piece.data(), part, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allgather(piece.data(), part, MPI_FLOAT, y.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
      } else {
        MPI_Abort(MPI_COMM_WORLD, 2);
      }
      if (kind != "broadcast") std::swap(x, y);  // which leaves its result where it was
    }
    double mine = (MPI_Wtime() - start) * 1e6 / repeats, slowest = 0;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    loops.push_back(slowest);
  }
  std::sort(loops.begin(), loops.end());
  if (rank == 0 && !loops.empty()) {
    std::printf("microseconds %.4f median %.4f\n", loops.front(), loops[loops.size() / 2]);
  }
  MPI_Finalize();
  return 0;
}
