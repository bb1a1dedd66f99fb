/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/problem.h"

#include <ctype.h>

#define WORD_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./{}-"

static const struct vbd_ctl_args *spoken;
static const struct vbd_ctl_command *all_commands;
static size_t all_count;

void vbd_ctl_speak_init(const struct vbd_ctl_args *args, const struct vbd_ctl_command *commands,
	size_t command_count)
{
	spoken = args;
	all_commands = commands;
	all_count = command_count;
}

const char *vbd_ctl_speak_called(void)
{
	return spoken ? spoken->called : "";
}

/* --- members --------------------------------------------------------------------------------- */

/* "/qp/sq_depth" as "qp.sq_depth", the form of the rows. The caller frees it. */
static char *member_of(const char *name)
{
	char *member = vbd_ctl_format("%s", *name == '/' ? name + 1 : name);

	for (char *c = member; *c; c++)
		*c = *c == '/' ? '.' : *c;
	return member;
}

static char *option_text(enum vbd_ctl_opt opt)
{
	return vbd_ctl_format("--%s", vbd_ctl_opt_spec(opt)->name);
}

/* Whether the option sets @member, or an object that @member is inside of. */
static bool opt_sets(enum vbd_ctl_opt opt, const char *member, bool inside)
{
	const char *own = vbd_ctl_opt_member(opt);
	size_t len = own ? strlen(own) : 0;

	return own && strncmp(member, own, len) == 0 &&
	       (inside ? member[len] == '.' : member[len] == '\0');
}

/* The operand that sets @member; NULL if none does. The caller frees it. */
static char *operand_for(const struct vbd_ctl_command *command, const char *member)
{
	size_t len, word_len;
	const char *list, *word;

	for (size_t i = 0; command->members; i++) {
		list = vbd_ctl_word_at(command->members, i, &len);
		word = vbd_ctl_word_at(command->usage, i, &word_len);
		if (!list || !word)
			return NULL;
		while (len) {
			size_t one = strcspn(list, ", ");

			if (strlen(member) == one && strncmp(list, member, one) == 0)
				return vbd_ctl_must(strndup(word, word_len));
			one += one < len;
			list += one;
			len -= one;
		}
	}
	return NULL;
}

char *vbd_ctl_speak_member(const char *name)
{
	const struct vbd_ctl_command *command = spoken ? spoken->command : NULL;
	char *member = member_of(name);
	char *text = command ? operand_for(command, member) : NULL;

	/* An option of the member itself is better than one of an object around the member. */
	for (int inside = 0; inside < 2 && command; inside++) {
		for (size_t i = 0; i < command->option_count && !text; i++) {
			if (opt_sets(command->options[i], member, inside))
				text = option_text(command->options[i]);
		}
	}
	for (size_t i = 0; command && i < command->option_count && !text; i++) {
		if (strcmp(vbd_ctl_opt_spec(command->options[i])->name, name) == 0)
			text = option_text(command->options[i]);
	}
	free(member);
	return text;
}

/* The option of any command that sets a member of this name, wherever the member stands. */
static char *option_anywhere(const char *name)
{
	for (enum vbd_ctl_opt opt = 0; opt < VBD_CTL_OPT_END; opt++) {
		const char *own = vbd_ctl_opt_member(opt);
		const char *dot = own ? strrchr(own, '.') : NULL;

		if (own && (strcmp(own, name) == 0 || (dot && strcmp(dot + 1, name) == 0)))
			return option_text(opt);
	}
	return NULL;
}

/* --- paths ----------------------------------------------------------------------------------- */

static const struct vbd_ctl_command *row_of(const char *noun, const char *verb)
{
	for (size_t i = 0; i < all_count; i++) {
		if (strcmp(all_commands[i].noun, noun) == 0 &&
			strcmp(all_commands[i].verb, verb) == 0)
			return &all_commands[i];
	}
	return NULL;
}

/* "ud_peers" as "ud-peers". The caller frees it. */
static char *dashed(const char *text, size_t len)
{
	char *copy = vbd_ctl_must(strndup(text, len));

	for (char *c = copy; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return copy;
}

/* The verb for a method on a collection, or on one object. */
static const char *verb_of(const char *method, bool one)
{
	static const struct {
		const char *method, *of_all, *of_one;
	} rows[] = {{"", "ls", "show"}, {"GET", "ls", "show"}, {"POST", "create", "show"},
		{"PATCH", "set", "set"}, {"DELETE", "rm", "rm"}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].method, method) == 0)
			return one ? rows[i].of_one : rows[i].of_all;
	}
	return "";
}

/* "verbsctl probes create" for POST and "probes", the path without "/v1/"; NULL if no command fits.
 * The caller frees it. */
static char *command_for(const char *method, const char *path)
{
	size_t noun_len = strcspn(path, "/");
	const char *ref = path[noun_len] ? path + noun_len + 1 : "";
	size_t ref_len = strcspn(ref, "/");
	const char *sub = ref[ref_len] ? ref + ref_len + 1 : NULL;
	char *noun = dashed(path, noun_len);
	char *verb = sub ? dashed(sub, strlen(sub)) : dashed(verb_of(method, *ref), 8);
	char *text = NULL;

	if (row_of(noun, verb) && *ref == '{')
		text = vbd_ctl_format("verbsctl %s %s REF", noun, verb);
	else if (row_of(noun, verb) && *ref)
		text = vbd_ctl_format("verbsctl %s %s %.*s", noun, verb, (int)ref_len, ref);
	else if (row_of(noun, verb) && strcmp(verb, "ls") == 0)
		text = vbd_ctl_format("verbsctl %s", noun);
	else if (row_of(noun, verb))
		text = vbd_ctl_format("verbsctl %s %s", noun, verb);
	free(verb);
	free(noun);
	return text;
}

/* The command for a path that begins with "/v1"; NULL if none fits. */
static char *path_for(const char *method, const char *path)
{
	if (strcmp(path, "/v1") == 0)
		return vbd_ctl_format("verbsctl --help");
	if (strcmp(path, "/v1/openapi.yaml") == 0)
		return vbd_ctl_format(
			"verbsctl %s%s--help", spoken->called, *spoken->called ? " " : "");
	return strncmp(path, "/v1/", 4) == 0 ? command_for(method, path + 4) : NULL;
}

/* --- texts ----------------------------------------------------------------------------------- */

/* The length of an HTTP method and a space at the start of @text; 0 if there is none. */
static size_t method_at(const char *text, char *ret_method, size_t size)
{
	static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

	*ret_method = '\0';
	for (size_t i = 0; i < VBD_ARRAY_LEN(methods); i++) {
		size_t len = strlen(methods[i]);

		if (strncmp(text, methods[i], len) == 0 && strncmp(text + len, " /v1", 4) == 0) {
			(void)snprintf(ret_method, size, "%s", methods[i]);
			return len + 1;
		}
	}
	return 0;
}

/* The words for @word, or NULL to leave it. Sets @ret_is_command if they need backticks. */
static char *words_for(
	const char *method, const char *word, bool quoted, bool query, bool *ret_is_command)
{
	bool name = islower((unsigned char)*word) && (quoted || strchr(word, '_'));

	*ret_is_command = false;
	if (strncmp(word, "/v1", 3) == 0 && (word[3] == '/' || !word[3])) {
		*ret_is_command = true;
		return query ? NULL : path_for(method, word);
	}
	if (*method)
		return NULL;
	if (*word == '/')
		return vbd_ctl_speak_member(word);
	if (!name)
		return NULL;
	return option_anywhere(word);
}

/* Writes the word at @text, or its replacement. Returns the end of the word. */
static const char *speak_word(FILE *out, const char *text, bool in_ticks)
{
	char method[8];
	size_t skip = method_at(text, method, sizeof(method));
	size_t len = skip + strspn(text + skip, WORD_CHARS);
	bool is_command = false;
	char *word, *said;

	/* A full stop ends the sentence. */
	while (len > skip && text[len - 1] == '.')
		len--;
	word = vbd_ctl_must(strndup(text + skip, len - skip));
	said = words_for(method, word, in_ticks && text[-1] == '`' && text[len] == '`',
		text[len] == '?', &is_command);
	if (said && is_command && !in_ticks)
		fprintf(out, "`%s`", said);
	else if (said)
		fputs(said, out);
	else
		fwrite(text, 1, len, out);
	free(said);
	free(word);
	return text + len;
}

char *vbd_ctl_speak(const char *text)
{
	char *said = NULL;
	size_t said_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&said, &said_len));
	bool in_ticks = false;

	while (*text && spoken) {
		const char *end = text;

		if (strchr(WORD_CHARS, *text))
			end = speak_word(out, text, in_ticks);
		in_ticks ^= *text == '`';
		if (end == text)
			fputc(*end++, out);
		text = end;
	}
	fputs(text, out);
	(void)fclose(out);
	return vbd_ctl_must(said);
}
