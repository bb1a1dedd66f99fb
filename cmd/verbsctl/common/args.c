/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/args.h"

#include "cmd/verbsctl/common/json.h"

#include "base/text.h"

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

char *vbd_ctl_word(const char *text, size_t i)
{
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t len = strcspn(text, " ");

		if (i-- == 0)
			return vbd_ctl_format("%.*s", (int)len, text);
		text += len;
	}
	return NULL;
}

bool vbd_ctl_is_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (size_t at = 0; words[at]; at += strspn(words + at, " ,")) {
		size_t one = strcspn(words + at, " ,");

		if (one == len && len && memcmp(words + at, word, len) == 0)
			return true;
		at += one;
	}
	return false;
}

bool vbd_ctl_takes(const struct vbd_ctl_args *args, enum vbd_ctl_opt opt)
{
	for (const enum vbd_ctl_opt *own = args->command->options; *own; own++) {
		if (*own == opt)
			return true;
	}
	return false;
}

/* The operand or option that sets @member itself; NULL if none does. */
static char *find_setter(const struct vbd_ctl_command *command, const char *member)
{
	const char *members;

	for (size_t i = 0; command->members; i++) {
		members = vbd_ctl_word(command->members, i);
		if (!members)
			break;
		if (vbd_ctl_is_word(members, member))
			return vbd_ctl_word(command->usage, i);
	}
	for (const enum vbd_ctl_opt *opt = command->options; *opt; opt++) {
		const struct vbd_ctl_opt_spec *spec = &opt_specs[*opt];
		const char *own = spec->member ? spec->member : "";

		own += *own == '=';
		if (strcmp(own, member) == 0 || strcmp(spec->name, member) == 0)
			return vbd_ctl_format("--%s", spec->name);
	}
	return NULL;
}

char *vbd_ctl_args_setter(const struct vbd_ctl_args *args, const char *name)
{
	char *member = vbd_ctl_format("%s", *name == '/' ? name + 1 : name);
	char *text = NULL;

	for (char *c = member; *c; c++)
		*c = *c == '/' ? '.' : *c;
	while (args->command && *member && !text) {
		char *dot = strrchr(member, '.');

		text = find_setter(args->command, member);
		*(dot ? dot : member) = '\0';
	}
	return text;
}

void vbd_ctl_refuse(const struct vbd_ctl_args *args, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = vbd_ctl_format_va(fmt, ap);
	va_end(ap);
	vbd_ctl_usage("%s%s%s", args->called, *args->called ? ": " : "", text);
}

/* The items of "a,b" as strings; of labels "k=v,l" as members, where one without a value is the
 * server's to refuse. */
static json_t *list_as_json(const char *text, bool labels)
{
	json_t *items = vbd_ctl_must(labels ? json_object() : json_array());

	while (*text) {
		char *item = vbd_ctl_format("%.*s", (int)strcspn(text, ","), text);
		char *value = strchrnul(item, '=');
		int error = 0;

		text += strlen(item);
		text += *text == ',';
		if (labels) {
			const char *of_key = *value ? value + 1 : value;

			*value = '\0';
			error = json_object_set_new(items, item, json_string(of_key));
		} else if (*item) {
			error = json_array_append_new(items, json_string(item));
		}
		if (error)
			vbd_ctl_must(NULL);
	}
	return items;
}

/* A reference for vbd_ctl_json_set(). */
static json_t *option_as_json(const struct vbd_ctl_args *args, enum vbd_ctl_opt opt)
{
	const char *text = args->text[opt];
	uint64_t number = args->number[opt];

	switch (opt_specs[opt].kind) {
	case VBD_CTL_KIND_FLAG:
		return json_true();
	case VBD_CTL_KIND_UINT:
	case VBD_CTL_KIND_SIZE:
	case VBD_CTL_KIND_TIME:
		return json_integer((json_int_t)number);
	case VBD_CTL_KIND_LIST:
	case VBD_CTL_KIND_LABELS:
		return list_as_json(text, opt_specs[opt].kind == VBD_CTL_KIND_LABELS);
	case VBD_CTL_KIND_REF:
		return vbd_ctl_json_ref(opt_specs[opt].member, text);
	case VBD_CTL_KIND_HEX:
		return json_sprintf("0x%llx", (unsigned long long)number);
	case VBD_CTL_KIND_TEXT:
		break;
	}
	return json_string(text);
}

/*
 * Sets the two members "ADDR,PORT" from "HOST:PORT" or "[ADDR]:PORT"; without a port from "HOST" or
 * "ADDR" if @port_needed is false. Returns false if @text is malformed.
 */
static bool set_address(json_t *body, const char *members, bool port_needed, const char *text)
{
	const char *comma = strchr(members, ',');
	bool brackets = *text == '[';
	const char *host = text + brackets;
	size_t len = strcspn(host, brackets ? "]" : ":");
	const char *end = host + len;
	uint64_t port;

	if (brackets && *end++ != ']')
		return false;
	/* In an IPv6 address without brackets the start of a port can't be told. */
	if (!brackets && *end && strchr(end + 1, ':')) {
		len = strlen(text);
		end = text + len;
	}
	if (len == 0 || (*end ? *end != ':' || !vbd_parse_uint(end + 1, &port) : port_needed))
		return false;
	vbd_ctl_json_set(body, vbd_ctl_format("%.*s", (int)(comma - members), members),
		json_stringn(host, len));
	if (*end)
		vbd_ctl_json_set(body, comma + 1, json_integer((json_int_t)port));
	return true;
}

/* Sets the members @member from the operand @text, whose placeholder is @word. */
static void set_operand(const struct vbd_ctl_args *args, json_t *body, const char *word,
	const char *member, const char *text)
{
	bool names = strcmp(word, "[NAME]") == 0 || strcmp(word, "STATE") == 0;
	bool port_needed = strcmp(word, "HOST:PORT") == 0;

	if (!vbd_utf8_valid(text, strlen(text)))
		vbd_ctl_refuse(args, "\"%s\" must be UTF-8", text);
	if (!strchr(member, ','))
		vbd_ctl_json_set(
			body, member, names ? json_string(text) : vbd_ctl_json_ref(member, text));
	else if (!set_address(body, member, port_needed, text))
		vbd_ctl_refuse(args, "\"%s\" is not %s", text,
			port_needed ? "HOST:PORT (or [ADDR]:PORT for IPv6)" : "ADDR or ADDR:PORT");
}

json_t *vbd_ctl_args_body(const struct vbd_ctl_args *args)
{
	const struct vbd_ctl_command *command = args->command;
	const char *value = command->fixed ? strchr(command->fixed, '=') : NULL;
	json_t *body = vbd_ctl_json_new();

	for (const enum vbd_ctl_opt *opt = command->options; *opt; opt++) {
		const char *member = opt_specs[*opt].member;

		if (args->text[*opt] && member && *member != '=')
			vbd_ctl_json_set(body, member, option_as_json(args, *opt));
	}
	for (size_t i = 0; command->members && i < args->operand_count; i++) {
		const char *word = vbd_ctl_word(command->usage, i);
		const char *member = vbd_ctl_word(command->members, i);

		if (member && word && *member != '-')
			set_operand(args, body, word, member, args->operands[i]);
	}
	if (value)
		vbd_ctl_json_set(body,
			vbd_ctl_format("%.*s", (int)(value - command->fixed), command->fixed),
			json_string(value + 1));
	return body;
}

char *vbd_ctl_args_query(const struct vbd_ctl_args *args, char separator)
{
	char *query = vbd_ctl_format("%s", "");
	json_t *body = vbd_ctl_args_body(args);
	const char *name;
	json_t *value;

	json_object_foreach(body, name, value)
	{
		const char *text = json_is_string(value)
					   ? json_string_value(value)
					   : vbd_ctl_keep(json_dumps(value, JSON_ENCODE_ANY), free);

		query = vbd_ctl_format(
			"%s%c%s=%s", query, separator, name, vbd_ctl_text_percent(text));
		separator = '&';
	}
	return query;
}
