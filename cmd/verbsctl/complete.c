/* SPDX-License-Identifier: Apache-2.0 */
/*
 * __complete WORD...: the completions of the last WORD, one a line. The completion script of the
 * shell calls it, so that only verbsctl knows commands, options and values. A line ":file" stands
 * for file names.
 */
#include "cmd/verbsctl/command.h"

#include "cmd/verbsctl/common/json.h"

#include <ctype.h>
#include <fcntl.h>
#include <unistd.h>

/* completion_scripts.S */
extern const char vbd_ctl_script_bash[], vbd_ctl_script_zsh[], vbd_ctl_script_fish[];

/* A user waits no longer for a completion. */
#define PATIENCE_S 2

/* The command line up to the cursor. */
struct line {
	struct vbd_ctl *ctl;
	char **words;
	size_t count; /* without the last word */
	const char *last;
	const struct vbd_ctl_command *command;
	const char *noun;	  /* the noun, until its verb comes */
	size_t operands;	  /* number of operands before @last */
	enum vbd_ctl_opt pending; /* the option whose value @last is; NONE for none */
};

/* The shell evaluates the line later, and the server chose these names: offer only names without
 * characters that are special to a shell. */
static bool is_harmless(const char *word)
{
	return *word && *word != '-' &&
	       word[strspn(word, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] == '\0';
}

static void offer_word(const struct line *line, const char *word)
{
	if (strncmp(word, line->last, strlen(line->last)) == 0)
		puts(word);
}

/* The option at index @i of the command's options and the common ones; NONE behind the last. */
static enum vbd_ctl_opt nth_option(const struct line *line, size_t i)
{
	const enum vbd_ctl_opt *opts = line->command ? line->command->options : NULL;

	for (; opts && *opts; opts++) {
		if (i-- == 0)
			return *opts;
	}
	for (opts = vbd_ctl_common_options; *opts && i; opts++)
		i--;
	return *opts;
}

/* The option with this name or letter; NONE if there is none. */
static enum vbd_ctl_opt find_option(const struct line *line, const char *word)
{
	enum vbd_ctl_opt opt;

	for (size_t i = 0; (opt = nth_option(line, i)); i++) {
		const struct vbd_ctl_opt_spec *spec = vbd_ctl_opt_spec(opt);

		if (strncmp(word, "--", 2) == 0 ? strcmp(word + 2, spec->name) == 0
						: word[1] == spec->letter && !word[2])
			break;
	}
	return opt;
}

/* Parses one complete word. */
static void parse_word(struct line *line, size_t i)
{
	char *word = line->words[i];
	size_t used;

	if (line->pending) {
		line->ctl->args.text[line->pending] = word;
		line->pending = VBD_CTL_OPT_NONE;
		return;
	}
	if (word[0] == '-' && word[1]) {
		line->pending = find_option(line, word);
		if (line->pending && vbd_ctl_opt_spec(line->pending)->kind == VBD_CTL_KIND_FLAG)
			line->pending = VBD_CTL_OPT_NONE;
		return;
	}
	if (line->noun) {
		line->command = vbd_ctl_command_row(line->noun, word);
		line->noun = NULL;
	} else if (line->command) {
		line->operands++;
	} else {
		line->noun = vbd_ctl_command_noun(word);
		line->command = vbd_ctl_command_find(&word, 1, &used);
	}
}

/* Offers the verbs of a noun; without one, nouns and short forms. */
static void offer_names(const struct line *line)
{
	const char *name;

	for (size_t i = 0; (name = vbd_ctl_command_name_at(line->noun, i)); i++) {
		if (*name)
			offer_word(line, name);
	}
}

static void offer_options(const struct line *line)
{
	enum vbd_ctl_opt opt;

	for (size_t i = 0; (opt = nth_option(line, i)); i++)
		offer_word(line, vbd_ctl_format("--%s", vbd_ctl_opt_spec(opt)->name));
}

/* Offers the names of the objects at @collection, and their ids. */
static void offer_objects(const struct line *line, const char *collection)
{
	char *path = vbd_ctl_format("%s?limit=100&sort=-id&fields=id,name", collection);
	const json_t *items = vbd_ctl_json_at(vbd_ctl_get_quietly(line->ctl, path), "items");

	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);
		const char *name = vbd_ctl_json_text(item, "name");
		char *id = vbd_ctl_cell_text(vbd_ctl_json_at(item, "id"));

		if (name && is_harmless(name))
			offer_word(line, name);
		if (is_harmless(id))
			offer_word(line, id);
	}
}

/* Offers the values for a placeholder. */
static void offer_values(const struct line *line, const char *placeholder)
{
	if (strcmp(placeholder, "FILE") == 0)
		puts(":file");
	/* The operand of `show` names its kind. */
	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		const struct vbd_ctl_command *command = &vbd_ctl_commands[i];
		const struct vbd_ctl_noun *kind = vbd_ctl_noun_row(command->noun);

		if (kind && kind->kind && strcmp(command->verb, "show") == 0 &&
			strcmp(command->usage, placeholder) == 0)
			offer_objects(line, kind->collection);
	}
	while (strchr(placeholder, '|') || islower((unsigned char)*placeholder)) {
		size_t len = strcspn(placeholder, "|");

		offer_word(line, vbd_ctl_format("%.*s", (int)len, placeholder));
		placeholder += len;
		if (!*placeholder)
			break;
		placeholder++;
	}
}

static void offer_operands(const struct line *line)
{
	char *operand = vbd_ctl_command_operand(line->command, line->operands);

	if (operand)
		offer_values(line, operand);
}

/* Error messages would break into the line that is being typed. */
static void discard_stderr(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)dup2(fd, STDERR_FILENO);
	(void)close(fd);
}

void vbd_ctl_complete(struct vbd_ctl *ctl)
{
	struct line line = {
		.ctl = ctl,
		.words = ctl->args.operands,
		.count = ctl->args.operand_count - 1,
		.last = ctl->args.operands[ctl->args.operand_count - 1],
	};

	discard_stderr();
	for (size_t i = 0; i < line.count; i++)
		parse_word(&line, i);
	vbd_ctl_open(ctl);
	ctl->http.patience_s = PATIENCE_S;
	if (line.pending)
		offer_values(&line, vbd_ctl_opt_spec(line.pending)->placeholder);
	else if (*line.last == '-')
		offer_options(&line);
	else if (line.command && !line.noun)
		offer_operands(&line);
	else
		offer_names(&line);
}

void vbd_ctl_completion(const char *shell)
{
	const char *script = vbd_ctl_script_bash;

	if (strcmp(shell, "bash") != 0)
		script = strcmp(shell, "zsh") == 0 ? vbd_ctl_script_zsh : vbd_ctl_script_fish;
	fputs(script, stdout);
}
