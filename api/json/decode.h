/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict decoding of JSON into structs, by tables. Unknown members, wrong types and values out of
 * range are refused; each fault has the member's JSON pointer and the allowed values.
 *
 * Any thread; allocates only for documents.
 */
#ifndef VBD_API_JSON_DECODE_H
#define VBD_API_JSON_DECODE_H

#include "api/json/parse.h"

/* The JSON type of a member, and the C type of its field in the struct. */
enum vbd_field_type {
	VBD_FIELD_STRING,   /* const char *, into the document */
	VBD_FIELD_TEXT,	    /* char[`size`], a copy */
	VBD_FIELD_UINT,	    /* unsigned of `size` bytes */
	VBD_FIELD_BOOL,	    /* bool */
	VBD_FIELD_ENUM,	    /* unsigned of `size` bytes: index in `names` */
	VBD_FIELD_ENUM_SET, /* unsigned of `size` bytes: bit mask (1 << index), from an array */
	VBD_FIELD_HEX,	    /* uint64_t, from "0x1f" */
	VBD_FIELD_REF,	    /* struct vbd_json_ref */
	VBD_FIELD_FOUND,    /* a pointer to the object of `kind`: vbd_members_find() sets it */
	VBD_FIELD_DEVICE,   /* char[`size`], the name of a device: vbd_members_find() sets it */
	VBD_FIELD_OBJECT,   /* a struct with its own table */
	VBD_FIELD_ARRAY,    /* const json_t *, into the document: an array; items are not checked */
	VBD_FIELD_OPEN,	    /* as ARRAY, for an object that may have any members */
};

/* Reference to an object of the daemon, by id or name. */
struct vbd_json_ref {
	uint64_t id;	  /* counts before the name, except of a device; 0: none */
	const char *name; /* into the document; NULL: none */
};

struct vbd_field {
	const char *name;
	size_t offset;
	size_t size;
	/* Allowed range. UINT, HEX (max only): value; STRING, TEXT: characters; ARRAY: items. */
	uint64_t min;
	uint64_t max;
	/* ENUM, ENUM_SET: the allowed names; NULL entries are skipped. */
	const char *const *names;
	size_t n_names;
	/* STRING, TEXT: a further condition, and the error text for it ("must start with …"). */
	bool (*check)(const char *text);
	const char *check_text;
	/* OBJECT: the table of its members. */
	const struct vbd_field *fields;
	size_t n_fields;
	unsigned int kind; /* FOUND: enum vbd_object_kind */
	/* Offset of a bool in the struct that is set if the member is present. */
	size_t seen_offset;
	bool has_seen;
	bool required;
	bool raw;      /* STRING, TEXT: may have characters that vbd_utf8_line() refuses */
	bool nullable; /* UINT: null is allowed and stored as 0 */
	enum vbd_field_type type;
};

/* The beginning of a row: the JSON member @name_ is stored in @member_ of @struct_. */
#define VBD_FIELD(kind_, name_, struct_, member_) \
	.name = (name_), .type = VBD_FIELD_##kind_, VBD_FIELD_AT(struct_, member_)
#define VBD_FIELD_OF(kind_, name_, struct_, member_) \
	VBD_FIELD(FOUND, name_, struct_, member_), .kind = VBD_KIND_##kind_
#define VBD_FIELD_AT(type_, member) \
	.offset = offsetof(type_, member), .size = sizeof(((const type_ *)NULL)->member)
/* The names of a row for an enum. */
#define VBD_NAMES(names_)	    .names = (names_), .n_names = VBD_ARRAY_LEN(names_)
#define VBD_FIELD_SEEN(type_, flag) .has_seen = true, .seen_offset = offsetof(type_, flag)

/* A table of rows and their number, for the functions below. */
#define VBD_FIELDS(fields_) fields_, VBD_ARRAY_LEN(fields_)

/**
 * vbd_decode_all - fill a struct from a JSON object, and tell all faults
 * @json:    NULL counts as {}
 * @pointer: of the value @json in its document: "" for the whole document, "/sges/3"
 * @target:  holds the defaults; the field of an absent member keeps its value
 * @faults:  replaced
 * @err:     the first fault
 *
 * On an error the struct may be partly filled. Strings point into @json.
 */
enum vbd_status vbd_decode_all(const json_t *json, const char *pointer,
	const struct vbd_field *fields, size_t n_fields, void *target, struct vbd_faults *faults,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_decode_at - as vbd_decode_all(), and tell the first fault only */
enum vbd_status vbd_decode_at(const json_t *json, const struct vbd_field *fields, size_t n_fields,
	const char *pointer, void *target, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_given - true if the object @json has the member, and not as null, which stands for an absent
 * one; @json: NULL counts as {} */
bool vbd_given(const json_t *json, const char *name);

/* The rule of vbd_name_valid(), for error texts. */
#define VBD_NAME_RULE \
	"must start with a letter or '_', and go on with letters, digits, '.', '_' or '-'"

/* The row for the name of an object, which is copied into @member_, a char[VBD_NAME_BYTES]. */
#define VBD_FIELD_NAME(struct_, member_)                                               \
	VBD_FIELD(TEXT, "name", struct_, member_), .max = 63, .check = vbd_name_valid, \
						   .check_text = VBD_NAME_RULE

/** vbd_json_ref_of - returns the reference that a value is, which the decoder has let pass */
struct vbd_json_ref vbd_json_ref_of(const json_t *value);

/** vbd_ref_text - a reference as text, as daemon/ expects it; returns @buf or the name itself */
#define VBD_REF_TEXT_BYTES 24
const char *vbd_ref_text(const struct vbd_json_ref *ref, char buf[VBD_REF_TEXT_BYTES]);

/** vbd_set_pointer - set the JSON pointer of an error of daemon/, unless the error has one */
void vbd_set_pointer(struct vbd_error *err, const char *pointer);

/** vbd_copy_text - copy @text, whose length the decoder has checked; NULL copies "" */
void vbd_copy_text(char *to, size_t to_bytes, const char *text);

#endif
