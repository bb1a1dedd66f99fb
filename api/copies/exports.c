/* SPDX-License-Identifier: Apache-2.0 */
#include "api/copies/exports.h"

#include "api/connections/connections.h"
#include "api/core/common_json.h"
#include "base/log.h"
#include "daemon/copies/exports.h"

static const char *const access_names[] = {"read", "write"};

/* --- the configuration ----------------------------------------------------------------------- */

struct export_input {
	struct vbd_export_spec spec;
	const char *umask;
	const json_t *allow;
};

static bool is_absolute(const char *path)
{
	return path[0] == '/';
}

static bool is_umask(const char *text)
{
	size_t len = strspn(text, "01234567");

	return text[len] == '\0' && (len == 3 || (len == 4 && text[0] == '0'));
}

#define PATH_RULE \
	.max = VBD_PATH_MAX_BYTES - 1, .check = is_absolute, .check_text = "must begin with /"

static const struct vbd_field export_fields[] = {
	{VBD_FIELD_NAME(struct export_input, spec.name), .required = true},
	{VBD_FIELD(TEXT, "path", struct export_input, spec.path), PATH_RULE, .required = true},
	{VBD_FIELD(ENUM_SET, "access", struct export_input, spec.access), VBD_NAMES(access_names)},
	{VBD_FIELD(TEXT, "secret_file", struct export_input, spec.secret_file), PATH_RULE},
	{VBD_FIELD(ARRAY, "allow", struct export_input, allow), .max = VBD_GATE_ALLOW_MAX},
	{VBD_FIELD(UINT, "max_bytes", struct export_input, spec.max_bytes), .max = INT64_MAX},
	{VBD_FIELD(UINT, "max_files", struct export_input, spec.max_files), .max = INT64_MAX},
	{VBD_FIELD(STRING, "umask", struct export_input, umask), .max = 4, .check = is_umask,
		.check_text = "must be an octal mode as in 0022"},
};

enum vbd_status vbd_export_decode(
	const char *body, struct vbd_export_spec *ret_spec, struct vbd_error *err)
{
	struct export_input input;
	json_t *json = NULL;
	enum vbd_status status = vbd_json_parse(body, strlen(body), &json, err);

	memset(&input, 0, sizeof(input));
	input.spec.access = VBD_EXPORT_READ;
	input.umask = "0022";
	if (status == VBD_OK)
		status = vbd_decode_at(json, VBD_FIELDS(export_fields), "", &input, err);
	if (status == VBD_OK)
		status = vbd_allow_decode(input.allow, &input.spec.gate, err);
	input.spec.umask = (uint32_t)strtoul(input.umask, NULL, 8);
	json_decref(json);
	memcpy(ret_spec, &input.spec, sizeof(*ret_spec));
	return status;
}

void vbd_exports_use_specs(struct vbd_daemon *daemon, const struct vbd_config_specs *specs)
{
	struct vbd_export_spec *exports = calloc(specs->count + 1, sizeof(*exports));
	struct vbd_error err = {0};
	size_t count = 0;

	for (size_t i = 0; exports && i < specs->count; i++) {
		const struct vbd_config_spec *item = &specs->items[i];

		if (strcmp(item->list, VBD_SPEC_EXPORTS) == 0 &&
			vbd_export_decode(item->body, &exports[count], &err) == VBD_OK)
			count++;
	}
	if (!exports || err.status)
		vbd_log(VBD_LOG_ERROR, NULL, "the exports stay as they are: %s",
			err.status ? err.text : "no memory");
	else
		vbd_exports_use(daemon, exports, count);
	free(exports);
}

/* --- the API --------------------------------------------------------------------------------- */

static void encode_export(struct vbd_encoder *out, const void *item)
{
	const struct vbd_export *export = item;
	const struct vbd_export_spec *spec = &export->spec;
	char umask[8];

	(void)snprintf(umask, sizeof(umask), "%04o", (unsigned int)spec->umask);
	vbd_put_object(out, &export->object);
	vbd_put_text(out, "state", vbd_export_state_name(export->state));
	vbd_put_text(out, "path", spec->path);
	vbd_begin_array(out, "access");
	for (size_t i = 0; i < VBD_ARRAY_LEN(access_names); i++) {
		if (spec->access >> i & 1)
			vbd_put_text(out, NULL, access_names[i]);
	}
	vbd_end(out);
	vbd_put_bool(out, "secret", spec->secret_file[0] != '\0');
	vbd_put_allow(out, &spec->gate);
	vbd_put_u64_or_null(out, "max_bytes", spec->max_bytes != 0, spec->max_bytes);
	vbd_put_u64_or_null(out, "max_files", spec->max_files != 0, spec->max_files);
	vbd_put_text(out, "umask", umask);
	vbd_put_error(out, "error", NULL, &export->error, NULL);
	vbd_put_time(out, "created_at", export->object.created_ns);
}

VBD_PAGE_NUMBER(by_state, struct vbd_export, state)

static const struct vbd_page_column export_columns[] = {
	VBD_COLUMN_NAME,
	{"state", VBD_SORTS, .number = by_state},
	VBD_COLUMN_CREATED,
	{.name = NULL},
};

const struct vbd_task_kind vbd_export_task = {
	.kind = VBD_KIND_EXPORT,
	.page.members = vbd_export_members,
	.page.columns = export_columns,
	.page.states = VBD_PAGE_STATES(VBD_EXPORT_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_export,
};
