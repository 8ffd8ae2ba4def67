# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, sanitizers and output folders shared by every room.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# Lines for stack traces and sanitizers; what else -g writes takes a third of the compile time.
set(CMAKE_CXX_FLAGS_DEBUG "-g1")
# Programs and plugin wait for the system. What computes, the collectives, adds -O2, which takes twice as long.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG")
# By default g++ collects garbage from 128 MB on. From 1 GB on, the largest unit takes a fifth less time, and needs 1.4 GB
# of memory instead of 1.2. Other units were not measured.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=1048576>")
# What is packaged does not depend on the directory that it was built in.
add_compile_options("$<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:C,CXX>>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.;-ffile-prefix-map=${PROJECT_BINARY_DIR}=build>")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
# CMake ends a search path that installation changes with an empty directory, in the build tree. To the loader that is the
# current directory, where another user may have put a library. So the path is what is installed: the directories of
# libraries that the loader would not find by itself.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
if(NOT DEFINED CMAKE_INSTALL_RPATH_USE_LINK_PATH)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# Objects do not name the folder that they were made in, so a clone takes those of another one from the cache.
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>")
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(ccache ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
             CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache})
endif()

# Not for CUDA's compiler, which has options of its own (BatchaiGpu).
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra>")
# clang's counts what lies in the anonymous namespaces of a unity build's other files.
add_compile_options("$<$<OR:$<COMPILE_LANG_AND_ID:C,GNU>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wshadow>")
if(BATCHAI_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>")
endif()

# batchai_sanitize(TARGET): every target but the SPANK plugin, which Slurm's own daemons load.
file(RELATIVE_PATH sanitizer_ignores ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR}/tests/fuzz/ignored.txt) # as ninja runs
function(batchai_sanitize target)
  if(BATCHAI_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${BATCHAI_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${BATCHAI_SANITIZE})
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-fsanitize-ignorelist=${sanitizer_ignores}>)
    target_compile_definitions(${target} PRIVATE BATCHAI_SANITIZED) # for GCC and Clang alike
  endif()
endfunction()

# batchai_unit_test(NAME SOURCES... LIBS...): a Boost.Test program, one ctest entry.
function(batchai_unit_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBS} Boost::unit_test_framework)
  target_compile_definitions(${name} PRIVATE BOOST_TEST_DYN_LINK
                             BATCHAI_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # Fixtures lie in anonymous namespaces, which a unity build includes from another file.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  batchai_sanitize(${name})
  # A third of the compile time, in code that is not installed. The library keeps these checks.
  target_compile_options(${name} PRIVATE -fno-sanitize=null,alignment,object-size,vptr)
  add_dependencies(unit_tests ${name})
  add_test(NAME unit/${name} COMMAND ${name} --color_output=no)
  set_tests_properties(unit/${name} PROPERTIES LABELS unit TIMEOUT 600)
endfunction()
