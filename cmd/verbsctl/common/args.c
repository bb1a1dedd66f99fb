/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/args.h"

#include "cmd/verbsctl/common/json.h"

#include "base/quantity.h"

#include <string.h>

static const struct vbd_ctl_opt_spec opt_specs[VBD_CTL_OPT_END] = {
#define VBD_CTL_OPT_SPEC(sym, name, letter, kind, placeholder, member, help) \
	[VBD_CTL_OPT_##sym] = {name, letter, VBD_CTL_KIND_##kind, placeholder, member, help},
	VBD_CTL_OPT_MAP(VBD_CTL_OPT_SPEC)
#undef VBD_CTL_OPT_SPEC
};

const struct vbd_ctl_opt_spec *vbd_ctl_opt_spec(enum vbd_ctl_opt opt)
{
	return &opt_specs[opt];
}

bool vbd_ctl_args_has(const struct vbd_ctl_args *args, enum vbd_ctl_opt opt)
{
	return args->text[opt];
}

static json_t *list_of(const char *text)
{
	json_t *list = vbd_ctl_must(json_array());

	while (*text) {
		size_t len = strcspn(text, ",");

		if (len && json_array_append_new(list, json_stringn(text, len)) < 0)
			vbd_ctl_must(NULL);
		text += len;
		text += *text == ',';
	}
	return list;
}

static json_t *value_of(const struct vbd_ctl_args *args, enum vbd_ctl_opt opt)
{
	uint64_t id;

	switch (opt_specs[opt].kind) {
	case VBD_CTL_KIND_FLAG:
		return json_true();
	case VBD_CTL_KIND_UINT:
	case VBD_CTL_KIND_SIZE:
	case VBD_CTL_KIND_TIME:
	case VBD_CTL_KIND_EVERY:
		return json_integer((json_int_t)args->number[opt]);
	case VBD_CTL_KIND_LIST:
		return list_of(args->text[opt]);
	case VBD_CTL_KIND_REF:
		if (vbd_parse_uint(args->text[opt], &id))
			return json_integer((json_int_t)id);
		return json_string(args->text[opt]);
	case VBD_CTL_KIND_TEXT:
	case VBD_CTL_KIND_HEX:
		break;
	}
	return json_string(args->text[opt]);
}

json_t *vbd_ctl_args_body(const struct vbd_ctl_args *args)
{
	json_t *body = vbd_ctl_must(json_object());

	for (size_t i = 0; i < args->command->option_count; i++) {
		enum vbd_ctl_opt opt = args->command->options[i];

		if (args->text[opt] && opt_specs[opt].member)
			vbd_ctl_json_set(
				body, opt_specs[opt].member, vbd_ctl_must(value_of(args, opt)));
	}
	return body;
}

void vbd_ctl_args_put_query(const struct vbd_ctl_args *args, FILE *out, char separator)
{
	for (size_t i = 0; i < args->command->option_count; i++) {
		enum vbd_ctl_opt opt = args->command->options[i];
		json_t *value;

		if (!args->text[opt] || !opt_specs[opt].member)
			continue;
		value = vbd_ctl_must(value_of(args, opt));
		fprintf(out, "%c%s=", separator, opt_specs[opt].member);
		if (json_is_integer(value))
			fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		else
			vbd_ctl_text_put_escaped(out, args->text[opt]);
		json_decref(value);
		separator = '&';
	}
}
