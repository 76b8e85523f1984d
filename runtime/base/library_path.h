// Where shared libraries of ours are, which are loaded late: beside the program, or where an
// installation has them.
#ifndef CGRAPH_RUNTIME_BASE_LIBRARY_PATH_H_
#define CGRAPH_RUNTIME_BASE_LIBRARY_PATH_H_

#include <string>
#include <string_view>

namespace cgraph {

// Returns the path of a library, or its bare name, for the loader to look for.
std::string FindLibrary(const char* library);
// Returns where the library was looked for in vain: "/x/bin/..., /x/lib/..., LD_LIBRARY_PATH, ...".
std::string WhereLooked(const char* library);
// Says what the loader found wrong last, without the name of the library, with which it begins.
std::string LoaderError(std::string_view name);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_LIBRARY_PATH_H_
