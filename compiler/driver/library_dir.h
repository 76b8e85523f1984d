// Where the library of the language is.
#ifndef CGRAPH_COMPILER_DRIVER_LIBRARY_DIR_H_
#define CGRAPH_COMPILER_DRIVER_LIBRARY_DIR_H_

#include <string>

namespace cgraph {

// Where `std.` is: beside the executable when installed, else in the source tree.
std::string LibraryDir();

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_DRIVER_LIBRARY_DIR_H_
