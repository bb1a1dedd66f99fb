/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/event_table.h"

#include "base/clock.h"
#include "daemon/core/caller.h"
#include "daemon/store/database.h"
#include "daemon/store/pairs.h"
#include "daemon/store/store.h"
#include "daemon/store/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void format_words(const struct vbd_event *event, char pairs[VBD_PAIRS_BYTES])
{
	pairs[0] = '\0';
	for (unsigned int i = 0; i < VBD_EVENT_WORD_COUNT; i++) {
		if (event->words[i])
			vbd_pairs_add(pairs, vbd_event_word_name((enum vbd_event_word)i),
				event->words[i]);
	}
}

static bool take_words(struct vbd_event *event, const char *pairs, struct vbd_words *words)
{
	char key[VBD_LABEL_BYTES], value[VBD_LABEL_BYTES];

	while ((pairs = vbd_pairs_next(pairs, key, value))) {
		for (unsigned int i = 0; i < VBD_EVENT_WORD_COUNT; i++) {
			if (strcmp(vbd_event_word_name((enum vbd_event_word)i), key) != 0)
				continue;
			event->words[i] = vbd_words_get(words, value);
			if (!event->words[i])
				return false;
		}
	}
	return true;
}

/* --- writing --------------------------------------------------------------------------------- */

struct event_item {
	struct vbd_store_item item; /* first */
	uint64_t seq, at_wall_ns, object_id;
	const char *type, *severity, *kind; /* static strings */
	char name[VBD_NAME_BYTES], owner[VBD_NAME_BYTES];
	uint8_t port_num;
	char detail[sizeof(((struct vbd_event *)NULL)->detail)];
	char *data;   /* in `texts` */
	char *labels; /* in `texts` */
	char texts[];
};

static const char *or_null(const char *text)
{
	return text && text[0] ? text : NULL;
}

static enum vbd_status write_event(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	const struct event_item *event = (const struct event_item *)item;
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"INSERT OR REPLACE INTO events (seq, run, at_ns, type, severity, kind, object_id,"
		" name, labels, owner, data, port_num, detail)"
		" VALUES (?1, (SELECT max(id) FROM runs), ?2, ?3, ?4, ?5, nullif(?6, 0),"
		" ?7, ?8, ?9, ?10, nullif(?11, 0), ?12)");
	vbd_query_put_u64(&query, event->seq);
	vbd_query_put_u64(&query, event->at_wall_ns);
	vbd_query_put_text(&query, event->type);
	vbd_query_put_text(&query, event->severity);
	vbd_query_put_text(&query, event->kind);
	vbd_query_put_u64(&query, event->object_id);
	vbd_query_put_text(&query, or_null(event->name));
	vbd_query_put_text(&query, or_null(event->labels));
	vbd_query_put_text(&query, or_null(event->owner));
	vbd_query_put_text(&query, or_null(event->data));
	vbd_query_put_u64(&query, event->port_num);
	vbd_query_put_text(&query, event->detail);
	return vbd_query_run(&query, err);
}

static void fill_item(struct event_item *item, const struct vbd_event *event)
{
	item->item.write = write_event;
	item->seq = event->seq;
	item->at_wall_ns = vbd_clock_wall_of_ns(event->at_ns);
	item->object_id = event->object_id;
	item->type = vbd_event_type_name(event->type);
	item->severity = vbd_severity_name(event->severity);
	item->kind = vbd_object_kind_name(event->kind);
	item->port_num = event->port_num;
	memcpy(item->name, event->name, sizeof(item->name));
	if (event->owner)
		memcpy(item->owner, event->owner->name, sizeof(item->owner));
	memcpy(item->detail, event->detail, sizeof(item->detail));
}

void vbd_event_put(struct vbd_store *store, const struct vbd_event *event)
{
	char data[VBD_PAIRS_BYTES], labels[VBD_PAIRS_BYTES];
	struct event_item *item;
	size_t data_bytes, labels_bytes;

	format_words(event, data);
	vbd_pairs_of_labels(event->labels, labels);
	data_bytes = strlen(data) + 1;
	labels_bytes = strlen(labels) + 1;
	item = calloc(1, sizeof(*item) + data_bytes + labels_bytes);
	if (!item)
		return;
	item->item.bytes = sizeof(*item) + data_bytes + labels_bytes;
	item->data = item->texts;
	item->labels = item->texts + data_bytes;
	memcpy(item->data, data, data_bytes);
	memcpy(item->labels, labels, labels_bytes);
	fill_item(item, event);
	vbd_store_put(store, &item->item);
}

/* --- reading --------------------------------------------------------------------------------- */

static bool parse_type(const char *name, enum vbd_event_type *ret_type)
{
	for (unsigned int i = 0; i < VBD_EVENT_TYPE_COUNT; i++) {
		if (strcmp(vbd_event_type_name((enum vbd_event_type)i), name) == 0) {
			*ret_type = (enum vbd_event_type)i;
			return true;
		}
	}
	return false;
}

static bool parse_severity(const char *name, enum vbd_severity *ret_severity)
{
	for (unsigned int i = 0; i < VBD_SEVERITY_COUNT; i++) {
		if (strcmp(vbd_severity_name((enum vbd_severity)i), name) == 0) {
			*ret_severity = (enum vbd_severity)i;
			return true;
		}
	}
	return false;
}

/* Returns whether this version knows the names in the row. */
static bool parse_names(const struct vbd_query *query, struct vbd_event *event)
{
	const char *kind = vbd_query_get_text(query, 5);

	return parse_type(vbd_query_get_text(query, 3), &event->type) &&
	       parse_severity(vbd_query_get_text(query, 4), &event->severity) &&
	       (!kind[0] || vbd_object_kind_parse(kind, &event->kind));
}

/* False without memory. */
static bool read_row(struct vbd_query *query, struct vbd_event_row *row, struct vbd_words *words)
{
	struct vbd_event *event = &row->event;

	event->seq = vbd_query_get_u64(query, 0);
	row->run = vbd_query_get_u64(query, 1);
	row->at_wall_ns = vbd_query_get_u64(query, 2);
	event->object_id = vbd_query_get_u64(query, 6);
	event->port_num = (uint8_t)vbd_query_get_u64(query, 11);
	(void)snprintf(event->name, sizeof(event->name), "%s", vbd_query_get_text(query, 7));
	(void)snprintf(event->detail, sizeof(event->detail), "%s", vbd_query_get_text(query, 12));
	row->labels = vbd_words_get(words, vbd_query_get_text(query, 8));
	row->owner = vbd_words_get(words, vbd_query_get_text(query, 9));
	return row->labels && row->owner && take_words(event, vbd_query_get_text(query, 10), words);
}

enum vbd_status vbd_event_table_load(struct vbd_database *database, uint64_t max,
	struct vbd_words *words, struct vbd_event_row **ret_rows, size_t *ret_count,
	struct vbd_error *err)
{
	struct vbd_event_row *rows;
	struct vbd_query query;
	bool has_memory = true;
	uint64_t room = 0;
	size_t count = 0;
	enum vbd_status status =
		vbd_database_number(database, "SELECT count(*) FROM events", &room, err);

	if (status != VBD_OK)
		return status;
	room = room < max ? room : max;
	rows = calloc(room + 1, sizeof(*rows));
	if (!rows)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the earlier events");
	vbd_query_begin(&query, database,
		"SELECT * FROM (SELECT seq, run, at_ns, type, severity, kind, object_id, name,"
		" labels, owner, data, port_num, detail FROM events ORDER BY seq DESC LIMIT ?1)"
		" ORDER BY seq");
	vbd_query_put_u64(&query, room);
	while (has_memory && vbd_query_row(&query)) {
		memset(&rows[count], 0, sizeof(rows[count]));
		if (!parse_names(&query, &rows[count].event))
			continue;
		has_memory = read_row(&query, &rows[count], words);
		count += !vbd_query_is_bad(&query, !rows[count].event.seq);
	}
	status = vbd_query_end(&query, err);
	if (status == VBD_OK && !has_memory)
		status = vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the earlier events");
	if (status != VBD_OK) {
		free(rows);
		return status;
	}
	*ret_rows = rows;
	*ret_count = count;
	return VBD_OK;
}

enum vbd_status vbd_event_table_trim(
	struct vbd_database *database, uint64_t max, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"DELETE FROM events WHERE seq <="
		" (SELECT seq FROM events ORDER BY seq DESC LIMIT 1 OFFSET ?1)");
	vbd_query_put_u64(&query, max);
	return vbd_query_run(&query, err);
}
