/* SPDX-License-Identifier: Apache-2.0 */
/* verbsctl: shows and controls the connections of a verbsd over its HTTP API. */
#include "cmd/verbsctl/command.h"

#include "base/std_fds.h"

#include <locale.h>
#include <unistd.h>

#define NOUN_COLUMNS 23
#define LINE_COLUMNS 100

static bool has_option(const struct vbd_ctl_command *command, const char *name)
{
	const enum vbd_ctl_opt *opt = command ? command->options : NULL;

	for (; opt && *opt; opt++) {
		if (strcmp(vbd_ctl_opt_spec(*opt)->name, name) == 0)
			return true;
	}
	return false;
}

/* Prints options, but none that @hidden_by replaces by its own option of that name. */
static void put_options(
	FILE *out, const enum vbd_ctl_opt *opts, const struct vbd_ctl_command *hidden_by)
{
	for (; *opts; opts++) {
		const struct vbd_ctl_opt_spec *spec = vbd_ctl_opt_spec(*opts);
		char *left;

		if (has_option(hidden_by, spec->name))
			continue;
		left = vbd_ctl_format("--%s%s%s", spec->name, spec->placeholder ? " " : "",
			spec->placeholder ? spec->placeholder : "");
		if (spec->letter)
			fprintf(out, "  -%c, ", spec->letter);
		else
			fputs("      ", out);
		if (strlen(left) <= 28)
			fprintf(out, "%-28s  %s\n", left, spec->help);
		else
			fprintf(out, "%s\n%36s%s\n", left, "", spec->help);
	}
}

/* Prints "  buffers   ls, show, create, …", broken into lines. */
static void put_verbs(FILE *out, const char *noun)
{
	char *line = vbd_ctl_format("  %-*s", NOUN_COLUMNS, noun);
	const char *comma = "";

	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		const struct vbd_ctl_command *command = &vbd_ctl_commands[i];

		if (strcmp(command->noun, noun) != 0)
			continue;
		line = vbd_ctl_format("%s%s%s", line, comma, command->verb);
		comma = ", ";
	}
	fputs(vbd_ctl_text_wrap(line, LINE_COLUMNS, NOUN_COLUMNS + 2), out);
}

static void put_short_forms(FILE *out)
{
	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		const struct vbd_ctl_command *command = &vbd_ctl_commands[i];

		if (command->alias)
			fprintf(out, "  %-8s %-21s %s\n", command->alias,
				vbd_ctl_format("%s %s", command->noun, command->verb),
				command->summary);
	}
	for (size_t i = 0; i < vbd_ctl_noun_count; i++) {
		if (vbd_ctl_nouns[i].alias)
			fprintf(out, "  %-8s %-21s As in `verbsctl %s ls`\n",
				vbd_ctl_nouns[i].alias, vbd_ctl_nouns[i].noun,
				vbd_ctl_nouns[i].alias);
	}
}

static void help_of_all(FILE *out)
{
	fputs("Usage: verbsctl [OPTION...] NOUN VERB [OPERAND...]\n\n"
	      "Sees and drives the RDMA connections that verbsd owns.\n\nNouns and their verbs:\n",
		out);
	for (size_t i = 0; i < vbd_ctl_noun_count; i++)
		put_verbs(out, vbd_ctl_nouns[i].noun);
	fputs("\nA noun alone lists: `verbsctl buffers` is `verbsctl buffers ls`. `verbsctl "
	      "status` and\n`verbsctl version` are their show.\n"
	      "A noun may stand in the singular; list, get and delete are ls, show and rm.\n\n"
	      "Short forms:\n",
		out);
	put_short_forms(out);
}

static void help_of_noun(const char *noun, FILE *out)
{
	fprintf(out, "Usage: verbsctl [OPTION...] %s VERB [OPERAND...]\n\n", noun);
	fprintf(out, "%s: %s.\n\nCommands:\n", noun, vbd_ctl_noun_row(noun)->what);
	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		const struct vbd_ctl_command *command = &vbd_ctl_commands[i];
		char *left;

		if (strcmp(command->noun, noun) != 0)
			continue;
		left = vbd_ctl_format("%s %s%s%s", noun, command->verb, *command->usage ? " " : "",
			command->usage);
		fprintf(out, "  %-36s  %s%s%s%s\n", left, command->summary,
			command->alias ? " (short: " : "", command->alias ? command->alias : "",
			command->alias ? ")" : "");
	}
}

static void help_of_command(const struct vbd_ctl_command *command, FILE *out)
{
	const char *space = *command->usage ? " " : "";

	fprintf(out, "Usage: verbsctl %s %s%s%s [OPTION...]\n", command->noun, command->verb, space,
		command->usage);
	if (command->alias)
		fprintf(out, "Short: verbsctl %s%s%s [OPTION...]\n", command->alias, space,
			command->usage);
	fprintf(out, "\n%s.\n", command->summary);
	if (command->text)
		fprintf(out, "\n%s\n", command->text);
	if (*command->options) {
		fputs("\nOptions:\n", out);
		put_options(out, command->options, NULL);
	}
}

/* Prints the help of the command or the noun that @args names; of verbsctl if it names none. */
static void print_help(const struct vbd_ctl_args *args, FILE *out)
{
	if (args->command)
		help_of_command(args->command, out);
	else if (args->noun)
		help_of_noun(args->noun, out);
	else
		help_of_all(out);
	fputs("\nCommon options:\n", out);
	put_options(out, vbd_ctl_common_options, args->command);
	if (!args->command && !args->noun)
		fputs("\nEnvironment: VERBSD_URL, VERBSD_TOKEN, VERBSD_TOKEN_FILE, VERBSD_CA,\n"
		      "VERBSD_CERT, VERBSD_KEY, VERBSD_PEER_TOKEN, VERBSD_PEER_TOKEN_FILE, "
		      "NO_COLOR.\n"
		      "Exit status: 0 done, 1 refused or failed, 2 wrong command line or "
		      "environment,\n"
		      "3 timed out, 4 no such object, 5 no connection to verbsd.\n",
			out);
	if (!args->command)
		fputs("\n`verbsctl NOUN --help` explains the verbs of a noun, `verbsctl NOUN VERB "
		      "--help` one command;\nverbsctl(1) has it all.\n",
			out);
}

/* --- running a command -------------------------------------------------------------------------
 */

static bool wants_color(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(term && strcmp(term, "dumb") == 0);
}

static void run_with_server(struct vbd_ctl *ctl)
{
	const char *format = ctl->args.text[VBD_CTL_OPT_FORMAT];

	if (format && strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
		vbd_ctl_refuse(&ctl->args, "--output must be json or text, not \"%s\"", format);
	ctl->json = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_JSON) ||
		    (format && strcmp(format, "json") == 0);
	ctl->color = wants_color();
	vbd_ctl_open(ctl);
	ctl->args.command->run(ctl);
}

struct program {
	int argc;
	char **argv;
	struct vbd_ctl ctl;
};

static void run_command(void *arg)
{
	struct program *program = arg;
	struct vbd_ctl_args *args = &program->ctl.args;

	vbd_ctl_args_parse(program->argc, program->argv, args);
	if (vbd_ctl_args_has(args, VBD_CTL_OPT_VERSION))
		puts("verbsctl " VBD_VERSION);
	else if (vbd_ctl_args_has(args, VBD_CTL_OPT_HELP))
		print_help(args, stdout);
	else if (args->command->run)
		run_with_server(&program->ctl);
	else if (*args->command->verb)
		vbd_ctl_completion(args->command->verb);
	else
		vbd_ctl_complete(&program->ctl);
}

/* A full disk may show only here. Lost output is a failure. */
static void flush_output(void *nothing)
{
	(void)nothing;
	vbd_ctl_flush();
}

int main(int argc, char **argv)
{
	struct program program = {.argc = argc, .argv = argv};
	enum vbd_ctl_exit exit_status;

	vbd_std_fds_open();
	/* Only for the width of characters; the decimal point stays a point in every locale. */
	(void)setlocale(LC_CTYPE, "");
	exit_status = vbd_ctl_try(run_command, &program);
	if (exit_status == VBD_CTL_OK)
		exit_status = vbd_ctl_try(flush_output, NULL);
	vbd_ctl_release(0);
	return (int)exit_status;
}
