/* SPDX-License-Identifier: Apache-2.0 */
/* explain. */
#include "cmd/verbsctl_call.h"

#include "cmd/verbsctl_json.h"

#include <stdlib.h>
#include <string.h>

static void put_why(const json_t *why)
{
	const json_t *causes = vbd_ctl_json_at(why, "causes");
	char *kind = vbd_ctl_cell_text(vbd_ctl_json_at(why, "kind"));
	char *name = vbd_ctl_cell_text(vbd_ctl_json_at(why, "name"));

	printf("%s  %s\n", name, kind);
	vbd_ctl_member_put(why, "number", "number", vbd_ctl_cell_text);
	vbd_ctl_member_put(why, "means", "meaning", vbd_ctl_cell_text);
	for (size_t i = 0; i < json_array_size(causes); i++) {
		char *cause = vbd_ctl_cell_text(json_array_get(causes, i));

		vbd_ctl_line_put(i ? "" : "causes", "%s", cause);
		free(cause);
	}
	vbd_ctl_member_put(why, "what to do", "advice", vbd_ctl_cell_text);
	free(name);
	free(kind);
}

enum vbd_ctl_exit vbd_ctl_explain(struct vbd_ctl *ctl)
{
	char *path = NULL;
	size_t path_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&path, &path_len));
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status;
	const json_t *items;

	fputs("/v1/explain?name=", out);
	vbd_ctl_text_put_escaped(out, ctl->args.operands[0]);
	(void)fclose(out);
	exit_status = vbd_ctl_call(ctl, "GET", vbd_ctl_must(path), NULL, VBD_CTL_NO_WAIT, &answer);
	items = vbd_ctl_json_at(answer.json, "items");
	if (exit_status == VBD_CTL_OK && ctl->json)
		vbd_ctl_json_put(stdout, answer.json);
	for (size_t i = 0; exit_status == VBD_CTL_OK && !ctl->json && i < json_array_size(items);
		i++)
		put_why(json_array_get(items, i));
	vbd_ctl_answer_fini(&answer);
	free(path);
	return exit_status;
}
