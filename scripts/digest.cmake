# Writes to OUT a digest of the contents of FILES and of the text BESIDES, as a C++ string literal.
set(digests "${BESIDES}")
foreach(file ${FILES})
  file(SHA256 ${file} digest)
  string(APPEND digests " ${digest}")
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 16 digest)
file(WRITE ${OUT} "\"${digest}\"\n")
