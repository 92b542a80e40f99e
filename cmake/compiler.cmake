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
# GCC 12 reports these two in inlined std::string code that is right (GCC bugs 105329, 105651).
add_compile_options(-Wno-restrict -Wno-stringop-overflow)
add_compile_definitions(BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE SPDLOG_FMT_EXTERNAL)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

if(OCTAVO_SANITIZE)
  add_compile_options(-fsanitize=${OCTAVO_SANITIZE} -fno-omit-frame-pointer -O1 -Wno-error=maybe-uninitialized)
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
