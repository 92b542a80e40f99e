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

# What the image is made of, as far as it can be checked without Docker: package names, libraries, files.
add_test(NAME "integration: dockerfile"
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/dockerfile_steps.sh $<TARGET_FILE:octavo>)
set_tests_properties("integration: dockerfile" PROPERTIES LABELS integration TIMEOUT 300)
