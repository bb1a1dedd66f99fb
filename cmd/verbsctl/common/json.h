/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of the server's JSON, read by path. A member that is missing or of another type reads as
 * NULL or a default, because the server may be older or newer, or not a verbsd at all.
 *
 * One thread. Nothing here blocks.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_JSON_H
#define VBD_CMD_VERBSCTL_COMMON_JSON_H

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

/**
 * vbd_ctl_json_at - the member at @path ("qp.lqpn"); "" for @object itself
 *
 * Returns a borrowed reference; NULL if the member is missing or null.
 */
json_t *vbd_ctl_json_at(const json_t *object, const char *path);

/** vbd_ctl_json_text - the string at @path, borrowed; NULL if there is none */
const char *vbd_ctl_json_text(const json_t *object, const char *path);

/** vbd_ctl_json_uint - the integer at @path; 0 if there is none or if it is negative */
uint64_t vbd_ctl_json_uint(const json_t *object, const char *path);

/** vbd_ctl_json_has_uint - whether there is an integer of at least 0 at @path */
bool vbd_ctl_json_has_uint(const json_t *object, const char *path);

/** vbd_ctl_json_is - whether there is a string at @path that equals @text */
bool vbd_ctl_json_is(const json_t *object, const char *path, const char *text);

/**
 * vbd_ctl_path - build "/v1/buffers/NAME/data", with the middle part percent-encoded
 * @ref:  a name, an id, or KIND/ID as objects are printed, with the kind of the collection
 * @tail: "" for none
 */
char *vbd_ctl_path(const char *collection, const char *ref, const char *tail);

/** vbd_ctl_path_of - the path of an object by its id: "/v1/buffers/3" */
char *vbd_ctl_path_of(const char *collection, const json_t *object);

/** vbd_ctl_json_keep - keep a reference that the caller has (vbd_ctl_keep()); NULL stays NULL */
json_t *vbd_ctl_json_keep(json_t *json);

/** vbd_ctl_json_new - an empty object, which is kept */
json_t *vbd_ctl_json_new(void);

/**
 * vbd_ctl_json_ref - JSON that refers to an object: a number if @text is an id, else a string; for
 * vbd_ctl_json_set(), which takes it over
 * @member: the member that it is for ("qp.pd"), whose last name is the kind of the object
 * @text:   a name, an id, or KIND/ID as objects are printed
 */
json_t *vbd_ctl_json_ref(const char *member, const char *text);

/**
 * vbd_ctl_json_set - set the member at @path ("qp.sq_depth"), creating the objects on the path
 * @value: the reference moves to @object; NULL, when memory is out, ends the program
 */
void vbd_ctl_json_set(json_t *object, const char *path, json_t *value);

/** vbd_ctl_json_put - write @value to @out as JSON and a newline, safe for a terminal */
void vbd_ctl_json_put(FILE *out, const json_t *value);

/** vbd_ctl_json_put_line - write @value to @out as JSON on one line, safe for a terminal */
void vbd_ctl_json_put_line(FILE *out, const json_t *value);

#endif
