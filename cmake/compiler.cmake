# Warnings are errors; release builds are hardened; ccache and mold are used where they are installed.
#
# Several sources are compiled as one file, because headers and templates cost more than the code itself: 24 sources
# together take 46 s of processor time, in three parts 75 s. -DCMAKE_UNITY_BUILD=OFF compiles each source by itself,
# which suits frequent small changes (the preset `debug` does so).
set(CMAKE_UNITY_BUILD ON CACHE BOOL "Compile several sources as one file")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 24 CACHE STRING "Sources in one unity file")

find_program(OCTAVO_CCACHE ccache)
if(OCTAVO_CCACHE)
  # Relative paths in the hash: a checkout in another folder finds what was compiled here. A header that mentions
  # __TIME__ does not keep its sources out of the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=time_macros ${OCTAVO_CCACHE})
endif()
find_program(OCTAVO_MOLD mold)
if(OCTAVO_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Programs name sources by relative paths, also in what Catch says of a failure: where a checkout lies must not matter to
# the cache, nor to who reads the binary.
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
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
# A request has up to ten coroutines. A thread keeps the frames of two for the next ones unless told otherwise.
add_compile_definitions(BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=8)
if(OCTAVO_ASSERTIONS)
  # For all sources: inline functions of headers must be the same in each.
  add_compile_definitions(OCTAVO_ASSERTIONS)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Line numbers for debuggers make compiling a tenth slower and the program nine times as large. Profilers need names only.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
if(OCTAVO_DEBUG_INFORMATION)
  string(APPEND CMAKE_CXX_FLAGS_RELEASE " -g1")
endif()
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

# octavo_sources_apart(<library> <name> [OPTIONS <compile options>] SOURCES <sources>): compiles sources of the library of
# the current folder whose headers do not go with those of the others: as unity files of their own.
function(octavo_sources_apart library name)
  cmake_parse_arguments(ARG "" "" "OPTIONS;SOURCES" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:${library},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:${library},COMPILE_DEFINITIONS>)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()

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
