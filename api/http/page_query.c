/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of lists. */
#include "api/http/page_parts.h"

#include "base/text.h"

#include <stdio.h>

static enum vbd_status parse_sort(
	struct vbd_page *page, const struct vbd_request *req, struct vbd_error *err)
{
	const char *sort = "id";
	char known[160] = "id";
	enum vbd_status status = vbd_query_text(req, "sort", 32, &sort, err);

	if (status != VBD_OK)
		return status;
	page->sort = sort;
	page->descending = *sort == '-';
	sort += page->descending;
	if (strcmp(sort, "id") == 0)
		return VBD_OK;
	for (const struct vbd_page_key *key = page->source->keys; key->name; key++) {
		size_t used = strlen(known);

		if (strcmp(sort, key->name) == 0) {
			page->key = key;
			return VBD_OK;
		}
		(void)snprintf(known + used, sizeof(known) - used, ", %s", key->name);
	}
	return vbd_error_input(
		err, VBD_E_BAD_VALUE, "sort", "sort must be one of: %s; '-' may precede it", known);
}

/* --- states ---------------------------------------------------------------------------------- */

bool vbd_page_add_states(
	const struct vbd_page_state *states, const char *word, size_t len, uint64_t *states_mask)
{
	bool open = len == strlen("open") && memcmp(word, "open", len) == 0;
	bool ended = len == strlen("ended") && memcmp(word, "ended", len) == 0;
	uint64_t mask = 0;

	for (size_t i = 0; states[i].name; i++) {
		const char *name = states[i].name;
		bool named = strlen(name) == len && memcmp(name, word, len) == 0;

		if (named || (states[i].ended ? ended : open))
			mask |= UINT64_C(1) << i;
	}
	*states_mask |= mask;
	return mask || open || ended;
}

void vbd_page_add_state_names(const struct vbd_page_state *states, char *text, size_t size_bytes)
{
	for (size_t i = 0; states[i].name; i++) {
		size_t used = strlen(text);

		/* States that share a name are neighbours. */
		if (i == 0 || strcmp(states[i].name, states[i - 1].name) != 0)
			(void)snprintf(text + used, size_bytes - used, ", %s", states[i].name);
	}
}

static enum vbd_status refuse_state(
	const struct vbd_page_state *states, const char *word, size_t len, struct vbd_error *err)
{
	char known[180] = "open, ended";

	vbd_page_add_state_names(states, known, sizeof(known));
	return vbd_error_input(err, VBD_E_BAD_VALUE, "state",
		"state has '%.*s'; it must be a list of: %s", len < 32 ? (int)len : 32, word,
		known);
}

static enum vbd_status parse_state(
	struct vbd_page *page, const struct vbd_request *req, struct vbd_error *err)
{
	const struct vbd_page_state *states = page->source->states;
	const char *at = "open";
	enum vbd_status status;

	if (!states)
		return VBD_OK;
	status = vbd_query_text(req, "state", 256, &at, err);
	if (status != VBD_OK)
		return status;
	for (;;) {
		size_t len = strcspn(at, ",");

		if (!vbd_page_add_states(states, at, len, &page->states))
			return refuse_state(states, at, len, err);
		if (!at[len])
			return VBD_OK;
		at += len + 1;
	}
}

/* --- filters --------------------------------------------------------------------------------- */

/* A device may be gone in the next turn, and its name with it. */
static void add_wish(struct vbd_page *page, const struct vbd_page_wish *wish)
{
	struct vbd_page_wish *added = &page->wishes[page->n_wishes++];

	*added = *wish;
	if (!wish->text || wish->filter->kind != VBD_KIND_DEVICE)
		return;
	(void)snprintf(added->device, sizeof(added->device), "%s", wish->text);
	added->text = added->device;
}

/* Refuse a text that no item can have. */
static enum vbd_status check_word(
	const struct vbd_page_filter *filter, const char *value, struct vbd_error *err)
{
	struct vbd_similar similar = {.word = value};
	const char *word;

	if (!filter->word)
		return VBD_OK;
	for (unsigned int i = 0; (word = filter->word(i)); i++) {
		if (strcmp(word, value) == 0)
			return VBD_OK;
		vbd_similar_try(&similar, word);
	}
	return vbd_refuse_name(filter->name, value, &similar, err);
}

enum vbd_status vbd_refuse_name(const char *param, const char *value,
	const struct vbd_similar *similar, struct vbd_error *err)
{
	return vbd_error_input(err, VBD_E_BAD_VALUE, param, "there is no %s '%.64s'%s%s%s", param,
		value, VBD_DID_YOU_MEAN(similar->like));
}

static enum vbd_status parse_filters(struct vbd_page *page, vbd_page_resolve_fn resolve,
	struct vbd_request *req, struct vbd_error *err)
{
	const struct vbd_page_filter *filter = page->source->filters;

	for (; filter && filter->name && page->n_wishes < VBD_PAGE_FILTERS_MAX; filter++) {
		struct vbd_page_wish wish = {.filter = filter};
		const char *value = NULL;
		enum vbd_status status = vbd_query_text(req, filter->name, 64, &value, err);

		if (status != VBD_OK)
			return status;
		if (!value)
			continue;
		if (!*value)
			return vbd_error_input(
				err, VBD_E_BAD_VALUE, filter->name, "%s is empty", filter->name);
		wish.text = value;
		status = filter->kind ? resolve(req, filter, value, &wish.id, &wish.text, err)
				      : check_word(filter, value, err);
		if (status != VBD_OK)
			return status;
		add_wish(page, &wish);
	}
	return VBD_OK;
}

enum vbd_status vbd_page_parse(struct vbd_page *page, vbd_page_resolve_fn resolve,
	struct vbd_request *req, struct vbd_error *err)
{
	const char *after = NULL;
	enum vbd_status status = vbd_query_u64(req, "limit", 1, 1000, &page->limit, err);

	if (status == VBD_OK)
		status = parse_sort(page, req, err);
	if (status == VBD_OK)
		status = vbd_query_text(req, "after", VBD_PAGE_CURSOR_BYTES, &after, err);
	if (status == VBD_OK && after)
		status = vbd_page_cursor_parse(page, after, &page->after, err);
	if (status == VBD_OK)
		status = parse_state(page, req, err);
	if (status == VBD_OK)
		status = parse_filters(page, resolve, req, err);
	if (status == VBD_OK)
		status = vbd_query_labels(req, &page->labels, err);
	if (status == VBD_OK)
		status = vbd_view_parse(req, page->source->members, true, &page->view, err);
	return status;
}

#define SELECTOR_CHARS_MAX (VBD_LABELS_MAX * 2 * VBD_LABEL_BYTES)

enum vbd_status vbd_query_labels(
	const struct vbd_request *req, struct vbd_label_selector *selector, struct vbd_error *err)
{
	const char *text = NULL;
	enum vbd_status status = vbd_query_text(req, "label", SELECTOR_CHARS_MAX, &text, err);

	selector->count = 0;
	if (status != VBD_OK || !text)
		return status;
	return vbd_label_selector_parse(selector, text, "label", err);
}
