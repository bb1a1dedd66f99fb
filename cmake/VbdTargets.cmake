# SPDX-License-Identifier: Apache-2.0

# vbd_library(<name> [OBJECT] SOURCES <file>... LINK <target>...)
#
# The library of one folder. OBJECT is for code chosen at link time (the providers): the linker always takes its
# objects, in any order of the command line.
function(vbd_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OBJECT" "" "SOURCES;LINK")
  if(NOT arg_SOURCES)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_LINK})
    return()
  endif()
  if(arg_OBJECT)
    add_library(${name} OBJECT ${arg_SOURCES})
  else()
    add_library(${name} STATIC ${arg_SOURCES})
  endif()
  target_link_libraries(${name} PRIVATE vbd_warnings PUBLIC vbd_options ${arg_LINK})
endfunction()

# vbd_program(<name> SOURCES <file>... LINK <target>...)
function(vbd_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_compile_definitions(${name} PRIVATE VBD_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE vbd_warnings vbd_options ${arg_LINK})
endfunction()

# vbd_test_environment(<test>...): the environment of every test, with any sanitizer
function(vbd_test_environment)
  set_property(TEST ${ARGV} APPEND PROPERTY ENVIRONMENT
    "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")
  set_property(TEST ${ARGV} PROPERTY SKIP_RETURN_CODE 77)
endfunction()

# vbd_unit_helper(<name> [LINK <target>...]): <name>.c, which many tests share, is compiled once
function(vbd_unit_helper name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  add_library(vbd_unit_${name} OBJECT ${name}.c)
  target_compile_definitions(vbd_unit_${name} PRIVATE VBD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(vbd_unit_${name} PRIVATE vbd_warnings vbd_options ${arg_LINK} PkgConfig::CMOCKA)
endfunction()

# vbd_boots(<guests> <test>...): tests that boot so many guests each. scripts/test runs no more guests at a time than
# the machine has processors.
function(vbd_boots guests)
  set_tests_properties(${ARGN} PROPERTIES RESOURCE_GROUPS "guests:${guests}")
endfunction()

# vbd_unit_test(<name> [SOURCES <file>...] [LINK <target>...])
#
# A cmocka program of <name>.c and other sources: one process, one ctest of label `unit`. A source of which there is a
# helper is not compiled again.
function(vbd_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  foreach(source IN LISTS arg_SOURCES)
    string(REGEX REPLACE "^([a-z_]+)\\.c$" "vbd_unit_\\1" helper ${source})
    if(TARGET ${helper})
      list(REMOVE_ITEM arg_SOURCES ${source})
      list(APPEND arg_LINK ${helper})
    endif()
  endforeach()
  add_executable(${name} ${name}.c ${arg_SOURCES})
  target_compile_definitions(${name} PRIVATE VBD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE vbd_warnings vbd_options ${arg_LINK} vbd_unit_unit vbd_unit_main PkgConfig::CMOCKA)
  add_test(NAME unit.${name} COMMAND ${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
  vbd_test_environment(unit.${name})
endfunction()
