/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/answer_table.h"

#include "base/list.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An answer with its texts behind it, in one allocation. */
struct answer_item {
	struct vbd_store_item
		item; /* first; the link also leads to the next of struct vbd_answers */
	struct vbd_answer answer;
	char texts[];
};

struct vbd_answers {
	struct vbd_link items;
};

static char *append(char *at, const void *bytes, size_t len_bytes, const void **ret_copy)
{
	if (len_bytes)
		memcpy(at, bytes, len_bytes);
	*ret_copy = at;
	return at + len_bytes;
}

static char *append_text(char *at, const char *text, const char **ret_copy)
{
	const void *copy;

	at = append(at, text, strlen(text) + 1, &copy);
	*ret_copy = copy;
	return at;
}

/* NULL without memory. */
static struct answer_item *copy_answer(const struct vbd_answer *answer)
{
	size_t bytes = sizeof(struct answer_item) + strlen(answer->key) + strlen(answer->code) +
		       strlen(answer->content_type) + strlen(answer->headers) + 4 +
		       answer->body_bytes;
	struct answer_item *item = calloc(1, bytes);
	char *at;

	if (!item)
		return NULL;
	item->item.bytes = bytes;
	item->answer = *answer;
	at = append_text(item->texts, answer->key, &item->answer.key);
	at = append_text(at, answer->code, &item->answer.code);
	at = append_text(at, answer->content_type, &item->answer.content_type);
	at = append_text(at, answer->headers, &item->answer.headers);
	(void)append(at, answer->body, answer->body_bytes, &item->answer.body);
	return item;
}

/* --- writing --------------------------------------------------------------------------------- */

static enum vbd_status write_answer(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	const struct vbd_answer *answer = &((const struct answer_item *)item)->answer;
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"INSERT OR REPLACE INTO answers"
		" (key, digest, begun_ns, status, code, content_type, headers, body)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
	vbd_query_put_text(&query, answer->key);
	vbd_query_put_bytes(&query, answer->print, sizeof(answer->print));
	vbd_query_put_u64(&query, answer->begun_wall_ns);
	vbd_query_put_u64(&query, answer->status);
	vbd_query_put_text(&query, answer->code);
	vbd_query_put_text(&query, answer->content_type);
	vbd_query_put_text(&query, answer->headers);
	vbd_query_put_bytes(&query, answer->body, answer->body_bytes);
	return vbd_query_run(&query, err);
}

static enum vbd_status delete_answer(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database, "DELETE FROM answers WHERE key = ?1");
	vbd_query_put_text(&query, ((const struct answer_item *)item)->answer.key);
	return vbd_query_run(&query, err);
}

uint64_t vbd_answer_put(struct vbd_store *store, const struct vbd_answer *answer)
{
	struct answer_item *item = copy_answer(answer);

	if (!item)
		return VBD_TICKET_NONE;
	item->item.write = answer->status ? write_answer : delete_answer;
	return vbd_store_put(store, &item->item);
}

enum vbd_status vbd_answer_table_trim(
	struct vbd_database *database, uint64_t since_wall_ns, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database, "DELETE FROM answers WHERE begun_ns < ?1");
	vbd_query_put_u64(&query, since_wall_ns);
	return vbd_query_run(&query, err);
}

/* --- reading --------------------------------------------------------------------------------- */

/* False if the row is none that this program writes. */
static bool read_row(struct vbd_query *query, struct vbd_answer *answer)
{
	size_t print_bytes;
	const void *print = vbd_query_get_bytes(query, 1, &print_bytes);

	if (print_bytes != sizeof(answer->print))
		return false;
	memcpy(answer->print, print, print_bytes);
	answer->key = vbd_query_get_text(query, 0);
	answer->begun_wall_ns = vbd_query_get_u64(query, 2);
	answer->status = (unsigned int)vbd_query_get_u64(query, 3);
	answer->code = vbd_query_get_text(query, 4);
	answer->content_type = vbd_query_get_text(query, 5);
	answer->headers = vbd_query_get_text(query, 6);
	answer->body = vbd_query_get_bytes(query, 7, &answer->body_bytes);
	return true;
}

enum vbd_status vbd_answer_table_load(struct vbd_database *database, uint64_t since_wall_ns,
	struct vbd_answers **ret_answers, struct vbd_error *err)
{
	struct vbd_answers *answers = calloc(1, sizeof(*answers));
	struct vbd_answer answer = {0};
	struct answer_item *item;
	struct vbd_query query;
	bool has_memory = true;
	enum vbd_status status;

	if (!answers)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for earlier answers");
	vbd_list_init(&answers->items);
	vbd_query_begin(&query, database,
		"SELECT key, digest, begun_ns, status, code, content_type, headers, body"
		" FROM answers WHERE begun_ns >= ?1 ORDER BY id");
	vbd_query_put_u64(&query, since_wall_ns);
	while (has_memory && vbd_query_row(&query)) {
		if (vbd_query_is_bad(&query, !read_row(&query, &answer)))
			continue;
		item = copy_answer(&answer);
		has_memory = item != NULL;
		if (item)
			vbd_list_append(&answers->items, &item->item.link);
	}
	status = vbd_query_end(&query, err);
	if (status == VBD_OK && !has_memory)
		status = vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for earlier answers");
	if (status == VBD_OK)
		*ret_answers = answers;
	else
		vbd_answers_free(answers);
	return status;
}

void vbd_answers_walk(const struct vbd_answers *answers,
	void (*cb)(const struct vbd_answer *answer, void *arg), void *arg)
{
	if (!answers)
		return;
	vbd_list_for_each (link, &answers->items)
		cb(&VBD_CONTAINER_OF(link, const struct answer_item, item.link)->answer, arg);
}

void vbd_answers_free(struct vbd_answers *answers)
{
	if (!answers)
		return;
	vbd_list_for_each (link, &answers->items)
		free(VBD_CONTAINER_OF(link, struct answer_item, item.link));
	free(answers);
}
