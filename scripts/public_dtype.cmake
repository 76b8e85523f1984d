# Takes the definition of DType out of FILE, which flatc has made of plan.fbs: programs that know no
# plan have it in cgraph/tensor.h. What flatc makes beside it names every enumerator, so one that is
# missing there does not compile.
file(READ ${FILE} text)
string(REGEX REPLACE "enum class DType : uint8_t {[^}]*};" "// DType: cgraph/tensor.h" made "${text}")
string(REGEX REPLACE "(#include \"flatbuffers/flatbuffers.h\")" "#include <cgraph/tensor.h>\n\n\\1"
       made "${made}")
string(FIND "${made}" "// DType: cgraph" replaced)
string(FIND "${made}" "#include <cgraph/tensor.h>" included)
if(replaced EQUAL -1 OR included EQUAL -1)
  message(FATAL_ERROR "${FILE} has no DType where flatc used to write it")
endif()
file(WRITE ${FILE} "${made}")
