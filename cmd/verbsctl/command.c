/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/command.h"

#include "base/attr.h"
#include "base/text.h"

#include <getopt.h>

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

/* The singular is allowed: "buffer", "transfer-batch". */
static bool is_noun(const char *word, const char *noun)
{
	size_t len = strlen(word);

	return len && strncmp(word, noun, len) == 0 &&
	       (!noun[len] || strcmp(noun + len, "s") == 0 || strcmp(noun + len, "es") == 0);
}

/* The command of a short form; NULL if @word is none. */
static const struct vbd_ctl_command *find_short(const char *word)
{
	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		const char *alias = vbd_ctl_commands[i].alias;

		if (alias && strcmp(alias, word) == 0)
			return &vbd_ctl_commands[i];
	}
	return NULL;
}

const char *vbd_ctl_command_noun(const char *word)
{
	if (find_short(word))
		return NULL;
	for (size_t i = 0; i < vbd_ctl_noun_count; i++) {
		const struct vbd_ctl_noun *noun = &vbd_ctl_nouns[i];

		if (is_noun(word, noun->noun) || (noun->alias && strcmp(word, noun->alias) == 0))
			return noun->noun;
	}
	return NULL;
}

/* The command that a noun alone stands for. */
static const struct vbd_ctl_command *default_command(const char *noun)
{
	const struct vbd_ctl_command *command = vbd_ctl_command_row(noun, "ls");

	if (!command)
		command = vbd_ctl_command_row(noun, "show");
	return command && !*command->usage ? command : NULL;
}

const struct vbd_ctl_command *vbd_ctl_command_find(
	char *const *words, size_t word_count, size_t *ret_used)
{
	const struct vbd_ctl_command *command = word_count ? find_short(words[0]) : NULL;
	const char *noun = word_count ? vbd_ctl_command_noun(words[0]) : NULL;

	*ret_used = 1;
	if (command)
		return command;
	if (word_count && !noun)
		return vbd_ctl_command_row(words[0], ""); /* __complete */
	if (noun && (word_count == 1 || words[1][0] == '-'))
		return default_command(noun);
	*ret_used = 2;
	return noun ? vbd_ctl_command_row(noun, words[1]) : NULL;
}

const char *vbd_ctl_command_name_at(const char *noun, size_t i)
{
	const char *name = NULL;

	if (i < vbd_ctl_command_count && !noun)
		name = vbd_ctl_commands[i].alias;
	else if (i < vbd_ctl_command_count && strcmp(vbd_ctl_commands[i].noun, noun) == 0)
		name = vbd_ctl_commands[i].verb;
	else if (i >= vbd_ctl_command_count + (noun ? 0 : 2 * vbd_ctl_noun_count))
		return NULL;
	i -= vbd_ctl_command_count;
	if (i < 2 * vbd_ctl_noun_count)
		name = i % 2 ? vbd_ctl_nouns[i / 2].alias : vbd_ctl_nouns[i / 2].noun;
	return name ? name : "";
}

/* The least and the greatest number of operands. */
static void get_operand_limits(
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

char *vbd_ctl_command_operand(const struct vbd_ctl_command *command, size_t i)
{
	size_t min, max;
	const char *word = vbd_ctl_word(command->usage, i);

	get_operand_limits(command, &min, &max);
	/* The last operand may be repeated. */
	for (size_t last = i; !word && last > 0 && max == VBD_CTL_OPERANDS_MAX; last--)
		word = vbd_ctl_word(command->usage, last - 1);
	if (!word)
		return NULL;
	word += *word == '[';
	return vbd_ctl_format("%.*s", (int)strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), word);
}

/* --- parsing the command line ---------------------------------------------------------------- */

/* Above all letters, to tell long options from letters in the results of getopt_long(3). */
#define LONG_BASE 256

/* Arguments of getopt_long(3) for the common options and those of one command. */
struct getopt_tables {
	size_t count;
	struct option longs[VBD_CTL_OPT_END + 1];
	char shorts[2 + 3 * VBD_CTL_OPT_END + 1];
};

static void tables_add(struct getopt_tables *tables, const enum vbd_ctl_opt *opts)
{
	for (; *opts; opts++) {
		const struct vbd_ctl_opt_spec *spec = vbd_ctl_opt_spec(*opts);
		struct option *row = &tables->longs[tables->count++];
		size_t len = strlen(tables->shorts);

		row->name = spec->name;
		row->has_arg = spec->kind == VBD_CTL_KIND_FLAG ? no_argument : required_argument;
		row->val = LONG_BASE + (int)*opts;
		if (!spec->letter)
			continue;
		tables->shorts[len] = spec->letter;
		if (spec->kind != VBD_CTL_KIND_FLAG)
			tables->shorts[len + 1] = ':';
	}
}

/* The option that getopt_long(3) returned or refused; END if the tables do not have it. */
static enum vbd_ctl_opt tables_find(const struct getopt_tables *tables, int answer)
{
	for (size_t i = 0; i < tables->count; i++) {
		enum vbd_ctl_opt opt = (enum vbd_ctl_opt)(tables->longs[i].val - LONG_BASE);

		if (answer == tables->longs[i].val ||
			(answer && answer == vbd_ctl_opt_spec(opt)->letter))
			return opt;
	}
	return VBD_CTL_OPT_END;
}

/* The help command that fits: "verbsctl buffers put --help". */
static char *help_call(const struct vbd_ctl_args *args)
{
	return vbd_ctl_format("verbsctl %s%s--help", args->called, *args->called ? " " : "");
}

static bool parse_duration(const char *text, uint64_t *ret_ms)
{
	return vbd_parse_duration(text, "s", ret_ms);
}

/* The kinds of values that are numbers. */
static const struct {
	bool (*parse)(const char *text, uint64_t *ret_number);
	const char *wanted;
} number_kinds[] = {
	[VBD_CTL_KIND_UINT] = {vbd_parse_number, "be a number"},
	[VBD_CTL_KIND_HEX] = {vbd_ctl_parse_hex, "be a number in hex, as in 0x1a71"},
	[VBD_CTL_KIND_SIZE] = {vbd_parse_size, "be a number of bytes, as in 4096, 64K or 1G"},
	[VBD_CTL_KIND_TIME] = {parse_duration, "be a time, as in 500ms, 5s or 1m"},
};

static void take_value(struct vbd_ctl_args *args, enum vbd_ctl_opt opt, const char *text)
{
	const struct vbd_ctl_opt_spec *spec = vbd_ctl_opt_spec(opt);
	const char *wanted = NULL;

	args->text[opt] = text ? text : "";
	if (spec->kind >= VBD_CTL_KIND_UINT)
		wanted = number_kinds[spec->kind].parse(args->text[opt], &args->number[opt])
				 ? NULL
				 : number_kinds[spec->kind].wanted;
	else if (spec->kind != VBD_CTL_KIND_FLAG && !*args->text[opt])
		wanted = "not be empty";
	else if (spec->member && !vbd_utf8_valid(args->text[opt], strlen(args->text[opt])))
		wanted = "be UTF-8";
	if (wanted)
		vbd_ctl_refuse(
			args, "--%s must %s, not \"%s\"", spec->name, wanted, args->text[opt]);
}

static _Noreturn void refuse_option(const struct vbd_ctl_args *args,
	const struct getopt_tables *tables, int answer, const char *word)
{
	enum vbd_ctl_opt opt = tables_find(tables, optopt);
	const struct vbd_ctl_opt_spec *spec = vbd_ctl_opt_spec(opt);
	bool known = opt != VBD_CTL_OPT_END;
	const char *help = help_call(args);

	if (known && answer == ':')
		vbd_ctl_refuse(
			args, "--%s needs %s; see `%s`", spec->name, spec->placeholder, help);
	if (known)
		vbd_ctl_refuse(args, "--%s takes no value; see `%s`", spec->name, help);
	if (optopt)
		vbd_ctl_refuse(args, "no option -%c; see `%s`", optopt, help);
	vbd_ctl_refuse(args, "no option %s; see `%s`", word, help);
}

/* Parses options up to the first operand (@mode "+:"), or all options, moving operands behind them
 * (":"). */
static void read_options(struct vbd_ctl_args *args, int argc, char **argv, const char *mode)
{
	struct getopt_tables tables = {0};
	int answer;

	memcpy(tables.shorts, mode, strlen(mode));
	/* getopt_long(3) takes the first of two options of one name: -o of `buffers get`. */
	if (args->command)
		tables_add(&tables, args->command->options);
	tables_add(&tables, vbd_ctl_common_options);
	opterr = 0;
	optind = 0; /* getopt_long(3): 0 also resets its internal state */
	while ((answer = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		enum vbd_ctl_opt opt = tables_find(&tables, answer);

		if (answer == '?' || answer == ':' || opt == VBD_CTL_OPT_END)
			refuse_option(args, &tables, answer, argv[optind - 1]);
		take_value(args, opt, optarg);
	}
}

/* The verb of @noun, or first word without @noun, that a mistyped word may mean; NULL for none. */
static const char *similar_name(const char *noun, const char *word)
{
	struct vbd_similar similar = {.word = word};
	const char *name;

	for (size_t i = 0; (name = vbd_ctl_command_name_at(noun, i)); i++)
		vbd_similar_try(&similar, name);
	return similar.like;
}

static _Noreturn void refuse_command(char *const *words, size_t count)
{
	const char *noun = vbd_ctl_command_noun(words[0]);
	const char *wrong = noun ? (count > 1 && words[1][0] != '-' ? words[1] : NULL) : words[0];
	const char *like = wrong ? similar_name(noun, wrong) : NULL;
	const char *first = noun ? words[0] : "";
	const char *space = noun ? " " : "";

	if (!wrong)
		vbd_ctl_usage("%s: needs a verb; see `verbsctl %s --help`", first, first);
	if (like)
		vbd_ctl_usage("no command \"%s%s%s\"; did you mean \"%s%s%s\"?", first, space,
			wrong, first, space, like);
	vbd_ctl_usage("no command \"%s%s%s\"; see `verbsctl %s%s--help`", first, space, wrong,
		first, space);
}

static void check_operands(const struct vbd_ctl_args *args)
{
	const char *help = help_call(args);
	size_t min, max;

	get_operand_limits(args->command, &min, &max);
	if (args->operand_count < min)
		vbd_ctl_refuse(args, "needs %s; see `%s`", args->command->usage, help);
	if (args->operand_count > max)
		vbd_ctl_refuse(args, "\"%s\" is one operand too many; see `%s`",
			args->operands[max], help);
	for (size_t i = 0; i < args->operand_count; i++) {
		/* The word that is being completed may be empty. */
		if (!args->operands[i][0] && args->command->summary)
			vbd_ctl_refuse(args, "an operand must not be empty; see `%s`", help);
	}
}

/* "verbsctl buffers --help" asks about the noun, not about its `ls`. */
static bool asks_about_noun(char *const *words, size_t count)
{
	return count > 1 && vbd_ctl_command_noun(words[0]) &&
	       (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0);
}

/* Parses the words behind the common options, which begin with the command's name. */
static void parse_command(struct vbd_ctl_args *args, size_t count, char **words)
{
	size_t used = 0;

	if (asks_about_noun(words, count)) {
		args->noun = vbd_ctl_command_noun(words[0]);
		args->text[VBD_CTL_OPT_HELP] = "";
		return;
	}
	args->command = vbd_ctl_command_find(words, count, &used);
	if (!args->command)
		refuse_command(words, count);
	args->kind = vbd_ctl_noun_row(args->command->noun);
	(void)snprintf(args->called, sizeof(args->called), "%s%s%s", words[0], used > 1 ? " " : "",
		used > 1 ? words[1] : "");
	/* getopt_long(3) skips the first word, here the last word of the command's name. */
	words += used - 1;
	read_options(args, (int)(count - used + 1), words, ":");
	if (vbd_ctl_args_has(args, VBD_CTL_OPT_HELP))
		return;
	args->operands = words + optind;
	args->operand_count = count - used + 1 - (size_t)optind;
	check_operands(args);
}

void vbd_ctl_args_parse(int argc, char **argv, struct vbd_ctl_args *ret_args)
{
	read_options(ret_args, argc, argv, "+:");
	if (vbd_ctl_args_has(ret_args, VBD_CTL_OPT_VERSION))
		return;
	if (optind < argc)
		parse_command(ret_args, (size_t)(argc - optind), argv + optind);
	else if (!vbd_ctl_args_has(ret_args, VBD_CTL_OPT_HELP))
		vbd_ctl_usage("needs a command; see `verbsctl --help`");
}
