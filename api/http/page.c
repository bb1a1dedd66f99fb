/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/page.h"

#include "api/http/archive.h"
#include "api/http/page_parts.h"
#include "api/json/codec.h"
#include "base/text.h"
#include "daemon/core/context.h"

/* --- the cursor ------------------------------------------------------------------------------ */

/*
 * `next` and `after` of lists: the sort key, and the place of the last item of the page, so that
 * the next page is found even when that item is gone. The text is in hex, because clients must not
 * read or make one, and need not encode it in a query.
 */

/* Longest text inside a cursor, and its NUL: a sort key, two numbers and a text. */
#define PLAIN_BYTES 232

/* Put `next`; null if nothing follows the page. */
static void put_cursor(struct vbd_page *page)
{
	const struct vbd_page_place *place = &page->next;
	char plain[PLAIN_BYTES];
	int len = snprintf(plain, sizeof(plain), "%s:%" PRIu64 ":%" PRIu64 ":%s", page->sort,
		place->id, place->number, place->text);

	if (place->id)
		vbd_put_data(
			&page->out, "next", (const uint8_t *)plain, (size_t)len, VBD_ENCODING_HEX);
	else
		vbd_put_null(&page->out, "next");
}

/* Returns whether @cursor is the hex of a text that fits. */
static bool decode_hex(const char *cursor, char plain[PLAIN_BYTES])
{
	size_t digits = strspn(cursor, "0123456789abcdef");
	size_t len = digits / 2;

	if (cursor[digits] || digits % 2 || len >= PLAIN_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		const char pair[3] = {cursor[2 * i], cursor[2 * i + 1], '\0'};

		plain[i] = (char)strtoul(pair, NULL, 16);
	}
	plain[len] = '\0';
	return true;
}

/* Read "7:" at @at; returns what follows, NULL if there is no such number. */
static const char *read_number(const char *at, uint64_t *ret)
{
	char *end;

	if (*at < '0' || *at > '9')
		return NULL;
	*ret = strtoull(at, &end, 10);
	return *end == ':' ? end + 1 : NULL;
}

/* Read the place from an `after`; VBD_E_BAD_VALUE if it is no `next` of a list in this order. */
static enum vbd_status parse_cursor(const struct vbd_page *page, const char *cursor,
	struct vbd_page_place *ret_place, struct vbd_error *err)
{
	char plain[PLAIN_BYTES];
	size_t sort_len = strlen(page->sort);
	const char *at = NULL;

	if (decode_hex(cursor, plain) && strncmp(plain, page->sort, sort_len) == 0 &&
		plain[sort_len] == ':')
		at = read_number(plain + sort_len + 1, &ret_place->id);
	if (at)
		at = read_number(at, &ret_place->number);
	if (!at || !ret_place->id || strlen(at) >= sizeof(ret_place->text))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "after",
			"after must be the `next` of a page of this list with the same sort");
	(void)snprintf(ret_place->text, sizeof(ret_place->text), "%s", at);
	return VBD_OK;
}

/* --- the parameters -------------------------------------------------------------------------- */

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
	for (const struct vbd_page_column *key = page->source->columns; key && key->name; key++) {
		size_t used = strlen(known);

		if (!(key->use & VBD_SORTS))
			continue;
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

/* --- what the items must have ---------------------------------------------------------------- */

/* A device may be gone in the next turn, and its name with it. */
static void add_wish(struct vbd_page *page, const struct vbd_page_wish *wish)
{
	struct vbd_page_wish *added = &page->wishes[page->n_wishes++];

	*added = *wish;
	if (!wish->text || wish->column->kind != VBD_KIND_DEVICE)
		return;
	(void)snprintf(added->device, sizeof(added->device), "%s", wish->text);
	added->text = added->device;
}

/* Refuse a text that no item can have. */
static enum vbd_status check_known_text(
	const struct vbd_page_column *column, const char *value, struct vbd_error *err)
{
	struct vbd_similar similar = {.word = value};
	const char *word;

	if (!column->word)
		return VBD_OK;
	for (unsigned int i = 0; (word = column->word(i)); i++) {
		if (strcmp(word, value) == 0)
			return VBD_OK;
		vbd_similar_try(&similar, word);
	}
	return vbd_refuse_name(column->name, value, &similar, err);
}

enum vbd_status vbd_refuse_name(const char *param, const char *value,
	const struct vbd_similar *similar, struct vbd_error *err)
{
	return vbd_error_input(err, VBD_E_BAD_VALUE, param, "there is no %s '%.64s'%s%s%s", param,
		value, VBD_DID_YOU_MEAN(similar->like));
}

static enum vbd_status parse_wishes(struct vbd_page *page, vbd_page_resolve_fn resolve,
	struct vbd_request *req, struct vbd_error *err)
{
	const struct vbd_page_column *column = page->source->columns;

	for (; column && column->name && page->n_wishes < VBD_PAGE_WISHES_MAX; column++) {
		struct vbd_page_wish wish = {.column = column};
		const char *value = NULL;
		enum vbd_status status =
			column->use & VBD_SELECTS
				? vbd_query_text(req, column->name, 64, &value, err)
				: VBD_OK;

		if (status != VBD_OK)
			return status;
		if (!value)
			continue;
		if (!*value)
			return vbd_error_input(
				err, VBD_E_BAD_VALUE, column->name, "%s is empty", column->name);
		wish.text = value;
		status = column->kind ? resolve(req, column, value, &wish.id, &wish.text, err)
				      : check_known_text(column, value, err);
		if (status != VBD_OK)
			return status;
		add_wish(page, &wish);
	}
	return VBD_OK;
}

/* Take the parameters of a list from its request. */
static enum vbd_status parse_parameters(struct vbd_page *page, vbd_page_resolve_fn resolve,
	struct vbd_request *req, struct vbd_error *err)
{
	const char *after = NULL;
	enum vbd_status status = vbd_query_u64(req, "limit", 1, 1000, &page->limit, err);

	if (status == VBD_OK)
		status = parse_sort(page, req, err);
	if (status == VBD_OK)
		status = vbd_query_text(req, "after", 2 * PLAIN_BYTES, &after, err);
	if (status == VBD_OK && after)
		status = parse_cursor(page, after, &page->after, err);
	if (status == VBD_OK)
		status = parse_state(page, req, err);
	if (status == VBD_OK)
		status = parse_wishes(page, resolve, req, err);
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

/* --- the answer ------------------------------------------------------------------------------ */

/* Items of a page that a step writes: a connection is written in about 4 us. */
#define STEP_ITEMS 25

static void put_head(struct vbd_page *page)
{
	page->sieve = vbd_view_sieve(
		page->turns.req->role, page->source->members, &page->view, &page->sieve_room);
	page->bare =
		vbd_view_sieve(VBD_ROLE_READ, page->source->members, &page->view, &page->bare_room);
	page->out = vbd_encode_begin();
	vbd_put_u64(&page->out, "total", page->total);
	put_cursor(page);
	vbd_begin_array(&page->out, "items");
}

static void put_item(struct vbd_page *page, uint64_t id)
{
	const struct vbd_registry *registry = page->source->after ? NULL : page->listed;
	const void *thing = registry ? vbd_registry_find_id(registry, id)
				     : page->source->after(page->listed, id - 1);
	const struct vbd_record *record = thing ? NULL : vbd_record_find(registry, id);
	bool bare =
		registry && thing && vbd_view_role(page->turns.req, thing) != page->turns.req->role;
	struct vbd_archived past = {.record = record};

	if (!thing && (!record || !vbd_archived_open(&past, record)))
		return;
	vbd_begin_object(&page->out, NULL);
	vbd_encode_through(&page->out, bare ? page->bare : page->sieve);
	if (thing)
		page->source->encode(&page->out, thing);
	else
		vbd_put_json_members(&page->out, past.body);
	vbd_encode_through(&page->out, NULL);
	vbd_end(&page->out);
	vbd_archived_close(&past);
}

static bool write_page(struct vbd_page *page)
{
	if (!page->begun)
		put_head(page);
	page->begun = true;
	for (int i = 0; i < STEP_ITEMS && page->written < page->count; i++)
		put_item(page, page->items[page->written++].id);
	if (page->written < page->count)
		return false;
	vbd_end(&page->out);
	return true;
}

static void free_page(struct vbd_page *page)
{
	vbd_encode_drop(&page->out);
	free(page->items);
	free(page);
}

static void reply_and_free_page(struct vbd_page *page)
{
	struct vbd_error err = {0};

	if (page->failed) {
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the list");
		vbd_reply_problem(page->turns.req, &err);
	} else {
		vbd_reply_add_header(&page->turns.req->reply, "Verbsd-Event", page->event);
		vbd_reply_json(page->turns.req, 200, &page->out);
	}
	free_page(page);
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool make_page_part(struct vbd_in_turns *self)
{
	struct vbd_page *page = VBD_CONTAINER_OF(self, struct vbd_page, turns);
	bool written = page->walked && write_page(page);

	if (!page->walked)
		vbd_page_walk(page);
	if (!written && !page->failed)
		return false;
	reply_and_free_page(page);
	return true;
}

static void drop_page(struct vbd_in_turns *self)
{
	free_page(VBD_CONTAINER_OF(self, struct vbd_page, turns));
}

/* A list without a registry is short. */
static struct vbd_turns *page_turns(const struct vbd_page *page)
{
	const struct vbd_registry *registry = page->source->after ? NULL : page->listed;

	return registry ? &registry->daemon->turns : NULL;
}

void vbd_page_reply(struct vbd_request *req, const char *event,
	const struct vbd_page_source *source, vbd_page_resolve_fn resolve, const void *listed)
{
	struct vbd_page *page = calloc(1, sizeof(*page));

	if (!page) {
		(void)vbd_error_set(&req->err, VBD_E_NO_MEMORY, "no memory for the list");
		return;
	}
	page->turns.req = req;
	page->turns.go_on = make_page_part;
	page->turns.drop = drop_page;
	page->source = source;
	page->caller = req->caller;
	page->listed = listed;
	(void)snprintf(page->event, sizeof(page->event), "%s", event);
	page->limit = 100;
	if (parse_parameters(page, resolve, req, &req->err) != VBD_OK) {
		free_page(page);
		return;
	}
	vbd_page_walk_begin(page);
	vbd_in_turns_run(&page->turns, page_turns(page));
}

const char *vbd_page_name(const void *item)
{
	return ((const struct vbd_object *)item)->name;
}

uint64_t vbd_page_created(const void *item)
{
	return ((const struct vbd_object *)item)->created_ns;
}
