/* SPDX-License-Identifier: Apache-2.0 */
/* verbsctl: shows and controls the connections of a verbsd over its HTTP API. */
#include "cmd/verbsctl/command.h"
#include "cmd/verbsctl/common/speak.h"
#include "cmd/verbsctl/complete.h"
#include "cmd/verbsctl/help.h"
#include "cmd/verbsctl/parse.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wants_color(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(term && strcmp(term, "dumb") == 0);
}

static enum vbd_ctl_exit run(struct vbd_ctl *ctl)
{
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;

	ctl->json = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_JSON);
	ctl->color = wants_color();
	if (ctl->args.command->run)
		exit_status = vbd_ctl_open(ctl);
	if (exit_status == VBD_CTL_OK)
		exit_status = ctl->args.command->run ? ctl->args.command->run(ctl)
						     : vbd_ctl_complete(ctl);
	vbd_ctl_http_fini(&ctl->http);
	return exit_status;
}

int main(int argc, char **argv)
{
	struct vbd_ctl ctl = {0};
	enum vbd_ctl_exit exit_status;

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
