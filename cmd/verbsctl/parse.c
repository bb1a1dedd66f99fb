/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/parse.h"

#include "cmd/verbsctl/command.h"

#include "base/quantity.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* Above all letters, to tell long options from letters in the results of getopt_long(3). */
#define LONG_BASE 256

/* Arguments of getopt_long(3) for the common options and those of one command. */
struct getopt_tables {
	enum vbd_ctl_opt opts[VBD_CTL_OPT_END];
	size_t count;
	struct option longs[VBD_CTL_OPT_END + 1];
	char shorts[2 + 3 * VBD_CTL_OPT_END + 1];
};

static void tables_add(struct getopt_tables *tables, const enum vbd_ctl_opt *opts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct vbd_ctl_opt_spec *spec = vbd_ctl_opt_spec(opts[i]);
		struct option *row = &tables->longs[tables->count];
		size_t len = strlen(tables->shorts);

		row->name = spec->name;
		row->has_arg = spec->kind == VBD_CTL_KIND_FLAG	  ? no_argument
			       : spec->kind == VBD_CTL_KIND_EVERY ? optional_argument
								  : required_argument;
		row->val = LONG_BASE + (int)opts[i];
		tables->opts[tables->count++] = opts[i];
		if (!spec->letter)
			continue;
		tables->shorts[len] = spec->letter;
		if (spec->kind != VBD_CTL_KIND_FLAG)
			tables->shorts[len + 1] = ':';
		if (spec->kind == VBD_CTL_KIND_EVERY)
			tables->shorts[len + 2] = ':';
	}
}

/* The option that getopt_long(3) returned or refused; NULL if the tables do not have it. */
static const enum vbd_ctl_opt *tables_find(const struct getopt_tables *tables, int answer)
{
	for (size_t i = 0; i < tables->count; i++) {
		if (answer == LONG_BASE + (int)tables->opts[i] ||
			(answer && answer == vbd_ctl_opt_spec(tables->opts[i])->letter))
			return &tables->opts[i];
	}
	return NULL;
}

/* The help command that fits: "verbsctl buf put --help". The caller frees it. */
static char *help_call(const struct vbd_ctl_args *args)
{
	const struct vbd_ctl_command *command = args->command;

	if (!command)
		return vbd_ctl_format("verbsctl --help");
	return vbd_ctl_format("verbsctl %s%s%s --help", command->name, command->verb ? " " : "",
		command->verb ? command->verb : "");
}

static enum vbd_ctl_exit take_value(
	struct vbd_ctl_args *args, enum vbd_ctl_opt opt, const char *text)
{
	const struct vbd_ctl_opt_spec *spec = vbd_ctl_opt_spec(opt);
	uint64_t *number = &args->number[opt];
	const char *wanted = NULL;

	args->text[opt] = text ? text : "";
	switch (spec->kind) {
	case VBD_CTL_KIND_FLAG:
		break;
	case VBD_CTL_KIND_TEXT:
	case VBD_CTL_KIND_REF:
	case VBD_CTL_KIND_LIST:
		if (!*args->text[opt])
			wanted = "not be empty";
		else if (!vbd_ctl_text_is_utf8(args->text[opt], strlen(args->text[opt])) &&
			 spec->member)
			wanted = "be UTF-8";
		break;
	case VBD_CTL_KIND_UINT:
		if (!vbd_parse_uint(args->text[opt], number))
			wanted = "be a number";
		break;
	case VBD_CTL_KIND_HEX:
		if (!vbd_ctl_parse_hex(args->text[opt], number))
			wanted = "be a number in hex, as in 0x1a71";
		break;
	case VBD_CTL_KIND_SIZE:
		if (!vbd_parse_size(args->text[opt], number))
			wanted = "be a number of bytes, as in 4096, 64K or 1G";
		break;
	case VBD_CTL_KIND_EVERY:
	case VBD_CTL_KIND_TIME:
		if ((text || spec->kind == VBD_CTL_KIND_TIME) &&
			!vbd_parse_duration(args->text[opt], "s", number))
			wanted = "be a time, as in 500ms, 5s or 1m";
		break;
	}
	if (!wanted)
		return VBD_CTL_OK;
	return vbd_ctl_usage(
		"%s--%s must %s, not \"%s\"", args->title, spec->name, wanted, args->text[opt]);
}

static enum vbd_ctl_exit refuse_option(const struct vbd_ctl_args *args,
	const struct getopt_tables *tables, int answer, const char *word)
{
	const enum vbd_ctl_opt *opt = tables_find(tables, optopt);
	enum vbd_ctl_exit exit_status;
	char *help = help_call(args);

	if (opt && answer == ':')
		exit_status = vbd_ctl_usage("%s--%s needs %s; see `%s`", args->title,
			vbd_ctl_opt_spec(*opt)->name, vbd_ctl_opt_spec(*opt)->placeholder, help);
	else if (opt)
		exit_status = vbd_ctl_usage("%s--%s takes no value; see `%s`", args->title,
			vbd_ctl_opt_spec(*opt)->name, help);
	else if (optopt)
		exit_status = vbd_ctl_usage("%sno option -%c; see `%s`", args->title, optopt, help);
	else
		exit_status = vbd_ctl_usage("%sno option %s; see `%s`", args->title, word, help);
	free(help);
	return exit_status;
}

/* Parses options up to the first operand (@mode "+:"), or all options, moving operands behind them
 * (":"). */
static enum vbd_ctl_exit read_options(
	struct vbd_ctl_args *args, int argc, char **argv, const char *mode)
{
	struct getopt_tables tables = {0};
	enum vbd_ctl_exit exit_status;
	int answer;

	memcpy(tables.shorts, mode, strlen(mode));
	tables_add(&tables, vbd_ctl_common_options, vbd_ctl_common_option_count);
	if (args->command)
		tables_add(&tables, args->command->options, args->command->option_count);
	opterr = 0;
	optind = 0; /* getopt_long(3): 0 also resets its internal state */
	while ((answer = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		const enum vbd_ctl_opt *opt = tables_find(&tables, answer);

		if (answer == '?' || answer == ':' || !opt)
			return refuse_option(args, &tables, answer, argv[optind - 1]);
		/* getopt_long(3) takes an optional argument only behind "="; users write a
		 * space. */
		if (vbd_ctl_opt_spec(*opt)->kind == VBD_CTL_KIND_EVERY && !optarg &&
			optind < argc && isdigit((unsigned char)argv[optind][0]))
			optarg = argv[optind++];
		exit_status = take_value(args, *opt, optarg);
		if (exit_status != VBD_CTL_OK)
			return exit_status;
	}
	return VBD_CTL_OK;
}

static enum vbd_ctl_exit refuse_command(char *const *words, size_t count)
{
	const char *group = vbd_ctl_command_is_group(words[0]) ? words[0] : NULL;
	const char *wrong = group ? (count > 1 && words[1][0] != '-' ? words[1] : NULL) : words[0];
	const char *like = wrong ? vbd_ctl_command_like(group, wrong) : NULL;

	if (!wrong)
		return vbd_ctl_usage("%s: needs a command; see `verbsctl %s --help`", group, group);
	if (like)
		return vbd_ctl_usage("no command \"%s%s%s\"; did you mean \"%s%s%s\"?",
			group ? group : "", group ? " " : "", wrong, group ? group : "",
			group ? " " : "", like);
	return vbd_ctl_usage("no command \"%s%s%s\"; see `verbsctl --help`", group ? group : "",
		group ? " " : "", wrong);
}

static enum vbd_ctl_exit check_operands(const struct vbd_ctl_args *args)
{
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;
	char *help = help_call(args);
	size_t min, max;

	vbd_ctl_command_operand_limits(args->command, &min, &max);
	if (args->operand_count < min)
		exit_status = vbd_ctl_usage(
			"%sneeds %s; see `%s`", args->title, args->command->usage, help);
	else if (args->operand_count > max)
		exit_status = vbd_ctl_usage("%s\"%s\" is one operand too many; see `%s`",
			args->title, args->operands[max], help);
	for (size_t i = 0; i < args->operand_count && exit_status == VBD_CTL_OK; i++) {
		/* The word that is being completed may be empty. */
		if (!args->operands[i][0] && args->command->summary)
			exit_status = vbd_ctl_usage(
				"%san operand must not be empty; see `%s`", args->title, help);
	}
	free(help);
	return exit_status;
}

/* "verbsctl buf --help" asks about a group, which is not a command. */
static bool asks_group_help(char *const *words, size_t count)
{
	return count > 1 && vbd_ctl_command_is_group(words[0]) &&
	       (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0);
}

enum vbd_ctl_exit vbd_ctl_args_parse(int argc, char **argv, struct vbd_ctl_args *ret_args)
{
	enum vbd_ctl_exit exit_status = read_options(ret_args, argc, argv, "+:");
	size_t used = 0;
	size_t count;
	char **words;

	if (exit_status != VBD_CTL_OK || vbd_ctl_args_has(ret_args, VBD_CTL_OPT_VERSION))
		return exit_status;
	words = argv + optind;
	count = (size_t)(argc - optind);
	if (count == 0) {
		if (vbd_ctl_args_has(ret_args, VBD_CTL_OPT_HELP))
			return VBD_CTL_OK;
		return vbd_ctl_usage("needs a command; see `verbsctl --help`");
	}
	ret_args->command = vbd_ctl_command_find(words, count, &used);
	if (!ret_args->command && asks_group_help(words, count)) {
		ret_args->group = words[0];
		ret_args->text[VBD_CTL_OPT_HELP] = "";
		return VBD_CTL_OK;
	}
	if (!ret_args->command)
		return refuse_command(words, count);
	(void)snprintf(ret_args->title, sizeof(ret_args->title),
		"%s%s%s: ", ret_args->command->name, used > 1 ? " " : "",
		used > 1 ? ret_args->command->verb : "");
	/* getopt_long(3) skips the first word, here the last word of the command's name. */
	words += used - 1;
	exit_status = read_options(ret_args, (int)(count - used + 1), words, ":");
	if (exit_status != VBD_CTL_OK || vbd_ctl_args_has(ret_args, VBD_CTL_OPT_HELP))
		return exit_status;
	ret_args->operands = words + optind;
	ret_args->operand_count = count - used + 1 - (size_t)optind;
	return check_operands(ret_args);
}

static void help_options(FILE *out, const enum vbd_ctl_opt *opts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct vbd_ctl_opt_spec *spec = vbd_ctl_opt_spec(opts[i]);
		char *left = vbd_ctl_format("--%s%s%s", spec->name, spec->placeholder ? " " : "",
			spec->placeholder ? spec->placeholder : "");

		if (spec->letter)
			fprintf(out, "  -%c, ", spec->letter);
		else
			fputs("      ", out);
		if (strlen(left) <= 28)
			fprintf(out, "%-28s  %s\n", left, spec->help);
		else
			fprintf(out, "%s\n%36s%s\n", left, "", spec->help);
		free(left);
	}
}

static void help_commands(FILE *out, const char *group)
{
	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		const struct vbd_ctl_command *command = &vbd_ctl_commands[i];
		char *left;

		if (!command->summary || (group && strcmp(command->name, group) != 0))
			continue;
		left = vbd_ctl_format("%s%s%s%s%s", command->name, command->verb ? " " : "",
			command->verb ? command->verb : "", *command->usage ? " " : "",
			command->usage);
		fprintf(out, "  %-30s  %s\n", left, command->summary);
		free(left);
	}
}

static void help_of_command(const struct vbd_ctl_command *command, FILE *out)
{
	fprintf(out, "Usage: verbsctl %s%s%s%s%s [OPTION...]\n\n%s.\n", command->name,
		command->verb ? " " : "", command->verb ? command->verb : "",
		*command->usage ? " " : "", command->usage, command->summary);
	if (command->text)
		fprintf(out, "\n%s\n", command->text);
	if (command->option_count) {
		fputs("\nOptions:\n", out);
		help_options(out, command->options, command->option_count);
	}
}

void vbd_ctl_args_help(const struct vbd_ctl_args *args, FILE *out)
{
	if (args->command) {
		help_of_command(args->command, out);
	} else {
		fprintf(out, "Usage: verbsctl [OPTION...] %s%sCOMMAND [OPERAND...]\n\n",
			args->group ? args->group : "", args->group ? " " : "");
		fputs("Sees and drives the RDMA connections that verbsd owns.\n\nCommands:\n", out);
		help_commands(out, args->group);
	}
	fputs("\nCommon options:\n", out);
	help_options(out, vbd_ctl_common_options, vbd_ctl_common_option_count);
	if (!args->command)
		fputs("\nEnvironment: VERBSD_URL, VERBSD_TOKEN, VERBSD_TOKEN_FILE, NO_COLOR.\n"
		      "Exit status: 0 done, 1 refused or failed, 2 wrong command line.\n"
		      "`verbsctl COMMAND --help` explains a command; verbsctl(1) has it all.\n",
			out);
}
