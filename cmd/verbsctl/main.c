/* SPDX-License-Identifier: Apache-2.0 */
/* verbsctl: shows and controls the connections of a verbsd over its HTTP API. */
#include "cmd/verbsctl/command.h"

#include "base/std_fds.h"
#include "cmd/verbsctl/common/problem.h"

#include <locale.h>
#include <unistd.h>

static bool wants_color(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(term && strcmp(term, "dumb") == 0);
}

static enum vbd_ctl_exit run_with_server(struct vbd_ctl *ctl)
{
	const char *format = ctl->args.text[VBD_CTL_OPT_FORMAT];
	enum vbd_ctl_exit exit_status;

	if (format && strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
		return vbd_ctl_refuse(
			&ctl->args, "--output must be json or text, not \"%s\"", format);
	ctl->json = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_JSON) ||
		    (format && strcmp(format, "json") == 0);
	ctl->color = wants_color();
	exit_status = vbd_ctl_open(ctl);
	return exit_status == VBD_CTL_OK ? ctl->args.command->run(ctl) : exit_status;
}

static enum vbd_ctl_exit run(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_command *command = ctl->args.command;
	enum vbd_ctl_exit exit_status;

	if (command->run)
		exit_status = run_with_server(ctl);
	else if (*command->verb)
		exit_status = vbd_ctl_completion(command->verb);
	else
		exit_status = vbd_ctl_complete(ctl);
	vbd_ctl_http_fini(&ctl->http);
	return exit_status;
}

int main(int argc, char **argv)
{
	struct vbd_ctl ctl = {0};
	enum vbd_ctl_exit exit_status;

	vbd_std_fds_open();
	/* Only for the width of characters; the decimal point stays a point in every locale. */
	(void)setlocale(LC_CTYPE, "");
	exit_status = vbd_ctl_args_parse(argc, argv, &ctl.args);
	vbd_ctl_speak_init(&ctl.args, vbd_ctl_commands, vbd_ctl_command_count);
	if (exit_status == VBD_CTL_OK && vbd_ctl_args_has(&ctl.args, VBD_CTL_OPT_VERSION))
		puts("verbsctl " VBD_VERSION);
	else if (exit_status == VBD_CTL_OK && vbd_ctl_args_has(&ctl.args, VBD_CTL_OPT_HELP))
		vbd_ctl_help(&ctl.args, stdout);
	else if (exit_status == VBD_CTL_OK)
		exit_status = run(&ctl);
	/* A full disk may show only here. Lost output is a failure. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && exit_status == VBD_CTL_OK)
		exit_status = vbd_ctl_fail("standard output: %s", strerror(errno));
	return (int)exit_status;
}
