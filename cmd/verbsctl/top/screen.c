/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/top/top.h"

#include "cmd/verbsctl/common/text.h"

#include <ncurses.h>
#include <poll.h>
#include <termcap.h>
#include <unistd.h>

/* Longest wait for the rest of a key's escape sequence; ncurses would wait a second after
 * Escape. */
#define ESCAPE_MS 25

enum pair {
	PAIR_GOOD = 1,
	PAIR_BAD,
	PAIR_ALARM,
};

static SCREEN *screen;
static bool colored;

static void set_colors(void)
{
	(void)start_color();
	(void)use_default_colors();
	(void)init_pair(PAIR_GOOD, COLOR_GREEN, -1);
	(void)init_pair(PAIR_BAD, COLOR_RED, -1);
	(void)init_pair(PAIR_ALARM, COLOR_WHITE, COLOR_RED);
}

/*
 * Whether the terminal is known and can move its cursor; printers and shell buffers of editors
 * can't. Checked before newterm(), which leaks memory if it does not know the terminal.
 */
static bool can_draw(void)
{
	const char *type = getenv("TERM");
	char name[] = "cm";

	return type && *type && tgetent(NULL, type) == 1 && tgetstr(name, NULL);
}

bool vbd_ctl_screen_open(bool color)
{
	if (!can_draw())
		return false;
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return false;
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)keypad(stdscr, TRUE);
	(void)set_escdelay(ESCAPE_MS);
	(void)curs_set(0);
	colored = color && has_colors();
	if (colored)
		set_colors();
	return true;
}

void vbd_ctl_screen_close(void)
{
	if (!screen)
		return;
	(void)endwin();
	delscreen(screen);
	screen = NULL;
}

size_t vbd_ctl_screen_lines(void)
{
	return (size_t)LINES;
}

size_t vbd_ctl_screen_columns(void)
{
	return (size_t)COLS;
}

void vbd_ctl_screen_clear(void)
{
	(void)erase();
}

static attr_t attributes_of(enum vbd_ctl_style style)
{
	switch (style) {
	case VBD_CTL_STYLE_PLAIN:
		break;
	case VBD_CTL_STYLE_BOLD:
		return A_BOLD;
	case VBD_CTL_STYLE_BAR:
		return A_REVERSE;
	case VBD_CTL_STYLE_GOOD:
		return colored ? (attr_t)COLOR_PAIR(PAIR_GOOD) : A_NORMAL;
	case VBD_CTL_STYLE_BAD:
		return colored ? (attr_t)COLOR_PAIR(PAIR_BAD) : A_BOLD;
	case VBD_CTL_STYLE_ALARM:
		return A_BOLD | (colored ? (attr_t)COLOR_PAIR(PAIR_ALARM) : A_REVERSE);
	}
	return A_NORMAL;
}

void vbd_ctl_screen_put(
	size_t line, size_t column, size_t columns, enum vbd_ctl_style style, const char *text)
{
	size_t room = (size_t)COLS > column ? (size_t)COLS - column : 0;

	if (columns > room)
		columns = room;
	if (line >= (size_t)LINES || columns == 0)
		return;
	(void)attrset((int)attributes_of(style));
	(void)mvaddstr((int)line, (int)column, vbd_ctl_text_fit(text, columns));
	(void)attrset((int)A_NORMAL);
}

void vbd_ctl_screen_show(void)
{
	(void)refresh();
}

static int key_of_curses(int code)
{
	static const struct {
		int code;
		int key;
	} keys[] = {
		{ERR, VBD_CTL_KEY_NONE},
		{'\r', VBD_CTL_KEY_ENTER},
		{'\b', VBD_CTL_KEY_BACKSPACE},
		{KEY_ENTER, VBD_CTL_KEY_ENTER},
		{KEY_BACKSPACE, VBD_CTL_KEY_BACKSPACE},
		{KEY_UP, VBD_CTL_KEY_UP},
		{KEY_DOWN, VBD_CTL_KEY_DOWN},
		{KEY_PPAGE, VBD_CTL_KEY_PAGE_UP},
		{KEY_NPAGE, VBD_CTL_KEY_PAGE_DOWN},
		{KEY_HOME, VBD_CTL_KEY_HOME},
		{KEY_END, VBD_CTL_KEY_END},
		{KEY_RESIZE, VBD_CTL_KEY_RESIZE},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(keys); i++) {
		if (keys[i].code == code)
			return keys[i].key;
	}
	/* Ignore a key without a meaning here, whose code could be taken for a character. */
	return code > 0xff ? VBD_CTL_KEY_NONE : code;
}

int vbd_ctl_screen_key(unsigned int timeout_ms)
{
	struct pollfd terminal = {.fd = STDIN_FILENO, .events = POLLIN};
	int key;

	timeout((int)timeout_ms);
	key = key_of_curses(getch());
	/* If the terminal is gone, reads fail at once, and the caller would loop. */
	if (key == VBD_CTL_KEY_NONE && poll(&terminal, 1, 0) > 0 &&
		(terminal.revents & (POLLHUP | POLLERR | POLLNVAL)))
		return VBD_CTL_KEY_GONE;
	return key;
}
