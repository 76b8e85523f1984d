# Runs PROGRAM on PLAN: it must end well, and say what it is there to show.
execute_process(COMMAND ${PROGRAM} ${PLAN} OUTPUT_VARIABLE said ERROR_VARIABLE said
                RESULT_VARIABLE code)
message("${said}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "exit code ${code}")
endif()
if(NOT said MATCHES "error: counter.add .*does not go down.*over capacity: .*in the end: 15")
  message(FATAL_ERROR "it says something else")
endif()
