/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing the server's JSON: tables (libsmartcols) described by columns, blocks of labelled lines,
 * whole objects and errors. A member that is missing, null or of an unexpected type is shown as
 * "-".
 *
 * One thread. Output goes to standard output, or to the file of vbd_ctl_view_to().
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_VIEW_H
#define VBD_CMD_VERBSCTL_COMMON_VIEW_H

#include "cmd/verbsctl/common/args.h"

/* Formats one value, safe for a terminal. @value may be NULL. */
typedef char *(*vbd_ctl_cell_fn)(const json_t *value);

/** vbd_ctl_is_inner - whether @value is an object that is more than a reference {id, name} or an
 * endpoint {addr, port} */
bool vbd_ctl_is_inner(const json_t *value);

/** vbd_ctl_cell_text - strings, numbers and booleans unchanged; the name of a reference, or else
 * its id; an endpoint as 192.0.2.1:7471 or [::1]:7471; the items of a list, joined by commas */
char *vbd_ctl_cell_text(const json_t *value);

/**
 * vbd_ctl_cell_for - choose the format of a member by its name, whose suffix is a unit
 *
 * Returns the length of the suffix, which the formatted value makes superfluous.
 */
size_t vbd_ctl_cell_for(const char *name, vbd_ctl_cell_fn *ret_cell);

/* The operations whose payload this side sends, or receives. */
#define VBD_CTL_SENDS	 "send send_imm write write_imm"
#define VBD_CTL_RECEIVES "recv read"

/** vbd_ctl_payload_bytes - payload of the completed work requests of some operations
 * @counters: member "counters" of a connection; NULL counts as 0 */
uint64_t vbd_ctl_payload_bytes(const json_t *counters, const char *operations);

/*
 * A value of an object in the form "path" or "path:format". Without a format the name decides
 * (vbd_ctl_cell_for()). Formats are bytes (1.5 MiB), count (0 if missing), endpoint, ms ("1.234"),
 * ns (1.234 ms), ports of a device, share (25%), short (1.5M), short_ns (1.23ms), text, sent and
 * received bytes of counters; and of whole objects, whose members that are used are named with
 * commas between: rate of a transfer, span of a life.
 */
struct vbd_ctl_field {
	char *path;
	vbd_ctl_cell_fn cell;
	bool right; /* a number by its format */
};

/** vbd_ctl_field_init - read a field of @len bytes */
void vbd_ctl_field_init(struct vbd_ctl_field *field, const char *text, size_t len);

/** vbd_ctl_field_value - the value that the field's format takes, borrowed from @object; NULL if it
 * is missing */
const json_t *vbd_ctl_field_value(const struct vbd_ctl_field *field, const json_t *object);

/** vbd_ctl_fill - copy @text with each field in braces replaced, safe for a terminal: "{id} is
 * {state}" */
char *vbd_ctl_fill(const json_t *object, const char *text);

/**
 * vbd_ctl_view_to - write to @out from now on; NULL for standard output
 *
 * The width of tables still follows the terminal.
 */
void vbd_ctl_view_to(FILE *out);

/**
 * vbd_ctl_table_put - print an array of objects as a table
 * @columns: "TITLE=field TITLE=field", at most 24
 * @rows:    prints nothing if it is empty
 * @color:   whether to colour states
 */
void vbd_ctl_table_put(const char *columns, const json_t *rows, bool color);

/**
 * vbd_ctl_table_text - the lines of a table, for a screen: texts are cut until it fits
 * @columns: as in vbd_ctl_table_put()
 * @least:   width of each column at least
 * @rows:    returns "" if it is empty
 * @width:   of the screen
 */
char *vbd_ctl_table_text(
	const char *columns, const size_t *least, const json_t *rows, size_t width);

/**
 * vbd_ctl_object_put - print all that an object has: each member with a value a line, and so a
 * short inner object; then each list of objects, as a table if they are short
 * @except: names of members to leave out, separated by spaces
 */
void vbd_ctl_object_put(json_t *object, const char *except);

/** vbd_ctl_line_put - print " label text" with @text filled, unless its first member is missing */
void vbd_ctl_line_put(const char *label, const json_t *object, const char *text);

/** vbd_ctl_list_put - print a line for each item, with @text filled, and @label before the first */
void vbd_ctl_list_put(const char *label, const json_t *items, const char *text);

enum vbd_ctl_labels {
	VBD_CTL_LABELS_USUAL,
	VBD_CTL_LABELS_MEASURE, /* measure the labels, and print no line that has one */
	VBD_CTL_LABELS_FIT,	/* as wide as the longest label that was measured */
};

/** vbd_ctl_labels - how wide the labels of the next lines are: print a block once to measure, then
 * again to fit, and then go back to the usual width */
void vbd_ctl_labels(enum vbd_ctl_labels labels);

/** vbd_ctl_label_put - print " label text", made safe for a terminal, in lines of 100 columns */
void vbd_ctl_label_put(const char *label, const char *text);

/** vbd_ctl_cell_put - print " label value" */
void vbd_ctl_cell_put(const char *label, const json_t *value, vbd_ctl_cell_fn cell);

/** vbd_ctl_sentence_put - print "connection/7 (to-b): text" with @text filled */
void vbd_ctl_sentence_put(const char *kind, const json_t *object, const char *text);

/** vbd_ctl_text_put - print a safe text as a line */
void vbd_ctl_text_put(const char *text);

/** vbd_ctl_heading_put - print an empty line and a heading: "counters" */
void vbd_ctl_heading_put(const char *text);

/** vbd_ctl_title_put - print "connection/7 (to-b)  established", the first line of a block */
void vbd_ctl_title_put(const char *kind, const json_t *object, bool color);

/* --- the server's errors (problem+json, RFC 9457) -------------------------------------------- */

/** vbd_ctl_problem_object - convert "/v1/connections/7" to "connection/7"; other paths are copied
 * unchanged */
char *vbd_ctl_problem_object(const char *path);

/** vbd_ctl_problem_exit - the exit status for a problem */
enum vbd_ctl_exit vbd_ctl_problem_exit(const json_t *problem);

/**
 * vbd_ctl_problem_of - build, from the record of an object that ended, the problem that a waiting
 * request would have returned
 * @collection: path of the kind, "/v1/transfers"
 */
json_t *vbd_ctl_problem_of(const char *collection, const json_t *object);

/**
 * vbd_ctl_problem_put - print a problem on standard error: what happened to what, then each member
 * that says more
 * @args:    the command line, whose options stand for the members of the request
 * @problem: missing members are left out
 */
void vbd_ctl_problem_put(const struct vbd_ctl_args *args, json_t *problem);

/* --- a progress bar on standard error ----------------------------------------------------------
 *
 * Only on a terminal, and only for operations longer than half a second.
 */

struct vbd_ctl_progress {
	const char *what; /* borrowed */
	bool enabled;
	uint64_t start_ns;
	uint64_t drawn_ns; /* time of the last drawing; 0: none is to be seen */
};

/** vbd_ctl_progress_is_seen - whether standard error is a terminal that can show a bar */
bool vbd_ctl_progress_is_seen(void);

/**
 * vbd_ctl_progress_init - start the clock
 * @what: borrowed; label before the bar ("put source")
 */
void vbd_ctl_progress_init(struct vbd_ctl_progress *progress, const char *what);

/**
 * vbd_ctl_progress_update - redraw, at most ten times a second
 * @total_bytes: 0 if unknown, then only bytes and rate are shown; without bytes, the time of
 * waiting
 */
void vbd_ctl_progress_update(
	struct vbd_ctl_progress *progress, uint64_t done_bytes, uint64_t total_bytes);

/** vbd_ctl_progress_fini - erase the bar */
void vbd_ctl_progress_fini(struct vbd_ctl_progress *progress);

#endif
