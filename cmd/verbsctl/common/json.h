/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a server's answer, taken by path. Whatever is missing or of another type than expected
 * is NULL or a fallback, never a crash: the server may be newer, older, or something else
 * altogether.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_JSON_H
#define VBD_CMD_VERBSCTL_COMMON_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * vbd_ctl_json_at - the member at @path ("qp.lqpn"); "" is @object itself
 *
 * Returns a borrowed value, as changeable as the object is; NULL if there is none or if it is null.
 */
json_t *vbd_ctl_json_at(const json_t *object, const char *path);

/** vbd_ctl_json_text - the string there, borrowed; NULL if there is none */
const char *vbd_ctl_json_text(const json_t *object, const char *path);

/** vbd_ctl_json_uint - the integer there; 0 if there is none or if it is negative */
uint64_t vbd_ctl_json_uint(const json_t *object, const char *path);

/** vbd_ctl_json_has_uint - is there an integer that is not negative? */
bool vbd_ctl_json_has_uint(const json_t *object, const char *path);

/** vbd_ctl_json_is - is there a string, and is it @text? */
bool vbd_ctl_json_is(const json_t *object, const char *path, const char *text);

/** vbd_ctl_json_set - put @value (taken over) at @path ("qp.sq_depth"), making objects on the way
 */
void vbd_ctl_json_set(json_t *object, const char *path, json_t *value);

/** vbd_ctl_json_put - write @value to @out as JSON and a newline, harmless for a terminal */
void vbd_ctl_json_put(FILE *out, const json_t *value);

/** vbd_ctl_json_put_line - the same on one line */
void vbd_ctl_json_put_line(FILE *out, const json_t *value);

#endif
