# SPDX-License-Identifier: Apache-2.0
#
# All dependencies, by pkg-config, as PkgConfig::NAME. The versions are the oldest ones tested.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

pkg_check_modules(IBVERBS REQUIRED IMPORTED_TARGET GLOBAL libibverbs>=1.14)
pkg_check_modules(RDMACM REQUIRED IMPORTED_TARGET GLOBAL librdmacm>=1.3)
pkg_check_modules(MNL REQUIRED IMPORTED_TARGET GLOBAL libmnl>=1.0.4)
# 0.9.75 and 1.0.1 were tried.
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET GLOBAL "libmicrohttpd>=0.9.75" "libmicrohttpd<1.1")
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET GLOBAL jansson>=2.14)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET GLOBAL libuv>=1.44)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET GLOBAL libcurl>=7.88)
pkg_check_modules(SMARTCOLS REQUIRED IMPORTED_TARGET GLOBAL smartcols>=2.38)
pkg_check_modules(NCURSESW REQUIRED IMPORTED_TARGET GLOBAL ncursesw>=6.3)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET GLOBAL yaml-0.1>=0.2)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET GLOBAL libisal>=2.30)
pkg_check_modules(GNUTLS REQUIRED IMPORTED_TARGET GLOBAL gnutls>=3.7)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET GLOBAL sqlite3>=3.40)

if(VBD_SYSTEMD)
  pkg_check_modules(SYSTEMD IMPORTED_TARGET GLOBAL libsystemd>=252)
endif()

if(BUILD_TESTING)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET GLOBAL cmocka>=1.1.5)
endif()

# uthash consists of headers only and has no .pc file.
include(CheckIncludeFile)
check_include_file(uthash.h VBD_HAVE_UTHASH)
if(NOT VBD_HAVE_UTHASH)
  message(FATAL_ERROR "uthash.h is missing (Debian: uthash-dev)")
endif()
