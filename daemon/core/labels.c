/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/labels.h"

#include "base/text.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789./-";

bool vbd_label_key_valid(const char *key)
{
	size_t len = strlen(key);

	return len > 0 && len < VBD_LABEL_BYTES && strspn(key, letters) > 0 &&
	       strspn(key, others) == len;
}

bool vbd_label_value_valid(const char *value)
{
	size_t len = strlen(value);

	return len < VBD_LABEL_BYTES && !strchr(value, ',') && vbd_utf8_line(value, len);
}

struct vbd_labels *vbd_labels_create(size_t count)
{
	struct vbd_labels *labels = calloc(1, sizeof(*labels) + count * sizeof(labels->items[0]));

	if (labels)
		labels->refs = 1;
	return labels;
}

void vbd_labels_add(struct vbd_labels *labels, const char *key, const char *value)
{
	struct vbd_label *label = &labels->items[labels->count++];

	strncpy(label->key, key, sizeof(label->key) - 1);
	strncpy(label->value, value, sizeof(label->value) - 1);
}

struct vbd_labels *vbd_labels_ref(struct vbd_labels *labels)
{
	if (labels)
		labels->refs++;
	return labels;
}

void vbd_labels_unref(struct vbd_labels *labels)
{
	if (labels && --labels->refs == 0)
		free(labels);
}

/* Parse one label of a selector: @len bytes at @text. */
static bool parse_selector_label(struct vbd_label_selector *selector, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	size_t key_len = equals ? (size_t)(equals - text) : len;
	size_t value_len = equals ? len - key_len - 1 : 0;
	struct vbd_label *label = &selector->wishes[selector->count].label;

	if (selector->count == VBD_LABELS_MAX || key_len >= sizeof(label->key) ||
		value_len >= sizeof(label->value))
		return false;
	memcpy(label->key, text, key_len);
	label->key[key_len] = '\0';
	if (equals)
		memcpy(label->value, equals + 1, value_len);
	label->value[value_len] = '\0';
	selector->wishes[selector->count++].any_value = !equals;
	return vbd_label_key_valid(label->key) && vbd_label_value_valid(label->value);
}

enum vbd_status vbd_label_selector_parse(struct vbd_label_selector *selector, const char *text,
	const char *parameter, struct vbd_error *err)
{
	selector->count = 0;
	for (;;) {
		size_t len = strcspn(text, ",");

		if (!parse_selector_label(selector, text, len))
			return vbd_error_input(err, VBD_E_BAD_VALUE, parameter,
				"%s must be labels such as job=x or job, separated by commas, at "
				"most %d of them",
				parameter, VBD_LABELS_MAX);
		if (!text[len])
			return VBD_OK;
		text += len + 1;
	}
}

static bool has_label(const struct vbd_labels *labels, const struct vbd_label *wish, bool any_value)
{
	for (size_t i = 0; labels && i < labels->count; i++) {
		if (strcmp(labels->items[i].key, wish->key) == 0)
			return any_value || strcmp(labels->items[i].value, wish->value) == 0;
	}
	return false;
}

bool vbd_labels_match(const struct vbd_labels *labels, const struct vbd_label_selector *selector)
{
	for (size_t i = 0; i < selector->count; i++) {
		if (!has_label(labels, &selector->wishes[i].label, selector->wishes[i].any_value))
			return false;
	}
	return true;
}
