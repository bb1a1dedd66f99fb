/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, sizes and times as users write them, on a command line or in a configuration.
 *
 * Any thread; nothing here blocks.
 */
#ifndef VBD_BASE_QUANTITY_H
#define VBD_BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/**
 * vbd_parse_uint - parse a decimal number of at most INT64_MAX, the range of JSON integers
 *
 * Returns false if @text is malformed.
 */
bool vbd_parse_uint(const char *text, uint64_t *ret_value);

/** vbd_parse_number - as vbd_parse_uint(), and also hexadecimal after "0x" */
bool vbd_parse_number(const char *text, uint64_t *ret_value);

/**
 * vbd_parse_size - parse a number of bytes with K, M, G or T (powers of 1024; "KiB" and "KB" mean
 * the same)
 */
bool vbd_parse_size(const char *text, uint64_t *ret_bytes);

/**
 * vbd_parse_duration - parse a number, maybe with decimals, and ms, s, m or h
 * @unit: of a number without one, "ms" or "s"
 */
bool vbd_parse_duration(const char *text, const char *unit, uint64_t *ret_ms);

#endif
