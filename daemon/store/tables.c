/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tables.h"

#include "base/clock.h"
#include "base/text.h"
#include "daemon/core/caller.h"
#include "daemon/store/disk.h"

#include <search.h>

/* --- runs ------------------------------------------------------------------------------------ */

enum vbd_status vbd_run_table_load(
	struct vbd_database *database, char ret_killed[VBD_SERVER_ID_BYTES], struct vbd_error *err)
{
	struct vbd_link rows;
	enum vbd_status status;

	ret_killed[0] = '\0';
	vbd_list_init(&rows);
	status = vbd_database_read(database,
		"SELECT server_id, 1 FROM runs WHERE stopped_ns IS NULL"
		" AND id = (SELECT max(id) FROM runs)",
		NULL, &rows, err);
	vbd_list_for_each (link, &rows)
		(void)vbd_text_copy(ret_killed, VBD_SERVER_ID_BYTES,
			vbd_row_text(VBD_CONTAINER_OF(link, struct vbd_row, link), 0));
	vbd_rows_free(&rows);
	return status;
}

enum vbd_status vbd_run_table_begin(struct vbd_database *database, const char *server_id,
	uint64_t started_wall_ns, struct vbd_error *err)
{
	return vbd_database_execute(database,
		"INSERT OR IGNORE INTO runs (server_id, version, started_ns) VALUES (?1, ?2, ?3)",
		VBD_VALUES(vbd_value_text(server_id), vbd_value_text(VBD_VERSION),
			vbd_value_number(started_wall_ns)),
		err);
}

void vbd_run_put_stop(struct vbd_store *store)
{
	(void)vbd_store_put(store, VBD_PROMISE_NOTHING,
		"UPDATE runs SET stopped_ns = ?1 WHERE id = (SELECT max(id) FROM runs)",
		VBD_VALUES(vbd_value_number(vbd_clock_wall_of_ns(vbd_clock_mono_ns()))));
}

/* --- ids ------------------------------------------------------------------------------------- */

static const char event_kind[] = "event";

static struct vbd_value kind_value(enum vbd_object_kind kind)
{
	return vbd_value_text(kind == VBD_KIND_NONE ? event_kind : vbd_object_kind_name(kind));
}

/* The row of a kind that only a later version knows is ignored. Damage shows in the sum of all
 * rows. */
static void read_id(const struct vbd_row *row, uint64_t ids[VBD_KIND_COUNT])
{
	enum vbd_object_kind kind = VBD_KIND_NONE;
	const char *name = vbd_row_text(row, 0);
	uint64_t last = vbd_row_number(row, 1);

	if (last <= VBD_STORE_ID_MAX &&
		(strcmp(name, event_kind) == 0 || vbd_object_kind_parse(name, &kind)))
		ids[kind] = last;
}

enum vbd_status vbd_id_table_load(
	struct vbd_database *database, uint64_t ret_ids[VBD_KIND_COUNT], struct vbd_error *err)
{
	struct vbd_link rows;
	enum vbd_status status;

	memset(ret_ids, 0, VBD_KIND_COUNT * sizeof(*ret_ids));
	vbd_list_init(&rows);
	status = vbd_database_read(database, "SELECT kind, last, 1 FROM ids", NULL, &rows, err);
	vbd_list_for_each (link, &rows)
		read_id(VBD_CONTAINER_OF(link, const struct vbd_row, link), ret_ids);
	vbd_rows_free(&rows);
	return status;
}

/* ?3: a row with an id below it gets the new id even if that is lower. */
static const char put_id[] = "INSERT INTO ids (kind, last) VALUES (?1, ?2)"
			     " ON CONFLICT (kind) DO UPDATE SET last = max(excluded.last,"
			     " iif(last BETWEEN ?3 AND 9007199254740991, last, 0))";

enum vbd_status vbd_id_table_raise(struct vbd_database *database, enum vbd_object_kind kind,
	uint64_t last, struct vbd_error *err)
{
	return vbd_database_execute(database, put_id,
		VBD_VALUES(kind_value(kind), vbd_value_number(last), vbd_value_number(0)), err);
}

void vbd_id_put(struct vbd_store *store, enum vbd_object_kind kind, uint64_t last)
{
	(void)vbd_store_put(store, VBD_PROMISE_KEPT, put_id,
		VBD_VALUES(kind_value(kind), vbd_value_number(last),
			vbd_value_number(VBD_DATABASE_NUMBER_MAX)));
}

/* --- answers --------------------------------------------------------------------------------- */

enum vbd_status vbd_answer_table_load(struct vbd_database *database, uint64_t since_wall_ns,
	struct vbd_link *rows, struct vbd_error *err)
{
	return vbd_database_read(database,
		"SELECT key, digest, begun_ns, status, code, content_type, headers, body,"
		" length(digest) = 32 AND sum IS " VBD_ANSWER_SUM " FROM answers"
		" WHERE begun_ns >= ?1 OR sum IS NOT " VBD_ANSWER_SUM " ORDER BY id",
		VBD_VALUES(vbd_value_number(since_wall_ns)), rows, err);
}

/* --- desired --------------------------------------------------------------------------------- */

enum vbd_status vbd_desired_table_load(
	struct vbd_database *database, struct vbd_link *rows, struct vbd_error *err)
{
	return vbd_database_read(database,
		"SELECT kind, name, owner, body, sum IS " VBD_DESIRED_SUM " FROM desired"
		" ORDER BY rowid",
		NULL, rows, err);
}

/* --- texts that many events have ------------------------------------------------------------- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, b);
}

void vbd_words_free(struct vbd_words *words)
{
	tdestroy(words->root, free);
	words->root = NULL;
}

const char *vbd_words_get(struct vbd_words *words, const char *text)
{
	/* A node of the tree begins with the pointer to its text. */
	const char **node = tfind(text, &words->root, compare_texts);
	char *copy = node ? NULL : strdup(text);

	if (node)
		return *node;
	if (copy && tsearch(copy, &words->root, compare_texts))
		return copy;
	free(copy);
	return NULL;
}

/* --- pairs ----------------------------------------------------------------------------------- */

static void add_pair(char pairs[VBD_PAIRS_BYTES], const char *key, const char *value)
{
	size_t len = strlen(pairs);

	(void)snprintf(pairs + len, VBD_PAIRS_BYTES - len, "%s%s=%s", len ? "," : "", key, value);
}

/* Copy the first pair. Returns the text behind it; NULL if there is no pair. */
static const char *next_pair(
	const char *pairs, char key[VBD_LABEL_BYTES], char value[VBD_LABEL_BYTES])
{
	size_t key_len = strcspn(pairs, "=");
	size_t value_len;

	if (!pairs[key_len])
		return NULL;
	(void)snprintf(key, VBD_LABEL_BYTES, "%.*s", (int)key_len, pairs);
	pairs += key_len + 1;
	value_len = strcspn(pairs, ",");
	(void)snprintf(value, VBD_LABEL_BYTES, "%.*s", (int)value_len, pairs);
	pairs += value_len;
	return *pairs ? pairs + 1 : pairs;
}

void vbd_pairs_of_labels(const struct vbd_labels *labels, char pairs[VBD_PAIRS_BYTES])
{
	pairs[0] = '\0';
	for (size_t i = 0; labels && i < labels->count; i++)
		add_pair(pairs, labels->items[i].key, labels->items[i].value);
}

struct vbd_labels *vbd_pairs_to_labels(const char *pairs)
{
	char key[VBD_LABEL_BYTES], value[VBD_LABEL_BYTES];
	struct vbd_labels *labels = pairs[0] ? vbd_labels_create(VBD_LABELS_MAX) : NULL;

	if (!labels)
		return NULL;
	while (labels->count < VBD_LABELS_MAX && (pairs = next_pair(pairs, key, value)))
		vbd_labels_add(labels, key, value);
	return labels;
}

/* --- events ---------------------------------------------------------------------------------- */

static void format_event_words(const struct vbd_event *event, char pairs[VBD_PAIRS_BYTES])
{
	pairs[0] = '\0';
	for (unsigned int i = 0; i < VBD_EVENT_WORD_COUNT; i++) {
		if (event->words[i])
			add_pair(pairs, vbd_event_word_name((enum vbd_event_word)i),
				event->words[i]);
	}
}

static bool read_event_words(struct vbd_event *event, const char *pairs, struct vbd_words *words)
{
	char key[VBD_LABEL_BYTES], value[VBD_LABEL_BYTES];

	while ((pairs = next_pair(pairs, key, value))) {
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

#define NEW_SUM                                                                              \
	VBD_SUM("?1, (SELECT server_id FROM runs ORDER BY id DESC LIMIT 1), ?2, ?3, ?4, ?5," \
		" nullif(?6, 0), ?7, ?8, ?9, ?10, nullif(?11, 0), ?12")

void vbd_event_put(struct vbd_store *store, const struct vbd_event *event)
{
	char data[VBD_PAIRS_BYTES], labels[VBD_PAIRS_BYTES];

	format_event_words(event, data);
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
			vbd_value_number(event->object_id), vbd_value_text_or_null(event->name),
			vbd_value_text_or_null(labels),
			vbd_value_text_or_null(event->owner ? event->owner->name : NULL),
			vbd_value_text_or_null(data), vbd_value_number(event->port_num),
			vbd_value_text(event->detail)));
}

/* clang-format off */
static VBD_ENUM_PARSE(
	parse_type, enum vbd_event_type, 0, VBD_EVENT_TYPE_COUNT, vbd_event_type_name)
static VBD_ENUM_PARSE(
	parse_severity, enum vbd_severity, 0, VBD_SEVERITY_COUNT, vbd_severity_name)
	/* clang-format on */

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
	       read_event_words(event, vbd_row_text(row, 10), words);
}

enum vbd_status vbd_event_table_load(
	struct vbd_database *database, uint64_t max, struct vbd_link *rows, struct vbd_error *err)
{
	return vbd_database_read(database,
		"SELECT * FROM (SELECT " VBD_RUN_OF_ROW ", at_ns, seq, type, severity, kind,"
		" object_id, name, labels, owner, data, port_num, detail,"
		" sum IS " VBD_EVENT_SUM " FROM events ORDER BY seq DESC LIMIT ?1) ORDER BY seq",
		VBD_VALUES(vbd_value_number(max)), rows, err);
}

/* --- the bounds ------------------------------------------------------------------------------ */

enum vbd_status vbd_trim_events(struct vbd_database *database, uint64_t max, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_execute(database,
		"DELETE FROM events WHERE seq <="
		" (SELECT seq FROM events ORDER BY seq DESC LIMIT 1 OFFSET ?1)",
		VBD_VALUES(vbd_value_number(max)), err);

	if (status != VBD_OK)
		return status;
	return vbd_database_execute(database,
		"DELETE FROM runs WHERE id < (SELECT min(run) FROM events)"
		" AND id < coalesce((SELECT min(run) FROM records), id + 1)"
		" AND id < (SELECT max(id) FROM runs)",
		NULL, err);
}

static enum vbd_status trim_answers(struct vbd_database *database, struct vbd_error *err)
{
	uint64_t now_wall_ns = vbd_clock_wall_of_ns(vbd_clock_mono_ns());

	return vbd_database_execute(database, "DELETE FROM answers WHERE begun_ns < ?1",
		VBD_VALUES(vbd_value_number(now_wall_ns - VBD_ANSWER_AGE_MAX_NS)), err);
}

/* The daemon deletes the rows of its older records by itself, unless the queue was full. */
static enum vbd_status trim_records(
	const struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	for (unsigned int i = VBD_KIND_DEVICE + 1; i < VBD_KIND_COUNT && status == VBD_OK; i++) {
		if (trim->records_max[i] == VBD_KEPT_WITHIN)
			continue;
		status = vbd_database_execute(database,
			"DELETE FROM records WHERE kind = ?1 AND ended_ns IS NOT NULL AND id <="
			" (SELECT id FROM records WHERE kind = ?1 AND ended_ns IS NOT NULL"
			" ORDER BY id DESC LIMIT 1 OFFSET ?2)",
			VBD_VALUES(vbd_value_text(vbd_object_kind_name((enum vbd_object_kind)i)),
				vbd_value_number(trim->records_max[i])),
			err);
	}
	return status;
}

enum vbd_status vbd_trim_run(
	struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	uint64_t newest = 0;
	enum vbd_status status = vbd_database_number(database,
		"SELECT (SELECT coalesce(max(seq), 0) FROM events)"
		" + (SELECT coalesce(max(id), 0) FROM answers)"
		" + (SELECT coalesce(max(rowid), 0) FROM records)",
		&newest, err);

	if (status != VBD_OK || newest < trim->trimmed + VBD_TRIM_SLACK)
		return status;
	trim->trimmed = newest;
	status = vbd_trim_events(database, trim->events_max, err);
	if (status == VBD_OK)
		status = trim_answers(database, err);
	return status == VBD_OK ? trim_records(trim, database, err) : status;
}
