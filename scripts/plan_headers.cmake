# Makes two headers of FILE, which flatc has made of plan.fbs. FILE keeps what a loaded plan consists
# of: enums, structs, and the classes whose names end in T. TABLES gets the rest, which takes 0.8 of
# the 1.4 s that FILE took to compile, and which only conversion to bytes and from them needs.
#
# The definition of DType is taken out: programs that know no plan have it in cgraph/tensor.h. What
# flatc makes beside it names every enumerator, so one that is missing there does not compile.
file(READ ${FILE} text)
string(REGEX REPLACE "enum class DType : uint8_t {[^}]*};" "// DType: cgraph/tensor.h" made "${text}")
string(REGEX REPLACE "(#include \"flatbuffers/flatbuffers.h\")" "#include <cgraph/tensor.h>\n\n\\1"
       made "${made}")
string(FIND "${made}" "// DType: cgraph" replaced)
string(FIND "${made}" "#include <cgraph/tensor.h>" included)
if(replaced EQUAL -1 OR included EQUAL -1)
  message(FATAL_ERROR "${FILE} has no DType where flatc used to write it")
endif()

# The classes begin at the first that ends in T. A declaration begins behind an empty line, at the
# beginning of a line.
set(object "struct [A-Za-z0-9_]+T : public (::)?flatbuffers::NativeTable")
string(REGEX MATCH "\n${object}" first "${made}")
string(FIND "${made}" "${first}" begin)
string(FIND "${made}" "}  // namespace wire" end REVERSE)
if(begin LESS 1 OR end LESS begin)
  message(FATAL_ERROR "${FILE} has no classes where flatc used to write them")
endif()
string(SUBSTRING "${made}" 0 ${begin} head)
string(SUBSTRING "${made}" ${end} -1 tail)
math(EXPR length "${end} - ${begin}")
string(SUBSTRING "${made}" ${begin} ${length} classes)
string(REPLACE ";" "@semicolon@" classes "${classes}")
string(REPLACE "[" "@open@" classes "${classes}")  # elements of a list are not split between brackets
string(REPLACE "]" "@close@" classes "${classes}")
string(REGEX REPLACE "\n\n([a-z])" "\n;\\1" classes "${classes}")
set(objects "")
set(tables "")
foreach(declaration ${classes})
  if(declaration MATCHES "^\n?${object}|^inline ([A-Za-z0-9_]+T &)?[A-Za-z0-9_]+T::")
    string(APPEND objects "\n${declaration}")
  else()
    string(APPEND tables "\n${declaration}")
  endif()
endforeach()
foreach(part objects tables)
  string(REPLACE "@semicolon@" ";" ${part} "${${part}}")
  string(REPLACE "@open@" "[" ${part} "${${part}}")
  string(REPLACE "@close@" "]" ${part} "${${part}}")
endforeach()
string(REGEX MATCHALL "${object}" all "${made}")
string(REGEX MATCHALL "${object}" kept "${objects}")
list(LENGTH all all)
list(LENGTH kept kept)
if(NOT all EQUAL kept OR tables STREQUAL "")
  message(FATAL_ERROR "${FILE} has ${all} classes that end in T, and ${kept} were told from tables")
endif()
file(WRITE ${FILE} "${head}${objects}\n${tail}")
set(begin "// The tables of a plan's bytes. plan_generated.h has what a loaded plan consists of.\n")
string(APPEND begin "#pragma once\n\n#include \"runtime/plan/plan_generated.h\"\n\n")
file(WRITE ${TABLES} "${begin}namespace cgraph {\nnamespace wire {\n${tables}\n"
     "}  // namespace wire\n}  // namespace cgraph\n")
