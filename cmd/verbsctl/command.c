/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/command.h"

#include "base/attr.h"
#include "base/text.h"

/* Other names of verbs. A noun that has such a verb itself keeps the verb: `buffers get`. */
static const struct {
	const char *word, *verb;
} verb_aliases[] = {{"list", "ls"}, {"get", "show"}, {"delete", "rm"}};

const struct vbd_ctl_command *vbd_ctl_command_row(const char *noun, const char *verb)
{
	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		const struct vbd_ctl_command *command = &vbd_ctl_commands[i];

		if (strcmp(command->noun, noun) == 0 && strcmp(command->verb, verb) == 0)
			return command;
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(verb_aliases); i++) {
		if (strcmp(verb_aliases[i].word, verb) == 0)
			return vbd_ctl_command_row(noun, verb_aliases[i].verb);
	}
	return NULL;
}

static const struct vbd_ctl_alias *alias_of(const char *word)
{
	for (size_t i = 0; i < vbd_ctl_alias_count; i++) {
		if (strcmp(vbd_ctl_aliases[i].word, word) == 0)
			return &vbd_ctl_aliases[i];
	}
	return NULL;
}

const struct vbd_ctl_alias *vbd_ctl_command_alias(const struct vbd_ctl_command *command)
{
	for (size_t i = 0; i < vbd_ctl_alias_count; i++) {
		const struct vbd_ctl_alias *alias = &vbd_ctl_aliases[i];

		if (alias->verb && strcmp(alias->noun, command->noun) == 0 &&
			strcmp(alias->verb, command->verb) == 0)
			return alias;
	}
	return NULL;
}

/* The singular is allowed: "buffer", "transfer-batch". */
static bool is_noun(const char *word, const char *noun)
{
	size_t len = strlen(word);

	return len && strncmp(word, noun, len) == 0 &&
	       (!noun[len] || strcmp(noun + len, "s") == 0 || strcmp(noun + len, "es") == 0);
}

const char *vbd_ctl_command_noun(const char *word)
{
	const struct vbd_ctl_alias *alias = alias_of(word);

	if (alias)
		return alias->verb ? NULL : alias->noun;
	for (size_t i = 0; i < vbd_ctl_noun_count; i++) {
		if (is_noun(word, vbd_ctl_nouns[i].noun))
			return vbd_ctl_nouns[i].noun;
	}
	return NULL;
}

/* The command that a noun alone stands for. */
static const struct vbd_ctl_command *default_of(const char *noun)
{
	const struct vbd_ctl_command *command = vbd_ctl_command_row(noun, "ls");

	if (!command)
		command = vbd_ctl_command_row(noun, "show");
	return command && !*command->usage ? command : NULL;
}

const struct vbd_ctl_command *vbd_ctl_command_find(
	char *const *words, size_t word_count, size_t *ret_used)
{
	const struct vbd_ctl_alias *alias = word_count ? alias_of(words[0]) : NULL;
	const char *noun = word_count ? vbd_ctl_command_noun(words[0]) : NULL;

	*ret_used = 1;
	if (alias && alias->verb)
		return vbd_ctl_command_row(alias->noun, alias->verb);
	if (word_count && !noun)
		return vbd_ctl_command_row(words[0], ""); /* __complete */
	if (noun && (word_count == 1 || words[1][0] == '-'))
		return default_of(noun);
	*ret_used = 2;
	return noun ? vbd_ctl_command_row(noun, words[1]) : NULL;
}

const char *vbd_ctl_command_name_at(const char *noun, size_t i)
{
	if (noun && i < vbd_ctl_command_count)
		return strcmp(vbd_ctl_commands[i].noun, noun) == 0 ? vbd_ctl_commands[i].verb : "";
	if (noun)
		return NULL;
	if (i < vbd_ctl_alias_count)
		return vbd_ctl_aliases[i].word;
	i -= vbd_ctl_alias_count;
	return i < vbd_ctl_noun_count ? vbd_ctl_nouns[i].noun : NULL;
}

const char *vbd_ctl_command_like(const char *noun, const char *word)
{
	struct vbd_similar similar = {.word = word};
	const char *name;

	for (size_t i = 0; (name = vbd_ctl_command_name_at(noun, i)); i++)
		vbd_similar_try(&similar, name);
	return similar.like;
}

char *vbd_ctl_command_operand(const struct vbd_ctl_command *command, size_t i)
{
	size_t min, max;
	const char *word = vbd_ctl_word(command->usage, i);

	vbd_ctl_command_operand_limits(command, &min, &max);
	/* The last operand may be repeated. */
	for (size_t last = i; !word && last > 0 && max == VBD_CTL_OPERANDS_MAX; last--)
		word = vbd_ctl_word(command->usage, last - 1);
	if (!word)
		return NULL;
	word += *word == '[';
	return vbd_ctl_format("%.*s", (int)strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), word);
}

void vbd_ctl_command_operand_limits(
	const struct vbd_ctl_command *command, size_t *ret_min, size_t *ret_max)
{
	const char *word;

	*ret_min = 0;
	*ret_max = 0;
	while ((word = vbd_ctl_word(command->usage, *ret_max))) {
		(*ret_max)++;
		if (*word != '[')
			(*ret_min)++;
		/* No word follows such a one. */
		if (strstr(word, "..."))
			*ret_max = VBD_CTL_OPERANDS_MAX;
	}
}
