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

/* Whether the rows set a member from this option. */
static bool is_given_member(const struct vbd_ctl_args *args, enum vbd_ctl_opt opt)
{
	return args->text[opt] && opt_specs[opt].member && *opt_specs[opt].member != '=';
}

bool vbd_ctl_args_has(const struct vbd_ctl_args *args, enum vbd_ctl_opt opt)
{
	return args->text[opt];
}

const char *vbd_ctl_word_at(const char *text, size_t i, size_t *ret_len)
{
	for (;;) {
		text += strspn(text, " ");
		*ret_len = strcspn(text, " ");
		if (*ret_len == 0)
			return NULL;
		if (i-- == 0)
			return text;
		text += *ret_len;
	}
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

/* The operand or option that sets @member itself; NULL if none does. The caller frees it. */
static char *setter_of(const struct vbd_ctl_command *command, const char *member)
{
	size_t len, word_len;
	const char *list, *word;

	for (size_t i = 0; command->members; i++) {
		char *of_one;
		bool sets;

		list = vbd_ctl_word_at(command->members, i, &len);
		word = vbd_ctl_word_at(command->usage, i, &word_len);
		if (!list || !word)
			break;
		of_one = vbd_ctl_must(strndup(list, len));
		sets = vbd_ctl_is_word(of_one, member);
		free(of_one);
		if (sets)
			return vbd_ctl_must(strndup(word, word_len));
	}
	for (size_t i = 0; i < command->option_count; i++) {
		const struct vbd_ctl_opt_spec *spec = &opt_specs[command->options[i]];
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

		text = setter_of(args->command, member);
		*(dot ? dot : member) = '\0';
	}
	free(member);
	return text;
}

enum vbd_ctl_exit vbd_ctl_refuse(const struct vbd_ctl_args *args, const char *fmt, ...)
{
	enum vbd_ctl_exit exit_status;
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = vbd_ctl_format_va(fmt, ap);
	va_end(ap);
	exit_status = vbd_ctl_usage("%s%s%s", args->called, *args->called ? ": " : "", text);
	free(text);
	return exit_status;
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

/* A label without a value is the server's to refuse. */
static json_t *labels_of(const char *text)
{
	json_t *labels = vbd_ctl_must(json_object());

	while (*text) {
		size_t len = strcspn(text, ",");
		size_t key_len = strcspn(text, "=,");
		char *key = vbd_ctl_must(strndup(text, key_len));
		json_t *value = key_len < len ? json_stringn(text + key_len + 1, len - key_len - 1)
					      : json_string("");

		if (json_object_set_new(labels, key, value) < 0)
			vbd_ctl_must(NULL);
		free(key);
		text += len;
		text += *text == ',';
	}
	return labels;
}

static json_t *value_of(const struct vbd_ctl_args *args, enum vbd_ctl_opt opt)
{
	json_t *value;
	char *hex;

	switch (opt_specs[opt].kind) {
	case VBD_CTL_KIND_FLAG:
		return json_true();
	case VBD_CTL_KIND_UINT:
	case VBD_CTL_KIND_SIZE:
	case VBD_CTL_KIND_TIME:
		return json_integer((json_int_t)args->number[opt]);
	case VBD_CTL_KIND_LIST:
		return list_of(args->text[opt]);
	case VBD_CTL_KIND_LABELS:
		return labels_of(args->text[opt]);
	case VBD_CTL_KIND_REF:
		return vbd_ctl_json_ref(args->text[opt]);
	case VBD_CTL_KIND_HEX:
		hex = vbd_ctl_format("0x%llx", (unsigned long long)args->number[opt]);
		value = json_string(hex);
		free(hex);
		return value;
	case VBD_CTL_KIND_TEXT:
		break;
	}
	return json_string(args->text[opt]);
}

/*
 * Splits "HOST:PORT" or "[ADDR]:PORT"; without a port "HOST" or "ADDR" if @port_needed is false.
 * The caller frees @ret_host. Returns false if @text is malformed.
 */
static bool split_host(
	const char *text, bool port_needed, char **ret_host, bool *ret_has_port, uint64_t *ret_port)
{
	const char *colon = strrchr(text, ':');
	const char *host = text;
	size_t len;

	if (*text == '[') {
		const char *end = strchr(text, ']');

		if (!end || (end[1] && end[1] != ':'))
			return false;
		host = text + 1;
		len = (size_t)(end - host);
		colon = end[1] ? end + 1 : NULL;
	} else if (colon && strchr(text, ':') != colon) {
		/* In an IPv6 address without brackets the start of a port can't be told. */
		len = strlen(text);
		colon = NULL;
	} else {
		len = colon ? (size_t)(colon - text) : strlen(text);
	}
	if (len == 0 || (port_needed && !colon))
		return false;
	if (colon && !vbd_parse_uint(colon + 1, ret_port))
		return false;
	*ret_has_port = colon;
	*ret_host = vbd_ctl_must(strndup(host, len));
	return true;
}

/* Sets the two members "ADDR,PORT" from an address; the port may be missing if the usage puts it in
 * brackets. */
static bool set_address(
	json_t *body, const char *members, size_t len, bool port_needed, const char *text)
{
	size_t addr_len = strcspn(members, ",");
	char *addr_member = vbd_ctl_must(strndup(members, addr_len));
	char *port_member = vbd_ctl_must(strndup(members + addr_len + 1, len - addr_len - 1));
	uint64_t port = 0;
	bool has_port = false;
	char *host = NULL;
	bool good = split_host(text, port_needed, &host, &has_port, &port);

	if (good)
		vbd_ctl_json_set(body, addr_member, vbd_ctl_must(json_string(host)));
	if (good && has_port)
		vbd_ctl_json_set(body, port_member, vbd_ctl_must(json_integer((json_int_t)port)));
	free(host);
	free(port_member);
	free(addr_member);
	return good;
}

/* Sets the members @member of @len bytes from the operand @text, whose placeholder is @word. */
static enum vbd_ctl_exit set_operand(const struct vbd_ctl_args *args, json_t *body,
	const char *word, const char *member, size_t len, const char *text)
{
	bool names = strncmp(word, "[NAME", 5) == 0 || strncmp(word, "STATE", 5) == 0;
	bool port_needed = strncmp(word, "HOST:PORT", 9) == 0;
	char *path;

	if (!vbd_utf8_valid(text, strlen(text)))
		return vbd_ctl_refuse(args, "\"%s\" must be UTF-8", text);
	if (memchr(member, ',', len)) {
		if (set_address(body, member, len, port_needed, text))
			return VBD_CTL_OK;
		return vbd_ctl_refuse(args, "\"%s\" is not %s", text,
			port_needed ? "HOST:PORT (or [ADDR]:PORT for IPv6)" : "ADDR or ADDR:PORT");
	}
	path = vbd_ctl_must(strndup(member, len));
	vbd_ctl_json_set(
		body, path, names ? vbd_ctl_must(json_string(text)) : vbd_ctl_json_ref(text));
	free(path);
	return VBD_CTL_OK;
}

json_t *vbd_ctl_args_body(const struct vbd_ctl_args *args)
{
	const struct vbd_ctl_command *command = args->command;
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;
	json_t *body = vbd_ctl_must(json_object());

	for (size_t i = 0; i < command->option_count; i++) {
		enum vbd_ctl_opt opt = command->options[i];

		if (is_given_member(args, opt))
			vbd_ctl_json_set(
				body, opt_specs[opt].member, vbd_ctl_must(value_of(args, opt)));
	}
	for (size_t i = 0; i < args->operand_count && exit_status == VBD_CTL_OK; i++) {
		size_t len, word_len;
		const char *word = vbd_ctl_word_at(command->usage, i, &word_len);
		const char *member =
			command->members ? vbd_ctl_word_at(command->members, i, &len) : NULL;

		if (member && word && *member != '-')
			exit_status = set_operand(args, body, word, member, len, args->operands[i]);
	}
	if (exit_status == VBD_CTL_OK)
		return body;
	json_decref(body);
	return NULL;
}

void vbd_ctl_args_put_query(const struct vbd_ctl_args *args, FILE *out, char separator)
{
	for (size_t i = 0; i < args->command->option_count; i++) {
		enum vbd_ctl_opt opt = args->command->options[i];
		json_t *value;

		if (!is_given_member(args, opt))
			continue;
		value = vbd_ctl_must(value_of(args, opt));
		fprintf(out, "%c%s=", separator, opt_specs[opt].member);
		if (json_is_string(value))
			vbd_ctl_text_put_escaped(out, json_string_value(value));
		else
			(void)json_dumpf(value, out, JSON_ENCODE_ANY);
		json_decref(value);
		separator = '&';
	}
}
