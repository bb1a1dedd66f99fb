/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing the server's JSON: tables (libsmartcols) described by columns, and blocks of labelled
 * lines. A member that is missing, null or of an unexpected type is shown as "-".
 *
 * One thread. Output goes to standard output, or to the file of vbd_ctl_view_to().
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_VIEW_H
#define VBD_CMD_VERBSCTL_COMMON_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Formats one value, safe for a terminal; the caller frees the text. @value may be NULL.
 */
typedef char *(*vbd_ctl_cell_fn)(const json_t *value);

/** vbd_ctl_is_reference - is @value {id, name} of another object? */
bool vbd_ctl_is_reference(const json_t *value);

char *vbd_ctl_cell_text(const json_t *value);  /* strings, numbers and booleans unchanged; the name
						* of a reference, or else its id */
char *vbd_ctl_cell_count(const json_t *value); /* an integer; 0 if it is missing */
char *vbd_ctl_cell_hex(const json_t *value);   /* 0x1a, for queue pair numbers and packet numbers */
char *vbd_ctl_cell_bytes(const json_t *value); /* 1.5 MiB */
char *vbd_ctl_cell_ns(const json_t *value);    /* 1.234 ms */
char *vbd_ctl_cell_ms(const json_t *value);    /* nanoseconds as milliseconds: "1.234" */
char *vbd_ctl_cell_whole_ms(const json_t *value); /* 336 ms */
char *vbd_ctl_cell_time(const json_t *value);	  /* RFC 3339, cut to milliseconds */
char *vbd_ctl_cell_endpoint(const json_t *value); /* {addr, port} as 192.0.2.1:7471 or [::1]:7471 */
char *vbd_ctl_cell_list(const json_t *value);	  /* an array of strings, joined by commas */

enum vbd_ctl_column_flags {
	VBD_CTL_COLUMN_RIGHT = 1, /* right-aligned, for numbers */
	VBD_CTL_COLUMN_STATE = 2, /* coloured by the state */
	VBD_CTL_COLUMN_TRUNC = 4, /* becomes narrower if the terminal is too narrow */
	VBD_CTL_COLUMN_RARE = 8,  /* left out of a table in which no row has the member */
};

struct vbd_ctl_column {
	const char *title;
	const char *path; /* path of the member; "" for the whole row */
	vbd_ctl_cell_fn cell;
	unsigned int flags;
	/* For a column of a list: the members that `cell` reads, separated by commas; NULL: @path
	 */
	const char *fields;
};

/* Columns with the usual formats. */
#define VBD_CTL_TEXT(title, path)                       \
	{                                               \
		title, path, vbd_ctl_cell_text, 0, NULL \
	}
#define VBD_CTL_WIDE(title, path)                                          \
	{                                                                  \
		title, path, vbd_ctl_cell_text, VBD_CTL_COLUMN_TRUNC, NULL \
	}
#define VBD_CTL_RARE(title, path)                                                                \
	{                                                                                        \
		title, path, vbd_ctl_cell_text, VBD_CTL_COLUMN_TRUNC | VBD_CTL_COLUMN_RARE, NULL \
	}
#define VBD_CTL_STATE(title, path)                                         \
	{                                                                  \
		title, path, vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE, NULL \
	}
#define VBD_CTL_NUMBER(title, path)                                        \
	{                                                                  \
		title, path, vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT, NULL \
	}
#define VBD_CTL_HEX(title, path)                                          \
	{                                                                 \
		title, path, vbd_ctl_cell_hex, VBD_CTL_COLUMN_RIGHT, NULL \
	}
#define VBD_CTL_BYTES(title, path)                                          \
	{                                                                   \
		title, path, vbd_ctl_cell_bytes, VBD_CTL_COLUMN_RIGHT, NULL \
	}
#define VBD_CTL_NS(title, path)                                          \
	{                                                                \
		title, path, vbd_ctl_cell_ns, VBD_CTL_COLUMN_RIGHT, NULL \
	}
#define VBD_CTL_TIME(title, path)                       \
	{                                               \
		title, path, vbd_ctl_cell_time, 0, NULL \
	}
#define VBD_CTL_ENDPOINT(title, path)                       \
	{                                                   \
		title, path, vbd_ctl_cell_endpoint, 0, NULL \
	}
#define VBD_CTL_LIST(title, path)                       \
	{                                               \
		title, path, vbd_ctl_cell_list, 0, NULL \
	}

/**
 * vbd_ctl_view_to - write to @out from now on; NULL for standard output
 *
 * The width of tables still follows the terminal.
 */
void vbd_ctl_view_to(FILE *out);

/**
 * vbd_ctl_table_put - print an array of objects as a table
 * @rows: prints nothing if it is empty
 */
void vbd_ctl_table_put(
	const struct vbd_ctl_column *columns, size_t column_count, const json_t *rows, bool color);

/**
 * vbd_ctl_object_put - print all that an object has: each member with a value a line, and so a
 * short inner object; then each list of objects, as a table if they are short
 * @except: names of members to leave out, separated by spaces
 */
void vbd_ctl_object_put(json_t *object, const char *except);

/**
 * vbd_ctl_fill - copy @text with each "{path}" replaced by the member at that path
 * @text: "{path:format}" chooses a format: hex, bytes, ns, time, endpoint, or count (0 if missing)
 *
 * The members are made safe for a terminal. Returns a text that the caller frees.
 */
char *vbd_ctl_fill(const json_t *object, const char *text);

/* A line of a block: its label, and a text for vbd_ctl_fill() with a member in it. */
struct vbd_ctl_line {
	const char *label, *text;
};

/** vbd_ctl_lines_put - print lines " label text", but those whose first member is missing */
void vbd_ctl_lines_put(const json_t *object, const struct vbd_ctl_line *lines, size_t count);

#define VBD_CTL_LINES_PUT(object, ...)                                        \
	vbd_ctl_lines_put(object, (const struct vbd_ctl_line[]){__VA_ARGS__}, \
		sizeof((const struct vbd_ctl_line[]){__VA_ARGS__}) / sizeof(struct vbd_ctl_line))

/** vbd_ctl_list_put - print a line for each item, with @text filled, and @label before the first */
void vbd_ctl_list_put(const char *label, const json_t *items, const char *text);

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

#endif
