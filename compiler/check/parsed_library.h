// The library's files, parsed once in a process: most of a small check's time went into that.
#ifndef CGRAPH_COMPILER_CHECK_PARSED_LIBRARY_H_
#define CGRAPH_COMPILER_CHECK_PARSED_LIBRARY_H_

#include <memory>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/syntax/syntax.h"

namespace cgraph::check {

// Parse(source, diagnostics), or what an earlier compilation made of the same text as the same
// source: ranges name their source by its number. What has diagnostics is parsed anew each time.
std::shared_ptr<const syntax::File> ParseLibrary(SourceId source, Diagnostics& diagnostics);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_PARSED_LIBRARY_H_
