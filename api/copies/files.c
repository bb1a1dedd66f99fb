/* SPDX-License-Identifier: Apache-2.0 */
/* The files of an export, and names of files in JSON. */
#include "api/copies/exports.h"
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "base/clock.h"
#include "base/text.h"
#include "daemon/copies/exports.h"

#include <fcntl.h>
#include <unistd.h>

/* --- names ----------------------------------------------------------------------------------- */

void vbd_put_file_name(
	struct vbd_encoder *out, const char *member, const void *bytes, size_t len_bytes)
{
	char text[3 * VBD_COPY_PATH_BYTES + 1];
	const uint8_t *name = bytes;
	size_t len = 0, used;

	for (size_t at = 0; at < len_bytes && len + 4 < sizeof(text); at += used) {
		uint32_t code;

		used = vbd_utf8_char(&name[at], len_bytes - at, &code);
		if (used && name[at] != '%' && vbd_utf8_line(&name[at], used)) {
			memcpy(text + len, &name[at], used);
			len += used;
		} else {
			used = 1;
			len += (size_t)snprintf(text + len, 4, "%%%02X", name[at]);
		}
	}
	vbd_put_utf8(out, member, text, len);
}

enum vbd_status vbd_file_name_decode(const char *text, const char *pointer, char *ret_name,
	size_t name_bytes, struct vbd_error *err)
{
	size_t len = 0;

	for (const char *at = text; *at; at++) {
		char digits[3] = {0};

		if (len + 1 == name_bytes)
			return vbd_error_input(err, VBD_E_TOO_LONG, pointer,
				"%s has more than %zu bytes", pointer, name_bytes - 1);
		ret_name[len++] = *at;
		if (*at != '%')
			continue;
		memcpy(digits, at + 1, strnlen(at + 1, 2));
		ret_name[len - 1] = (char)strtoul(digits, NULL, 16);
		if (strspn(digits, "0123456789abcdefABCDEF") != 2 || !ret_name[len - 1])
			return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
				"%s has a %% without the two hex digits of a byte; the character "
				"itself is %%25",
				pointer);
		at += 2;
	}
	ret_name[len] = '\0';
	return VBD_OK;
}

/* --- the list -------------------------------------------------------------------------------- */

struct listing {
	struct vbd_request *req;   /* NULL: its client has left */
	struct vbd_copy_root root; /* with a descriptor of its own */
	char path[VBD_COPY_PATH_BYTES + 1];
	char after[sizeof(((struct vbd_copy_listed *)NULL)->name)];
	uint64_t limit;
	uint32_t count;
	bool more;
	enum vbd_copy_fault fault;
	struct vbd_copy_listed items[];
};

/* The path is that of a file, which is the only one in its list. */
static void list_one(struct listing *listing)
{
	struct vbd_copy_listed *listed = &listing->items[0];
	struct vbd_copy_item item = {.fault = VBD_COPY_FAULT_OK};
	struct vbd_copy_walk *walk;

	listing->fault = vbd_copy_walk_begin(&listing->root, &walk);
	if (listing->fault == VBD_COPY_FAULT_OK && vbd_copy_walk_next(walk, &item, 1)) {
		listing->fault = item.fault;
		(void)snprintf(listed->name, sizeof(listed->name), "%s",
			item.entry.path ? (const char *)item.entry.path : "");
		listed->entry = item.entry;
		listing->count =
			item.fault == VBD_COPY_FAULT_OK && strcmp(listed->name, listing->after) > 0;
		vbd_copy_items_fini(&item, 1);
	}
	vbd_copy_walk_end(walk);
}

/* Pool thread. */
static void list_files(void *arg)
{
	struct listing *listing = arg;

	listing->count = vbd_copy_list(&listing->root, listing->after, listing->items,
		(uint32_t)listing->limit, &listing->more, &listing->fault);
	if (listing->fault == VBD_COPY_FAULT_NOT_DIRECTORY)
		list_one(listing);
}

static void free_listing(struct listing *listing)
{
	if (listing && listing->root.dir_fd >= 0)
		(void)close(listing->root.dir_fd);
	free(listing);
}

static void reply_fault(struct vbd_request *req, const struct listing *listing)
{
	static const enum vbd_status statuses[VBD_COPY_FAULT_COUNT] = {
		[VBD_COPY_FAULT_NOT_FOUND] = VBD_E_NOT_FOUND,
		[VBD_COPY_FAULT_PERMISSION] = VBD_E_PERMISSION_DENIED,
		[VBD_COPY_FAULT_OUTSIDE] = VBD_E_BAD_VALUE,
		[VBD_COPY_FAULT_NOT_REGULAR] = VBD_E_BAD_VALUE,
		[VBD_COPY_FAULT_NOT_DIRECTORY] = VBD_E_NOT_FOUND,
		[VBD_COPY_FAULT_NAME_TOO_LONG] = VBD_E_BAD_VALUE,
		[VBD_COPY_FAULT_NO_RESOURCES] = VBD_E_NO_MEMORY,
	};
	enum vbd_status status = statuses[listing->fault];
	struct vbd_error err = {0};

	(void)vbd_error_input(&err, status ? status : VBD_E_INTERNAL, "path", "%.100s: %s",
		vbd_uri_param(&req->uri, "path") ? vbd_uri_param(&req->uri, "path") : ".",
		vbd_copy_fault_text(listing->fault));
	vbd_reply_problem(req, &err);
}

static void put_listed(struct vbd_encoder *out, const struct vbd_copy_listed *listed)
{
	const struct vbd_copy_entry *entry = &listed->entry;
	bool is_file = !listed->other && entry->type == VBD_COPY_FILE;
	char time[VBD_TIME_TEXT_BYTES] = "", mode[8];

	(void)snprintf(mode, sizeof(mode), "%04o", (unsigned int)entry->mode & 07777);
	if (entry->mtime_ns > 0)
		(void)vbd_clock_format_wall((uint64_t)entry->mtime_ns, time);
	vbd_begin_object(out, NULL);
	vbd_put_file_name(out, "name", listed->name, strlen(listed->name));
	vbd_put_text(out, "type", listed->other ? "other" : is_file ? "file" : "directory");
	vbd_put_u64_or_null(out, "size_bytes", is_file, entry->size_bytes);
	vbd_put_text(out, "mode", mode);
	vbd_put_text_or_null(out, "modified_at", time);
	vbd_end(out);
}

static void reply_listing(struct vbd_request *req, const struct listing *listing)
{
	const char *last =
		listing->more && listing->count ? listing->items[listing->count - 1].name : NULL;
	struct vbd_encoder out = vbd_encode_begin();

	if (last)
		vbd_put_file_name(&out, "next", last, strlen(last));
	else
		vbd_put_null(&out, "next");
	vbd_begin_array(&out, "items");
	for (uint32_t i = 0; i < listing->count; i++)
		put_listed(&out, &listing->items[i]);
	vbd_end(&out);
	vbd_reply_json(req, 200, &out);
}

static void on_listed(void *arg)
{
	struct listing *listing = arg;

	if (listing->req && listing->fault == VBD_COPY_FAULT_OK)
		reply_listing(listing->req, listing);
	else if (listing->req)
		reply_fault(listing->req, listing);
	free_listing(listing);
}

static void on_client_gone(struct vbd_request *req, void *arg)
{
	struct listing *listing = arg;

	(void)req;
	listing->req = NULL;
}

static enum vbd_status parse_names(
	const struct vbd_request *req, struct listing *listing, struct vbd_error *err)
{
	const char *path = "", *after = "";
	enum vbd_status status = vbd_query_text(req, "path", 3 * VBD_COPY_PATH_BYTES, &path, err);

	if (status == VBD_OK)
		status = vbd_query_text(req, "after", 3 * sizeof(listing->after), &after, err);
	if (status == VBD_OK)
		status = vbd_file_name_decode(
			path, "path", listing->path, sizeof(listing->path), err);
	if (status == VBD_OK)
		status = vbd_file_name_decode(
			after, "after", listing->after, sizeof(listing->after), err);
	return status;
}

/* The pool thread has a descriptor of its own: a reload may close that of the export. */
static enum vbd_status take_root(
	const struct vbd_export *export, struct listing *listing, struct vbd_error *err)
{
	if (export->state != VBD_EXPORT_READY)
		return vbd_error_set(err, VBD_E_WRONG_STATE, "the export %s is %s%s%.160s",
			export->spec.name, vbd_export_state_name(export->state),
			export->error.status ? ": " : "", export->error.text);
	listing->root = vbd_export_root(export, listing->path);
	listing->root.max_bytes = UINT64_MAX;
	listing->root.dir_fd = fcntl(export->dir_fd, F_DUPFD_CLOEXEC, 0);
	return listing->root.dir_fd >= 0 ? VBD_OK
					 : vbd_error_errno(err, VBD_OK, "fcntl", errno,
						   "the export %s", export->spec.name);
}

void vbd_list_files(struct vbd_request *req)
{
	struct vbd_export *export = vbd_task_find(req, &vbd_export_task);
	struct listing *listing = NULL;
	uint64_t limit = 100;

	if (!export || vbd_query_u64(req, "limit", 1, 1000, &limit, &req->err) != VBD_OK)
		return;
	listing = calloc(1, sizeof(*listing) + limit * sizeof(listing->items[0]));
	if (!listing) {
		(void)vbd_error_set(&req->err, VBD_E_NO_MEMORY, "no memory for the list");
		return;
	}
	listing->root.dir_fd = -1;
	listing->limit = limit;
	listing->req = req;
	if (parse_names(req, listing, &req->err) == VBD_OK &&
		take_root(export, listing, &req->err) == VBD_OK &&
		vbd_request_park(req, 0, NULL, on_client_gone, listing, &req->err) == VBD_OK &&
		vbd_loop_work(vbd_request_daemon(req)->loop, VBD_WORK_FILES, req->caller,
			list_files, on_listed, listing, &req->err) == VBD_OK)
		return;
	free_listing(listing);
}
