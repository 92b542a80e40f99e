# Warnings are errors; release builds are hardened; ccache and mold are used where they are installed.
find_program(OCTAVO_CCACHE ccache)
if(OCTAVO_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${OCTAVO_CCACHE})
endif()
find_program(OCTAVO_MOLD mold)
if(OCTAVO_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror -fno-plt)
# GCC 12 reports these two in inlined std::string code that is right (GCC bugs 105329, 105651), and takes the class-level
# operator delete of a coroutine frame for a mismatch (GCC bug 109224).
add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-mismatched-new-delete)
if(CMAKE_UNITY_BUILD)
  # A unity file includes the sources, and GCC takes what is included for a header: what is local to a source file looks
  # to it like a type that two files might define differently.
  add_compile_options(-Wno-subobject-linkage)
endif()
add_compile_definitions(BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE SPDLOG_FMT_EXTERNAL)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Clang does not know all of GCC's warnings, and libstdc++ 12's stable_sort uses what it declares deprecated.
  add_compile_options(-Wno-unknown-warning-option -Wno-deprecated-declarations)
endif()

if(OCTAVO_FUZZ)
  # Coverage for libFuzzer in everything; only the programs of tests/fuzz link the fuzzer itself.
  set(fuzz_sanitizers -fsanitize=fuzzer-no-link)
  if(OCTAVO_FUZZ_SANITIZE)
    list(APPEND fuzz_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
  endif()
  add_compile_options(${fuzz_sanitizers} -fno-omit-frame-pointer)
  add_link_options(${fuzz_sanitizers})
elseif(OCTAVO_SANITIZE)
  add_compile_options(-fsanitize=${OCTAVO_SANITIZE} -fno-omit-frame-pointer -O1 -g1 -Wno-error=maybe-uninitialized)
  if(OCTAVO_SANITIZE MATCHES "undefined")
    # What is checked at each use of a pointer makes compilation twice as long; the address sanitizer sees most of it.
    add_compile_options(-fno-sanitize=null,alignment,object-size,vptr)
  endif()
  # GCC's thread sanitizer does not model std::atomic_thread_fence, which Asio uses.
  add_compile_options(-Wno-tsan)
  add_link_options(-fsanitize=${OCTAVO_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong)
  add_link_options(-pie -Wl,-z,relro,-z,now)
endif()

# octavo_library(<name> LINK <targets>): the library of the current folder, from every .cpp below it.
function(octavo_library name)
  cmake_parse_arguments(ARG "" "" "LINK;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  foreach(excluded IN LISTS ARG_EXCLUDE)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${excluded})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()
