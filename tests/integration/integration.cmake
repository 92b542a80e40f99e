# One CTest test per suite file: `ctest -R integration`. A missing node or npm fails them; they are never skipped.
# disk_full makes files fail; the sanitizers do not allow that.
set(octavo_suite_environment "OCTAVO_BINARY=$<TARGET_FILE:octavo>" TEST_PATIENCE=${OCTAVO_TEST_PATIENCE})
add_executable(octavo_no_executable_memory ${CMAKE_CURRENT_SOURCE_DIR}/support/no_executable_memory.cpp)
list(APPEND octavo_suite_environment "NO_EXECUTABLE_MEMORY=$<TARGET_FILE:octavo_no_executable_memory>")
math(EXPR octavo_suite_seconds "600 * ${OCTAVO_TEST_PATIENCE}")
if(NOT OCTAVO_SANITIZE)
  list(APPEND octavo_suite_environment "FILE_LAYER_LIBRARY=$<TARGET_FILE:octavo_file_layer>")
endif()
set(OCTAVO_NPM_DIR ${PROJECT_BINARY_DIR}/integration CACHE PATH "Where the npm packages of the suites are installed")
file(GLOB octavo_suites CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/integration/*.test.mjs
     ${CMAKE_CURRENT_SOURCE_DIR}/integration/*/*.test.mjs)
if(OCTAVO_SANITIZE)
  list(FILTER octavo_suites EXCLUDE REGEX "/readme\\.test\\.mjs$")  # of the README, not of the server
endif()
foreach(suite_file IN LISTS octavo_suites)
  get_filename_component(suite ${suite_file} NAME)
  string(REPLACE ".test.mjs" "" suite ${suite})
  set(test "${OCTAVO_TEST_PREFIX}integration: ${suite}")
  add_test(NAME ${test} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/run.sh ${OCTAVO_NPM_DIR} ${suite})
  set_tests_properties(${test} PROPERTIES
    ENVIRONMENT "${octavo_suite_environment}"
    LABELS "integration;full"
    TIMEOUT ${octavo_suite_seconds})
  if(suite MATCHES "analytics")
    # Its process has the lowest priority, so fewer tests run beside it.
    set_tests_properties(${test} PROPERTIES PROCESSORS 2)
  endif()
endforeach()

if(OCTAVO_SANITIZE)
  return()
endif()
# What the image is made of, as far as it can be checked without Docker: package names, libraries, files.
add_test(NAME "integration: dockerfile"
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/dockerfile_steps.sh $<TARGET_FILE:octavo>)
set_tests_properties("integration: dockerfile" PROPERTIES LABELS "integration;full" TIMEOUT 300)

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_test(NAME "integration: hardening" COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/hardening.sh $<TARGET_FILE:octavo>)
  set_tests_properties("integration: hardening" PROPERTIES LABELS "integration;full" TIMEOUT 60)
endif()
