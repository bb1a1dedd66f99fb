/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of C that nearly every file needs, and compiler attributes under short names: the
 * only place that spells them out.
 */
#ifndef VBD_BASE_ATTR_H
#define VBD_BASE_ATTR_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VBD_MUST_CHECK	    __attribute__((warn_unused_result))
#define VBD_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))

#define VBD_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The struct of TYPE that holds the member MEMBER at PTR. */
#define VBD_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
