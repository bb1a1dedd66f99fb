/* SPDX-License-Identifier: Apache-2.0 */
/* The progress bar of verbsctl, on a terminal and with a clock that the test makes. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "cmd/verbsctl/common/view.h"

#include <sys/ioctl.h>
#include <unistd.h>

static struct {
	uint64_t now_ns;
	bool is_terminal;
	unsigned short columns;
	bool no_size;
	FILE *text; /* standard error */
	int stderr_fd;
} test;

uint64_t __wrap_vbd_clock_mono_ns(void);
int __wrap_isatty(int fd);
int __wrap_ioctl(int fd, unsigned long request, ...);

uint64_t __wrap_vbd_clock_mono_ns(void)
{
	return test.now_ns;
}

int __wrap_isatty(int fd)
{
	assert_int_equal(fd, STDERR_FILENO);
	return test.is_terminal;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct winsize *size;
	va_list ap;

	assert_int_equal(fd, STDERR_FILENO);
	assert_int_equal(request, TIOCGWINSZ);
	va_start(ap, request);
	size = va_arg(ap, struct winsize *);
	va_end(ap);
	*size = (struct winsize){.ws_col = test.columns};
	errno = ENOTTY;
	return test.no_size ? -1 : 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	test.now_ns = 7 * VBD_NS_PER_S;
	test.is_terminal = true;
	test.columns = 100;
	test.text = tmpfile();
	test.stderr_fd = dup(STDERR_FILENO);
	return test.text && dup2(fileno(test.text), STDERR_FILENO) >= 0 &&
			       setenv("TERM", "xterm", 1) == 0
		       ? 0
		       : -1;
}

static int tear_down(void **state)
{
	(void)state;
	(void)dup2(test.stderr_fd, STDERR_FILENO);
	(void)close(test.stderr_fd);
	(void)fclose(test.text);
	return 0;
}

#define CTL_PROGRESS_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

/* Returns the text on standard error since the last call. */
static const char *printed(void)
{
	static char text[4096];
	size_t len;

	(void)fflush(stderr);
	rewind(test.text);
	len = fread(text, 1, sizeof(text) - 1, test.text);
	text[len] = '\0';
	assert_int_equal(ftruncate(fileno(test.text), 0), 0);
	rewind(test.text);
	return text;
}

static void pass(uint64_t ms)
{
	test.now_ns += ms * VBD_NS_PER_MS;
}

CTL_PROGRESS_TEST(test_progress__begins_after_half_a_second_and_goes_away)
{
	struct vbd_ctl_progress progress;

	vbd_ctl_progress_init(&progress, "put x");
	vbd_ctl_progress_update(&progress, 1, 100);
	pass(499);
	vbd_ctl_progress_update(&progress, 10, 100);
	assert_string_equal(printed(), "");
	pass(1);
	vbd_ctl_progress_update(&progress, 50, 100);
	assert_string_equal(
		printed(), "\r\033[Kput x   50% [============>           ] 50 B  100 B/s");
	vbd_ctl_progress_fini(&progress);
	assert_string_equal(printed(), "\r\033[K");
	vbd_ctl_progress_fini(&progress);
	assert_string_equal(printed(), "");
}

CTL_PROGRESS_TEST(test_progress__one_that_was_never_shown_is_not_erased)
{
	struct vbd_ctl_progress progress;

	vbd_ctl_progress_init(&progress, "put x");
	vbd_ctl_progress_update(&progress, 1, 100);
	vbd_ctl_progress_fini(&progress);
	assert_string_equal(printed(), "");
}

CTL_PROGRESS_TEST(test_progress__is_drawn_ten_times_a_second_at_most)
{
	struct vbd_ctl_progress progress;

	vbd_ctl_progress_init(&progress, "get");
	pass(2000);
	vbd_ctl_progress_update(&progress, 2048, 0);
	assert_string_equal(printed(), "\r\033[Kget  2.0 KiB  1.0 KiB/s");
	pass(99);
	vbd_ctl_progress_update(&progress, 4096, 0);
	assert_string_equal(printed(), "");
	pass(1);
	vbd_ctl_progress_update(&progress, 4200, 0);
	assert_string_equal(printed(), "\r\033[Kget  4.1 KiB  2.0 KiB/s");
}

CTL_PROGRESS_TEST(test_progress__the_bar_is_full_at_the_end_and_beyond)
{
	static const struct {
		uint64_t done;
		const char *bar;
	} bars[] = {
		{0, "  0% [>                       ] 0 B  0 B/s"},
		{41, "  4% [>                       ] 41 B  41 B/s"},
		{42, "  4% [=>                      ] 42 B  42 B/s"},
		{999, " 99% [=======================>] 999 B  999 B/s"},
		{1000, "100% [========================] 1000 B  1000 B/s"},
		{1001, "100% [========================] 1001 B  1001 B/s"},
	};
	char line[128];

	for (size_t i = 0; i < VBD_ARRAY_LEN(bars); i++) {
		struct vbd_ctl_progress progress;

		vbd_ctl_progress_init(&progress, "w");
		pass(1000);
		vbd_ctl_progress_update(&progress, bars[i].done, 1000);
		(void)snprintf(line, sizeof(line), "\r\033[Kw  %s", bars[i].bar);
		assert_string_equal(printed(), line);
	}
}

/* The last column stays free: a line that has wrapped can't be erased. */
CTL_PROGRESS_TEST(test_progress__fits_the_terminal)
{
	struct vbd_ctl_progress progress;
	char name[120];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 3; i++) {
		test.columns = i == 0 ? 20 : i == 1 ? 0 : 20;
		test.no_size = i == 2;
		vbd_ctl_progress_init(&progress, name);
		pass(1000);
		vbd_ctl_progress_update(&progress, 1, 2);
		assert_int_equal(strlen(printed()), strlen("\r\033[K") + (i == 0 ? 19 : 79));
	}
}

CTL_PROGRESS_TEST(test_progress__what_steers_the_terminal_is_escaped)
{
	struct vbd_ctl_progress progress;

	vbd_ctl_progress_init(&progress, "a\033b");
	pass(1000);
	vbd_ctl_progress_update(&progress, 1, 0);
	assert_string_equal(printed(), "\r\033[Ka\\x1bb  1 B  1 B/s");
}

CTL_PROGRESS_TEST(test_progress__is_for_terminals_that_can_erase)
{
	static const struct {
		bool is_terminal;
		const char *term;
		bool shown;
	} cases[] = {
		{true, "xterm", true},
		{true, NULL, true},
		{true, "dumb", false},
		{false, "xterm", false},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		struct vbd_ctl_progress progress;

		test.is_terminal = cases[i].is_terminal;
		if (cases[i].term)
			assert_int_equal(setenv("TERM", cases[i].term, 1), 0);
		else
			assert_int_equal(unsetenv("TERM"), 0);
		vbd_ctl_progress_init(&progress, "w");
		pass(1000);
		vbd_ctl_progress_update(&progress, 1, 2);
		assert_int_equal(*printed() != '\0', cases[i].shown);
	}
}
