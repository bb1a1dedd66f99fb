/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tables.h"

#include "base/clock.h"
#include "base/text.h"
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

	bool vbd_event_of_row(const struct vbd_row *row, struct vbd_words *words,
		struct vbd_callers *callers, struct vbd_event *ret_event)
{
	/* Columns are numbered as in the query of vbd_event_table_load(). */
	const char *kind = vbd_row_text(row, 5), *owner = vbd_row_text(row, 9);
	struct vbd_event *event = ret_event;

	*event = (struct vbd_event){.seq = vbd_row_number(row, 2),
		.at_ns = vbd_clock_mono_of_wall_ns(vbd_row_number(row, VBD_EVENT_ROW_AT_NS)),
		.object_id = vbd_row_number(row, 6),
		.port_num = (uint8_t)vbd_row_number(row, 11),
		.labels = vbd_pairs_to_labels(vbd_row_text(row, 8)),
		.owner = owner[0] ? vbd_callers_get(callers, owner) : NULL};
	(void)vbd_text_copy(event->name, sizeof(event->name), vbd_row_text(row, 7));
	(void)vbd_text_copy(event->detail, sizeof(event->detail), vbd_row_text(row, 12));
	return (event->owner || !owner[0]) && parse_type(vbd_row_text(row, 3), &event->type) &&
	       parse_severity(vbd_row_text(row, 4), &event->severity) &&
	       (!kind[0] || vbd_object_kind_parse(kind, &event->kind)) &&
	       take_words(event, vbd_row_text(row, 10), words);
}

enum vbd_status vbd_event_table_load(
	struct vbd_database *database, uint64_t max, struct vbd_link *rows, struct vbd_error *err)
{
	return vbd_database_read(database,
		"SELECT * FROM (SELECT " VBD_RUN_OF_ROW ", at_ns, seq, type, severity, kind,"
		" object_id, name, labels, owner, data, port_num, detail,"
		" sum IS " VBD_EVENT_SUM " FROM events ORDER BY seq DESC LIMIT ?1) ORDER BY seq",
		VBD_VALUES(vbd_value_number(max)), vbd_query_keep, rows, err);
}
