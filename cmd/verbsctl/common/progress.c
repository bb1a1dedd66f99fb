/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/progress.h"

#include "base/clock.h"
#include "cmd/verbsctl/common/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define FIRST_AFTER_NS (500 * VBD_NS_PER_MS)
#define REDRAW_NS      (100 * VBD_NS_PER_MS)
#define BAR_COLUMNS    24

void vbd_ctl_progress_init(struct vbd_ctl_progress *progress, const char *what)
{
	const char *term = getenv("TERM");

	*progress = (struct vbd_ctl_progress){
		.what = what,
		.enabled = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0),
		.start_ns = vbd_clock_mono_ns(),
	};
}

static unsigned int terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

static char *bar_of(uint64_t done_bytes, uint64_t total_bytes)
{
	char bar[BAR_COLUMNS + 1];
	double share = (double)done_bytes / (double)total_bytes;
	size_t full;

	if (share > 1)
		share = 1;
	full = (size_t)(share * BAR_COLUMNS);
	memset(bar, ' ', BAR_COLUMNS);
	memset(bar, '=', full);
	if (full < BAR_COLUMNS)
		bar[full] = '>';
	bar[BAR_COLUMNS] = '\0';
	return vbd_ctl_format("%3d%% [%s] ", (int)(share * 100), bar);
}

static void draw(
	struct vbd_ctl_progress *progress, uint64_t done_bytes, uint64_t total_bytes, uint64_t ns)
{
	size_t kept = vbd_ctl_kept();
	char *bar = total_bytes ? bar_of(done_bytes, total_bytes) : vbd_ctl_format("%s", "");
	char *done = vbd_ctl_text_of_bytes(done_bytes);
	char *rate = vbd_ctl_text_of_bytes((uint64_t)((double)done_bytes * 1e9 / (double)ns));
	char *line = total_bytes || done_bytes
			     ? vbd_ctl_format("%s  %s%s  %s/s", progress->what, bar, done, rate)
			     : vbd_ctl_format("%s  waiting, %llu s", progress->what,
				       (unsigned long long)(ns / VBD_NS_PER_S));

	/* A carriage return can't overwrite a line that has wrapped. */
	fprintf(stderr, "\r\033[K%.*s", (int)terminal_columns() - 1, vbd_ctl_text_safe(line));
	(void)fflush(stderr);
	vbd_ctl_release(kept);
}

void vbd_ctl_progress_update(
	struct vbd_ctl_progress *progress, uint64_t done_bytes, uint64_t total_bytes)
{
	uint64_t now_ns = vbd_clock_mono_ns();

	if (!progress->enabled || now_ns - progress->start_ns < FIRST_AFTER_NS)
		return;
	if (progress->shown && now_ns - progress->drawn_ns < REDRAW_NS)
		return;
	progress->shown = true;
	progress->drawn_ns = now_ns;
	draw(progress, done_bytes, total_bytes, now_ns - progress->start_ns);
}

void vbd_ctl_progress_fini(struct vbd_ctl_progress *progress)
{
	if (!progress->shown)
		return;
	progress->shown = false;
	fputs("\r\033[K", stderr);
	(void)fflush(stderr);
}
