# SPDX-License-Identifier: Apache-2.0
#
# Options for every target: vbd_options (language, include path, hardening) and vbd_warnings.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(VBD_CCACHE ccache)
if(VBD_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${VBD_CCACHE})
endif()

# Ninja starts two jobs more than there are processors, but the machine may have other users.
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
set_property(GLOBAL APPEND PROPERTY JOB_POOLS compile=${cores})
set(CMAKE_JOB_POOL_COMPILE compile)
set(CMAKE_JOB_POOL_LINK compile)

# Only -iquote, never -I: with -I a file of rdma/ would hide the system's <rdma/…>.
add_library(vbd_options INTERFACE)
target_compile_definitions(vbd_options INTERFACE _GNU_SOURCE)
target_compile_options(vbd_options INTERFACE
  "SHELL:-iquote ${PROJECT_SOURCE_DIR}"
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  -fno-common
  -fstack-protector-strong
  $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
  $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
target_link_options(vbd_options INTERFACE -Wl,-z,relro,-z,now)

# A debug build links some two hundred programs, and lld takes half the processor time.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=lld VBD_HAVE_LLD)
target_link_options(vbd_options INTERFACE $<$<AND:$<CONFIG:Debug>,$<BOOL:${VBD_HAVE_LLD}>>:-fuse-ld=lld>)

add_library(vbd_warnings INTERFACE)
target_compile_options(vbd_warnings INTERFACE
  -Wall
  -Wextra
  -Wshadow
  -Wstrict-prototypes
  -Wmissing-prototypes
  -Wformat=2
  -Wswitch-enum
  -Wconversion
  -Wvla
  -Wundef
  -Wwrite-strings
  -Wimplicit-fallthrough
  $<$<BOOL:${VBD_WERROR}>:-Werror>)

if(VBD_SANITIZE)
  target_compile_options(vbd_options INTERFACE
    -fsanitize=${VBD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(vbd_options INTERFACE -fsanitize=${VBD_SANITIZE})
endif()
