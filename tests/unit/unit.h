/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with the headers that it needs before it. */
#ifndef VBD_TESTS_UNIT_UNIT_H
#define VBD_TESTS_UNIT_UNIT_H

#include "base/attr.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#endif
