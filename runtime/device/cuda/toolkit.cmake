# Finds CUDA's compiler and headers: nvcc on the PATH, an installed toolkit, or the one that
# scripts/setup fetched into build/cuda-toolkit; the first that is not too old.
#
# Sets CGRAPH_NVCC, CGRAPH_CUDA_INCLUDE and CGRAPH_CUDA_VERSION (13.0); where there is none,
# CGRAPH_NVCC is empty and CGRAPH_CUDA_MISSING a sentence. As a script (cmake -P) it prints the
# compiler's path, or fails with that sentence.
set(CGRAPH_OLDEST_CUDA 12.4)

function(cgraph_find_cuda_toolkit)
  get_filename_component(tree ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../.. ABSOLUTE)
  find_program(on_path nvcc NO_CACHE)
  set(seen "")
  foreach(nvcc ${on_path} /usr/local/cuda/bin/nvcc ${tree}/build/cuda-toolkit/nvidia/cu13/bin/nvcc)
    if(NOT EXISTS ${nvcc})
      continue()
    endif()
    execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE text ERROR_VARIABLE text
                    RESULT_VARIABLE failed)
    get_filename_component(include ${nvcc} REALPATH)
    get_filename_component(include ${include}/../../include ABSOLUTE)
    if(failed OR NOT text MATCHES "release ([0-9]+\\.[0-9]+)")
      string(APPEND seen "; ${nvcc} does not run")
    elseif(CMAKE_MATCH_1 VERSION_LESS CGRAPH_OLDEST_CUDA)
      string(APPEND seen "; ${nvcc} is of CUDA ${CMAKE_MATCH_1}")
    elseif(NOT EXISTS ${include}/cuda.h)
      string(APPEND seen "; ${nvcc} has no ${include}/cuda.h")
    else()
      set(CGRAPH_NVCC ${nvcc} PARENT_SCOPE)
      set(CGRAPH_CUDA_INCLUDE ${include} PARENT_SCOPE)
      set(CGRAPH_CUDA_VERSION ${CMAKE_MATCH_1} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(CGRAPH_NVCC "" PARENT_SCOPE)
  set(CGRAPH_CUDA_MISSING "there is no CUDA toolkit of version ${CGRAPH_OLDEST_CUDA} or newer \
here${seen}; scripts/cuda-toolkit fetches one" PARENT_SCOPE)
endfunction()

cgraph_find_cuda_toolkit()
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  if(NOT CGRAPH_NVCC)
    message(FATAL_ERROR ${CGRAPH_CUDA_MISSING})
  endif()
  message(STATUS "${CGRAPH_NVCC} (CUDA ${CGRAPH_CUDA_VERSION})")
endif()
