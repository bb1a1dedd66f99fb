/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tables.h"

#include "base/clock.h"
#include "daemon/core/caller.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

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

#define NEW_SUM                                                                              \
	VBD_SUM("?1, (SELECT server_id FROM runs ORDER BY id DESC LIMIT 1), ?2, ?3, ?4, ?5," \
		" nullif(?6, 0), ?7, ?8, ?9, ?10, nullif(?11, 0), ?12")

void vbd_event_put(struct vbd_store *store, const struct vbd_event *event)
{
	char data[VBD_PAIRS_BYTES], labels[VBD_PAIRS_BYTES];

	format_words(event, data);
	vbd_pairs_of_labels(event->labels, labels);
	(void)vbd_store_put(store, VBD_PROMISE_NOTHING,
		"INSERT INTO events (seq, run, at_ns, type, severity, kind, object_id,"
		" name, labels, owner, data, port_num, detail, sum)"
		" VALUES (?1, (SELECT max(id) FROM runs), ?2, ?3, ?4, ?5, nullif(?6, 0),"
		" ?7, ?8, ?9, ?10, nullif(?11, 0), ?12, " NEW_SUM
		") ON CONFLICT DO UPDATE SET seq = seq WHERE run = excluded.run",
		VBD_VALUES(vbd_value_number(event->seq),
			vbd_value_number(vbd_clock_wall_of_ns(event->at_ns)),
			vbd_value_text(vbd_event_type_name(event->type)),
			vbd_value_text(vbd_severity_name(event->severity)),
			vbd_value_text(vbd_object_kind_name(event->kind)),
			vbd_value_number(event->object_id), vbd_value_word(event->name),
			vbd_value_word(labels),
			vbd_value_word(event->owner ? event->owner->name : NULL),
			vbd_value_word(data), vbd_value_number(event->port_num),
			vbd_value_text(event->detail)));
}

/* --- reading --------------------------------------------------------------------------------- */

static VBD_ENUM_PARSE(parse_type, enum vbd_event_type, 0, VBD_EVENT_TYPE_COUNT,
	vbd_event_type_name) static VBD_ENUM_PARSE(parse_severity, enum vbd_severity, 0,
	VBD_SEVERITY_COUNT, vbd_severity_name)

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
	row->server_id = vbd_words_get(words, vbd_query_get_text(query, 1));
	row->at_wall_ns = vbd_query_get_u64(query, 2);
	event->object_id = vbd_query_get_u64(query, 6);
	event->port_num = (uint8_t)vbd_query_get_u64(query, 11);
	(void)snprintf(event->name, sizeof(event->name), "%s", vbd_query_get_text(query, 7));
	(void)snprintf(event->detail, sizeof(event->detail), "%s", vbd_query_get_text(query, 12));
	row->labels = vbd_words_get(words, vbd_query_get_text(query, 8));
	row->owner = vbd_words_get(words, vbd_query_get_text(query, 9));
	return row->server_id && row->labels && row->owner &&
	       take_words(event, vbd_query_get_text(query, 10), words);
}

struct events {
	struct vbd_words *words;
	struct vbd_event_row **rows;
	size_t *count;
};

static bool take_event(struct vbd_query *query, void *arg)
{
	struct events *events = arg;
	struct vbd_event_row *rows = vbd_query_grow(*events->rows, *events->count, sizeof(*rows));

	if (!rows)
		return false;
	*events->rows = rows;
	rows += *events->count;
	if (!read_row(query, rows, events->words))
		return false;
	*events->count += !vbd_query_is_bad(query, !vbd_query_get_u64(query, 13)) &&
			  parse_names(query, &rows->event);
	return true;
}

enum vbd_status vbd_event_table_load(struct vbd_database *database, uint64_t max,
	struct vbd_words *words, struct vbd_event_row **rows, size_t *count, struct vbd_error *err)
{
	return vbd_database_read(database,
		"SELECT * FROM (SELECT seq,"
		" " VBD_RUN_OF_ROW ", at_ns, type, severity, kind, object_id, name, labels, owner,"
		" data, port_num, detail, sum IS " VBD_EVENT_SUM " FROM events"
		" ORDER BY seq DESC LIMIT ?1) ORDER BY seq",
		VBD_VALUES(vbd_value_number(max)), take_event, &(struct events){words, rows, count},
		err);
}
