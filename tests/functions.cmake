# What the files of the tests' folders call: tests of one kind, what they need, and what each folder
# says of its tests.

# cgraph_rooms(ROOM...): the tests that this folder's file adds from here on, until the next call,
# try these rooms of the product: folders of compiler/ and runtime/, or one of those below. They are
# their labels: `ctest -L '^engine$'`, `scripts/test engine`. Each folder's file begins with it.
function(cgraph_rooms)
  foreach(room ${ARGN})
    if(NOT room MATCHES "^(gradients|structure|docs|cuda)$"
       AND NOT IS_DIRECTORY ${CMAKE_SOURCE_DIR}/compiler/${room}
       AND NOT IS_DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/${room})
      message(FATAL_ERROR "${room} is no room: neither a folder of compiler/ nor one of runtime/")
    endif()
  endforeach()
  get_property(begun DIRECTORY PROPERTY CGRAPH_ROOMS SET)
  if(begun)
    cgraph_label_tests()
  else()
    cmake_language(DEFER CALL cgraph_end_of_folder)
  endif()
  set_property(DIRECTORY PROPERTY CGRAPH_ROOMS ${ARGN})
endfunction()
# Labels what has been added since the rooms were said.
function(cgraph_label_tests)
  get_property(rooms DIRECTORY PROPERTY CGRAPH_ROOMS)
  get_property(tests DIRECTORY PROPERTY TESTS)
  get_property(labelled DIRECTORY PROPERTY CGRAPH_LABELLED)
  set_property(DIRECTORY PROPERTY CGRAPH_LABELLED ${tests})
  list(REMOVE_ITEM tests ${labelled})
  foreach(test ${tests})
    get_property(labels TEST ${test} PROPERTY LABELS)
    list(APPEND labels ${rooms})
    list(REMOVE_DUPLICATES labels)
    set_property(TEST ${test} PROPERTY LABELS ${labels})
  endforeach()
endfunction()

# Slots of ctest, of which a core has two: `ctest -j4` where there are two. A test takes two of
# them. One takes one that hardly computes, since it waits for processes, time-outs and sleeps.
set(CGRAPH_WAITING messages_test engine_deferred_test engine_steady_deferred_test
    engine_rounds_deferred_test conformance_deferred_test collectives_deferred_test omissions_test
    missing_waits_test engine_oracle_test fused_emulated failing_calls resources processes deaths
    deaths_openmpi deaths_mpich deaths_gpu_ranks deaths_gpus_openmpi gpu_ranks two_machines_openmpi
    slurm_openmpi slurm_mpich machine_gpus_openmpi machine_gpus_mpich endless_kernel cgrun
    gpu_check_faults)
# The longest begin first; a later run of ctest knows how long all took.
set(CGRAPH_LONGEST deaths_openmpi deaths_gpus_openmpi kernels_cuda_test training_examples
    machine_gpus_openmpi random_graphs_emulated missing_waits_test deaths_mpich machines_openmpi
    engine_oracle_test mutants_test schedule_bench omissions_test engine_simulation messages_test
    cgrun gpu_ranks spin random_gradients deaths_gpu_ranks deaths machines_mpich fused_emulated
    endless_kernel schedule_actions random_gradients_emulated training engine_simulation_faults)
# Runs when a folder's file has been read to its end: its tests' labels, slots, order and folder.
function(cgraph_end_of_folder)
  cgraph_label_tests()
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test ${tests})
    get_property(labels TEST ${test} PROPERTY LABELS)
    list(REMOVE_ITEM labels slow)
    if(NOT labels)
      message(FATAL_ERROR "no room is said of ${test}, or its labels were set after that")
    endif()
    list(FIND CGRAPH_LONGEST ${test} place)
    if(NOT place EQUAL -1)
      math(EXPR cost "100 - ${place}")
      set_tests_properties(${test} PROPERTIES COST ${cost})
    endif()
    if(NOT CGRAPH_TESTS_FOLDER)
      continue()
    endif()
    set_tests_properties(${test} PROPERTIES PROCESSORS 2 WORKING_DIRECTORY ${CGRAPH_TESTS_FOLDER})
    if(test IN_LIST CGRAPH_WAITING)
      set_tests_properties(${test} PROPERTIES PROCESSORS 1)
    endif()
  endforeach()
endfunction()
# Fails where FOLDER, or one in it, has tests of which no room is said.
function(cgraph_check_rooms folder)
  get_property(tests DIRECTORY ${folder} PROPERTY TESTS)
  get_property(said DIRECTORY ${folder} PROPERTY CGRAPH_ROOMS SET)
  if(tests AND NOT said)
    message(FATAL_ERROR "${folder}/CMakeLists.txt says no rooms of its tests: see cgraph_rooms")
  endif()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner ${folders})
    cgraph_check_rooms(${inner})
  endforeach()
endfunction()

# cgraph_holds_catch(LIBRARY): Catch itself is not what is tested, and takes minutes to compile with
# sanitizers.
function(cgraph_holds_catch library)
  if(CGRAPH_SANITIZE)
    target_compile_options(${library} PRIVATE -fno-sanitize=all -g0)
  endif()
endfunction()
# cgraph_catch_test(NAME SOURCES LIBRARIES...)
function(cgraph_catch_test name sources)
  add_executable(${name} ${sources})
  target_link_libraries(${name} cgraph_catch_main ${ARGN})
  if(TARGET cgraph_test_headers)
    target_precompile_headers(${name} REUSE_FROM cgraph_test_headers)
  endif()
  target_compile_definitions(${name} PRIVATE CGRAPH_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name} -w NoTests)
endfunction()
# cgraph_large_test(NAME OF): the cases of a Catch test that are too large for every time. A tag
# that no case has fails.
function(cgraph_large_test name of)
  add_test(NAME ${name} COMMAND ${of} [.large] -w NoTests)
  set_tests_properties(${name} PROPERTIES LABELS slow TIMEOUT 600)
endfunction()
# cgraph_unit_test(NAME LIBRARIES...): NAME_test.cpp, or all of the folder NAME.
function(cgraph_unit_test test)
  get_filename_component(name ${test} NAME)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${test}_test.cpp
       ${CMAKE_CURRENT_SOURCE_DIR}/${test}/*_test.cpp)
  cgraph_catch_test(${name}_test "${sources}" ${ARGN})
endfunction()
# cgraph_deferred_test(NAME OF SEEDS LIBRARIES...): the cases of another Catch test once more, with
# every engine on deferred devices, from SEEDS first seeds on (each engine takes another one). They
# are compiled once, for OF, and linked with another main.
function(cgraph_deferred_test name of seeds)
  if(CGRAPH_SANITIZE)
    set(seeds 1)
  endif()
  add_executable(${name} $<TARGET_OBJECTS:${of}>)
  target_link_libraries(${name} cgraph_deferred_main ${ARGN} cgraph_engine)
  add_test(NAME ${name} COMMAND ${name} ~[immediate]~[.] --seeds ${seeds} -w NoTests)
endfunction()
# cgraph_on_emulated_gpus(TEST OPTIONS): a test that finds an emulated GPU instead of a driver.
function(cgraph_on_emulated_gpus test options)
  set_tests_properties(${test} PROPERTIES ENVIRONMENT
    "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/emulated:${CMAKE_BINARY_DIR};CGRAPH_EMULATION=${options}")
  set_property(TEST ${test} APPEND PROPERTY LABELS cuda)
endfunction()
# cgraph_left_out_with_sanitizers(TARGET...): with sanitizers scripts/test runs no slow test,
# nothing under mpirun, and no kernel on a GPU: what these alone need is built when it is asked for
# by its name.
function(cgraph_left_out_with_sanitizers)
  if(CGRAPH_SANITIZE)
    set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()
