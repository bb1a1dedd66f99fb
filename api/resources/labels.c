/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/labels.h"

#include "daemon/core/labels.h"

static enum vbd_status check_label(const char *key, const json_t *value, struct vbd_error *err)
{
	char pointer[VBD_LABEL_BYTES + sizeof("/labels/")];

	(void)snprintf(pointer, sizeof(pointer), "/labels/%s", key);
	if (!vbd_label_key_valid(key))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/labels",
			"the key of a label must start with a letter or '_', go on with letters, "
			"digits, '.', '_', '/' or '-', and have at most 63 characters");
	if (!json_is_string(value))
		return vbd_error_input(
			err, VBD_E_WRONG_TYPE, pointer, "the value of a label must be a string");
	if (json_string_length(value) != strlen(json_string_value(value)) ||
		!vbd_label_value_valid(json_string_value(value)))
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"the value of a label must have at most 63 bytes, no comma, no control "
			"character, and no other character that shows nothing");
	return VBD_OK;
}

enum vbd_status vbd_labels_decode(
	const json_t *json, struct vbd_labels **ret_labels, struct vbd_error *err)
{
	size_t count = json_object_size(json);
	const json_t *value;
	const char *key;

	*ret_labels = NULL;
	if (json && !json_is_object(json) && !json_is_null(json))
		return vbd_error_input(
			err, VBD_E_WRONG_TYPE, "/labels", "/labels must be an object of strings");
	if (count > VBD_LABELS_MAX)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/labels",
			"/labels has %zu labels; an object has at most %d", count, VBD_LABELS_MAX);
	json_object_foreach((json_t *)json, key, value)
	{
		if (check_label(key, value, err) != VBD_OK)
			return err->status;
	}
	if (count == 0)
		return VBD_OK;
	*ret_labels = vbd_labels_create(count);
	if (!*ret_labels)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for labels");
	json_object_foreach((json_t *)json, key, value)
		vbd_labels_add(*ret_labels, key, json_string_value(value));
	return VBD_OK;
}

enum vbd_status vbd_labels_check_patch(const json_t *patch, struct vbd_error *err)
{
	const json_t *value;
	const char *key;

	json_object_foreach((json_t *)patch, key, value)
	{
		if (!json_is_null(value) && check_label(key, value, err) != VBD_OK)
			return err->status;
	}
	return VBD_OK;
}

enum vbd_status vbd_labels_patch(const struct vbd_labels *labels, const json_t *patch,
	struct vbd_labels **ret_labels, struct vbd_error *err)
{
	json_t *all = json_object();
	enum vbd_status status;

	for (size_t i = 0; labels && i < labels->count; i++)
		(void)json_object_set_new(
			all, labels->items[i].key, json_string(labels->items[i].value));
	(void)json_object_update(all, (json_t *)patch);
	for (void *at = json_object_iter(all), *next; at; at = next) {
		next = json_object_iter_next(all, at);
		if (json_is_null(json_object_iter_value(at)))
			(void)json_object_del(all, json_object_iter_key(at));
	}
	status = all ? vbd_labels_decode(all, ret_labels, err)
		     : vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for labels");
	json_decref(all);
	return status;
}
