/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels: pairs of a key and a value that clients give to objects, and by which they select
 * objects and events. A set of labels never changes; objects and events share it by references.
 *
 * Control thread, but for vbd_labels_match(), which any thread may call; never blocks.
 */
#ifndef VBD_DAEMON_CORE_LABELS_H
#define VBD_DAEMON_CORE_LABELS_H

#include "base/attr.h"
#include "base/error.h"

#define VBD_LABELS_MAX	16
#define VBD_LABEL_BYTES 64 /* of a key, and of a value, each with its NUL */

struct vbd_label {
	char key[VBD_LABEL_BYTES];
	char value[VBD_LABEL_BYTES];
};

struct vbd_labels {
	size_t refs;
	size_t count;
	struct vbd_label items[];
};

/* The labels by which a request selects objects: an object must have all of them. */
struct vbd_label_selector {
	size_t count;
	struct {
		struct vbd_label label;
		bool any_value; /* the key alone is selected */
	} wishes[VBD_LABELS_MAX];
};

/** vbd_label_key_valid - does @key match ^[A-Za-z_][A-Za-z0-9._/-]{0,62}$? */
bool vbd_label_key_valid(const char *key);

/** vbd_label_value_valid - at most 63 bytes, without a comma, and one line: vbd_utf8_line() */
bool vbd_label_value_valid(const char *value);

/** vbd_labels_create - a set with one reference and room for @count labels; NULL without memory */
struct vbd_labels *vbd_labels_create(size_t count);

/** vbd_labels_add - add a label to a set that nothing shares yet; both texts are valid */
void vbd_labels_add(struct vbd_labels *labels, const char *key, const char *value);

/** vbd_labels_ref - take a reference; @labels may be NULL. Returns @labels. */
struct vbd_labels *vbd_labels_ref(struct vbd_labels *labels);

/** vbd_labels_unref - return a reference; @labels may be NULL */
void vbd_labels_unref(struct vbd_labels *labels);

/** vbd_label_selector_parse - read "job=x,team": the label job with the value x, and the label team
 * with any value. VBD_E_BAD_VALUE with @parameter for any other text. */
enum vbd_status vbd_label_selector_parse(struct vbd_label_selector *selector, const char *text,
	const char *parameter, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_labels_match - whether @labels (NULL: none) have all labels of @selector */
bool vbd_labels_match(const struct vbd_labels *labels, const struct vbd_label_selector *selector);

#endif
