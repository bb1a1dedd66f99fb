/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/top/view.h"

#include "cmd/verbsctl/common/text.h"

static int compare(const void *a, const void *b, void *arg)
{
	const struct vbd_ctl_top_view *view = arg;

	return vbd_ctl_top_compare(*(const struct vbd_ctl_row *const *)a,
		*(const struct vbd_ctl_row *const *)b, view->sort, view->reverse);
}

static void choose(struct vbd_ctl_top_view *view, size_t at)
{
	if (at >= view->shown_count)
		at = view->shown_count ? view->shown_count - 1 : 0;
	view->chosen_at = at;
	view->chosen = view->shown_count ? view->shown[at]->id : 0;
}

void vbd_ctl_top_view_take(struct vbd_ctl_top_view *view, const struct vbd_ctl_rows *rows)
{
	size_t at = view->holds ? view->chosen_at : 0;

	free(view->shown);
	view->shown = vbd_ctl_must(calloc(rows->count + 1, sizeof(const struct vbd_ctl_row *)));
	view->shown_count = 0;
	for (size_t i = 0; i < rows->count; i++) {
		if (vbd_ctl_row_matches(&rows->items[i], view->filter))
			view->shown[view->shown_count++] = &rows->items[i];
	}
	qsort_r(view->shown, view->shown_count, sizeof(const struct vbd_ctl_row *), compare, view);
	for (size_t i = 0; i < view->shown_count; i++) {
		if (view->holds && view->shown[i]->id == view->chosen)
			at = i;
	}
	/* The detail page keeps showing its connection after the list has lost it. */
	if (view->page != VBD_CTL_TOP_DETAIL)
		choose(view, at);
}

/* Removes the last character with all its bytes. */
static void filter_shorten(char *filter)
{
	size_t len = strlen(filter);

	while (len && ((unsigned char)filter[len - 1] & 0xc0) == 0x80)
		len--;
	if (len)
		filter[len - 1] = '\0';
}

static void type(struct vbd_ctl_top_view *view, int key)
{
	size_t len = strlen(view->filter);

	if (key == VBD_CTL_KEY_ENTER) {
		view->typing = false;
	} else if (key == VBD_CTL_KEY_ESCAPE) {
		view->typing = false;
		memcpy(view->filter, view->filter_before, sizeof(view->filter));
	} else if (key == VBD_CTL_KEY_BACKSPACE) {
		filter_shorten(view->filter);
	} else if (key >= ' ' && key <= 0xff && len + 1 < sizeof(view->filter)) {
		view->filter[len] = (char)key;
		view->filter[len + 1] = '\0';
	}
}

/* The new position after a movement key at @at of @count; -1 for other keys. */
static long moved(int key, size_t at, size_t count, size_t page_lines)
{
	size_t page = page_lines > 1 ? page_lines - 1 : 1;

	switch (key) {
	case VBD_CTL_KEY_UP:
	case 'k':
		return at ? (long)at - 1 : 0;
	case VBD_CTL_KEY_DOWN:
	case 'j':
		return (long)at + 1;
	case VBD_CTL_KEY_PAGE_UP:
		return at > page ? (long)(at - page) : 0;
	case VBD_CTL_KEY_PAGE_DOWN:
	case ' ':
		return (long)(at + page);
	case VBD_CTL_KEY_HOME:
	case 'g':
		return 0;
	case VBD_CTL_KEY_END:
	case 'G':
		return (long)count;
	default:
		return -1;
	}
}

/* The column @step places to the right of a column; negative to the left. */
static enum vbd_ctl_top_column neighbour(enum vbd_ctl_top_column column, int step)
{
	return (enum vbd_ctl_top_column)(
		((int)column + step + VBD_CTL_TOP_COLUMN_END) % VBD_CTL_TOP_COLUMN_END);
}

static void sort_by(struct vbd_ctl_top_view *view, enum vbd_ctl_top_column column)
{
	view->reverse = column == view->sort && !view->reverse;
	view->sort = column;
}

static enum vbd_ctl_top_action list_key(struct vbd_ctl_top_view *view, int key, size_t page_lines)
{
	long at = moved(key, view->chosen_at, view->shown_count, page_lines);
	enum vbd_ctl_top_column column = vbd_ctl_top_column_of_letter(key);

	if (at >= 0) {
		choose(view, (size_t)at);
		view->holds = view->chosen_at > 0;
	} else if (column != VBD_CTL_TOP_COLUMN_END) {
		sort_by(view, column);
	} else if (key == '<' || key == '>') {
		view->reverse = false;
		view->sort = neighbour(view->sort, key == '<' ? -1 : 1);
	} else if (key == 'r') {
		view->reverse = !view->reverse;
	} else if (key == '/') {
		view->typing = true;
		memcpy(view->filter_before, view->filter, sizeof(view->filter));
	} else if (key == VBD_CTL_KEY_ESCAPE) {
		view->filter[0] = '\0';
	} else if (key == 'a') {
		view->ended = !view->ended;
		return VBD_CTL_TOP_FETCH;
	} else if (key == VBD_CTL_KEY_ENTER && view->chosen) {
		view->page = VBD_CTL_TOP_DETAIL;
		view->holds = true;
		view->scroll = 0;
		return VBD_CTL_TOP_FETCH;
	}
	return VBD_CTL_TOP_DRAW;
}

static void other_page_key(struct vbd_ctl_top_view *view, int key, size_t page_lines)
{
	/* Only the drawing knows the number of lines; it limits the position. */
	long at = moved(key, view->scroll, SIZE_MAX / 4, page_lines);

	if (at >= 0)
		view->scroll = (size_t)at;
	else if (key == VBD_CTL_KEY_ESCAPE || key == VBD_CTL_KEY_ENTER ||
		 key == VBD_CTL_KEY_BACKSPACE || key == '?' || key == 'h' || key == 'q')
		view->page = VBD_CTL_TOP_LIST;
}

enum vbd_ctl_top_action vbd_ctl_top_view_key(
	struct vbd_ctl_top_view *view, const struct vbd_ctl_rows *rows, int key, size_t page_lines)
{
	enum vbd_ctl_top_action action = VBD_CTL_TOP_DRAW;

	if (key == VBD_CTL_KEY_GONE) {
		view->quit = true;
	} else if (view->typing) {
		type(view, key);
	} else if (view->page != VBD_CTL_TOP_LIST) {
		other_page_key(view, key, page_lines);
	} else if (key == 'q') {
		view->quit = true;
	} else if (key == '?' || key == 'h') {
		view->page = VBD_CTL_TOP_HELP;
		view->scroll = 0;
	} else {
		action = list_key(view, key, page_lines);
	}
	vbd_ctl_top_view_take(view, rows);
	return action;
}

void vbd_ctl_top_view_settle(struct vbd_ctl_top_view *view, size_t lines)
{
	size_t last = view->shown_count > lines ? view->shown_count - lines : 0;

	if (view->chosen_at < view->first)
		view->first = view->chosen_at;
	if (lines && view->chosen_at >= view->first + lines)
		view->first = view->chosen_at - lines + 1;
	if (view->first > last)
		view->first = last;
}

void vbd_ctl_top_view_fini(struct vbd_ctl_top_view *view)
{
	free(view->shown);
	view->shown = NULL;
	view->shown_count = 0;
}
