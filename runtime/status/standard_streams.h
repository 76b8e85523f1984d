// Standard input, output and error as a program finds them may be closed. A file that is opened
// then gets their number, and what is meant for the terminal goes into it. So a closed one is
// opened on /dev/null the wrong way round: its number is taken, and using it is still an error.
#ifndef CGRAPH_RUNTIME_STATUS_STANDARD_STREAMS_H_
#define CGRAPH_RUNTIME_STATUS_STANDARD_STREAMS_H_

#include <fcntl.h>
#include <unistd.h>

namespace cgraph {

// First thing in main.
inline void OccupyStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number is this one, as those below it are open by now.
    (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_STATUS_STANDARD_STREAMS_H_
