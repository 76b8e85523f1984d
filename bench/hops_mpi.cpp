// The program of bench/machine_hops as one would write it with MPI by hand: in an execution rank 0
// says that it begins, a value goes to rank 1 and back again and again, where each rank sends a
// copy of what it has received, and rank 1 says that it is over. Rank 0 prints the microseconds of
// an execution, the median.
//
// Usage (under mpirun, two ranks): hops_mpi BYTES HOPS EXECUTIONS
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Bytes = std::vector<char>;

void Send(const Bytes& bytes) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
}
void Receive(Bytes& bytes) {
  MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, MPI_ANY_SOURCE, 0,
           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || ranks != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const size_t bytes = static_cast<size_t>(std::atoll(argv[1]));
  const int pairs = std::atoi(argv[2]) / 2, executions = std::atoi(argv[3]);
  Bytes received(bytes), result(bytes), word(64);
  std::vector<double> microseconds;
  for (int execution = 0; execution < executions; ++execution) {
    const double start = MPI_Wtime();
    if (rank == 0) {
      Send(word);
      std::copy(received.begin(), received.end(), result.begin());
      for (int i = 0; i < pairs; ++i) {
        Send(result);
        Receive(received);
        std::copy(received.begin(), received.end(), result.begin());
      }
      Receive(word);
    } else {
      Receive(word);
      for (int i = 0; i < pairs; ++i) {
        Receive(received);
        std::copy(received.begin(), received.end(), result.begin());
        Send(result);
      }
      Send(word);
    }
    microseconds.push_back((MPI_Wtime() - start) * 1e6);
  }
  std::nth_element(microseconds.begin(), microseconds.begin() + executions / 2,
                   microseconds.end());
  if (rank == 0) std::printf("microseconds %.4f\n", microseconds[size_t(executions) / 2]);
  MPI_Finalize();
  return 0;
}
