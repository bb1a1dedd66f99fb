/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON out: the text of a document is written member by member into one growing block of bytes,
 * which becomes the body of the answer as it is. There is no tree of values.
 *
 * A function that puts a value takes the member's name in an object, and NULL in an array. The
 * texts are escaped as json_dumps(3) does with JSON_COMPACT. After a failure (no memory) all
 * functions do nothing, and vbd_encode_end() tells.
 *
 * One thread at a time.
 */
#ifndef VBD_API_JSON_WRITER_H
#define VBD_API_JSON_WRITER_H

#include "base/attr.h"

struct vbd_sieve;

/* Objects and arrays that may be open at once. */
#define VBD_ENCODE_DEPTH_MAX 64

struct vbd_encoder {
	char *bytes; /* from malloc */
	size_t len, room;
	bool failed;
	bool comma;	     /* the next value is not the first one of its object or array */
	unsigned int depth;  /* open objects and arrays */
	unsigned int hidden; /* the innermost ones that the sieve holds back */
	uint64_t arrays;     /* bit mask of those that are arrays */
	/* Decides which members are written; NULL: all. Set it with vbd_encode_through(). */
	struct vbd_sieve *sieve;
};

/** vbd_encode_begin - begin a document, which is an object; the caller ends it with
 * vbd_encode_end() or vbd_encode_drop() */
struct vbd_encoder vbd_encode_begin(void);

/** vbd_encode_begin_in - as vbd_encode_begin(), in memory from malloc that is there already, and is
 * the encoder's then; @room: NULL for none */
struct vbd_encoder vbd_encode_begin_in(char *room, size_t room_bytes);

/**
 * vbd_encode_end - close the object of the document
 * @ret_len: length without the NUL behind the text
 *
 * Returns the text, from malloc, which the caller owns; NULL without memory. The encoder is empty
 * then.
 */
char *vbd_encode_end(struct vbd_encoder *out, size_t *ret_len) VBD_MUST_CHECK;

/** vbd_encode_end_line - as vbd_encode_end(), with a newline in place of the NUL, so that a shell
 * prompt starts a new line */
char *vbd_encode_end_line(struct vbd_encoder *out, size_t *ret_len) VBD_MUST_CHECK;

/** vbd_encode_drop - free what was written; allowed at any time, and more than once */
void vbd_encode_drop(struct vbd_encoder *out);

/** vbd_encode_raw - append bytes as they are, to a zeroed encoder: for a format other than JSON */
void vbd_encode_raw(struct vbd_encoder *out, const char *bytes, size_t len);

/** vbd_encode_take - as vbd_encode_end(), for what vbd_encode_raw() has appended; without a NUL */
char *vbd_encode_take(struct vbd_encoder *out, size_t *ret_len) VBD_MUST_CHECK;

/** vbd_encode_join - add the members of another document, whose object alone is open, to the object
 * that is open here; @more is empty then */
void vbd_encode_join(struct vbd_encoder *out, struct vbd_encoder *more);

/** vbd_encode_through - write only the members that @sieve lets pass, from the object that is open
 * now on; NULL: all of them again, and in the same object */
void vbd_encode_through(struct vbd_encoder *out, struct vbd_sieve *sieve);

/** vbd_encode_wants - will a member with this name be written? For a value that is costly to get */
bool vbd_encode_wants(struct vbd_encoder *out, const char *name);

/** vbd_begin_object - begin an object, which vbd_end() closes */
void vbd_begin_object(struct vbd_encoder *out, const char *name);

/** vbd_begin_array - begin an array, which vbd_end() closes */
void vbd_begin_array(struct vbd_encoder *out, const char *name);

/** vbd_end - close the innermost object or array */
void vbd_end(struct vbd_encoder *out);

/** vbd_put_text - put text of any origin: bytes that are not UTF-8 become '?'; NULL gives null */
void vbd_put_text(struct vbd_encoder *out, const char *name, const char *text);

/** vbd_put_text_or_null - put text; "" gives null */
void vbd_put_text_or_null(struct vbd_encoder *out, const char *name, const char *text);

/** vbd_put_utf8 - put bytes that are known to be UTF-8, NULs among them */
void vbd_put_utf8(struct vbd_encoder *out, const char *name, const char *bytes, size_t len);

void vbd_put_bool(struct vbd_encoder *out, const char *name, bool value);
void vbd_put_u64(struct vbd_encoder *out, const char *name, uint64_t value);
void vbd_put_i64(struct vbd_encoder *out, const char *name, int64_t value);
void vbd_put_null(struct vbd_encoder *out, const char *name);

/** vbd_begin_object_if - begin an object if it is @there, else put null; returns @there */
static inline bool vbd_begin_object_if(struct vbd_encoder *out, const char *name, bool there)
{
	if (there)
		vbd_begin_object(out, name);
	else
		vbd_put_null(out, name);
	return there;
}

/** vbd_put_u64_or_null - put @value; null unless @known */
void vbd_put_u64_or_null(struct vbd_encoder *out, const char *name, bool known, uint64_t value);

/** vbd_put_hex - put "0x1a71" with at least @digits digits */
void vbd_put_hex(struct vbd_encoder *out, const char *name, uint64_t value, unsigned int digits);

/** vbd_put_hex_or_null - vbd_put_hex() if @there, else null */
void vbd_put_hex_or_null(
	struct vbd_encoder *out, const char *name, bool there, uint64_t value, unsigned int digits);

/** vbd_put_time - put a time of the monotonic clock as wall-clock time; 0 gives null */
void vbd_put_time(struct vbd_encoder *out, const char *name, uint64_t mono_ns);

/* --- the sieve ------------------------------------------------------------------------------- */

/*
 * Which members of an object are written: some of its own members are kept, and some paths are
 * hidden, whose parts are compared with the names of the members one after the other as they are
 * written.
 */

#define VBD_SIEVE_NAMES_MAX 64
/* The most parts of a path, one more than those of the longest in openapi.yaml. */
#define VBD_SIEVE_DEPTH_MAX 8

struct vbd_sieve_level {
	uint64_t hide;	    /* bits of the hidden paths that lead through this object */
	unsigned int plain; /* open arrays, and objects in them, that have the same members */
};

struct vbd_sieve {
	const char *keep[VBD_SIEVE_NAMES_MAX];
	const char *hide[VBD_SIEVE_NAMES_MAX]; /* "qp.sq_depth"; "*" is any name */
	unsigned int n_keep, n_hide;
	struct vbd_sieve_level levels[VBD_SIEVE_DEPTH_MAX];
	unsigned int at; /* the level of the innermost object */
};

/** vbd_sieve_begin - a sieve at the top of an object, through which everything passes; with
 * vbd_sieve_keep() only the members that are kept do */
void vbd_sieve_begin(struct vbd_sieve *ret_sieve);

/** vbd_sieve_keep - keep a member of the object and all that the member contains; at most
 * VBD_SIEVE_NAMES_MAX. @name: valid as long as the sieve */
void vbd_sieve_keep(struct vbd_sieve *sieve, const char *name);

/** vbd_sieve_hide - hide the member with a path, also where it is kept; at most
 * VBD_SIEVE_NAMES_MAX. @path: valid as long as the sieve */
void vbd_sieve_hide(struct vbd_sieve *sieve, const char *path);

#endif
