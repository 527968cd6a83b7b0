# takt_library(NAME [DIRS sub…] [DEPS target…]): a static library `takt_NAME` of every *.cc of the current folder (and of
# the given sub-folders, recursively), and a test program `NAME_test` of every *_test.cc and testing/*.cc. Files are found by
# glob, so that adding a file needs no edit here.
function(takt_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/testing/[^/]*\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$|/testing/[^/]*\\.cc$")
  if(sources)
    add_library(takt_${name} STATIC ${sources})
    target_include_directories(takt_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(takt_${name} PUBLIC ${ARG_DEPS} Threads::Threads)
  else()
    add_library(takt_${name} INTERFACE)
    target_include_directories(takt_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(takt_${name} INTERFACE ${ARG_DEPS} Threads::Threads)
  endif()
  if(tests)
    takt_test(${name}_test SOURCES ${tests} DEPS takt_${name} ${ARG_TEST_DEPS})
  endif()
endfunction()

# takt_test(NAME SOURCES … DEPS … [LABELS …] [WHOLE] [SERIAL]): a GoogleTest program. SERIAL: nothing runs beside it
# (for programs whose own threads want all cores). WHOLE registers the program as one ctest entry (for programs with a costly
# fixture); otherwise each case is an entry. A skipped case is reported as skipped by ctest.
function(takt_test name)
  cmake_parse_arguments(ARG "WHOLE;SERIAL" "" "SOURCES;DEPS;LABELS" ${ARGN})
  set(properties RUN_SERIAL ${ARG_SERIAL})
  if(ARG_LABELS)  # an empty value would vanish and make RUN_SERIAL the label
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE TAKT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    # Skipped only when every case was: ctest lets this expression win over a failing exit status. `./x test` counts the rest.
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\][^\n]*\n?)+$"
                         ${properties})
  else()
    gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                         TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 120 PROPERTIES ${properties})
  endif()
endfunction()
