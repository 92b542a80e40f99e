# One CTest test per suite file: `ctest -R integration`. A missing node or npm fails them; they are never skipped.
file(GLOB octavo_suites CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/integration/*.test.mjs)
foreach(suite_file IN LISTS octavo_suites)
  get_filename_component(suite ${suite_file} NAME)
  string(REPLACE ".test.mjs" "" suite ${suite})
  add_test(NAME "integration: ${suite}"
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/run.sh ${PROJECT_BINARY_DIR}/integration ${suite})
  set_tests_properties("integration: ${suite}" PROPERTIES
    ENVIRONMENT "OCTAVO_BINARY=$<TARGET_FILE:octavo>"
    LABELS integration
    TIMEOUT 300)
endforeach()
