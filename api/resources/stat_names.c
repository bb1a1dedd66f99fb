/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/stat_names.h"

#include "api/json/writer.h"
#include "base/attr.h"

/* A histogram has so many values. */
#define VALUES_MAX 6

/* Texts are places in the texts of struct vbd_stat_names; 0 is the place of no text. */
struct vbd_stat_row {
	const char *metric; /* static: the same text is the same pointer */
	size_t label, label2;
	size_t begin; /* of its texts */
	struct {
		size_t text;
		uint64_t hash; /* 0: the value changes with every request for it */
	} names[VALUES_MAX];
	size_t n_names;
};

/* --- names ----------------------------------------------------------------------------------- */

/* The tag leaves out what changes with every request for it: time, requests, the loop. */
static bool changes_by_itself(const char *name)
{
	static const char *const prefixes[] = {"http_", "loop_", "collector_", "process_",
		"waiting_requests", "event_streams", "idempotency_keys"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(prefixes); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

/* FNV-1a */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash | 1;
}

/* Returns the place of a copy of @text; 0 for NULL and without memory. */
static size_t add_text(struct vbd_stat_names *names, const char *text)
{
	size_t len = text ? strlen(text) + 1 : 0;
	size_t room = names->room_bytes ? names->room_bytes : 16384;
	size_t at = names->texts_bytes ? names->texts_bytes : 1;

	if (!len)
		return 0;
	while (room - at < len)
		room *= 2;
	if (room != names->room_bytes) {
		char *grown = realloc(names->texts, room);

		if (!grown)
			return 0;
		names->texts = grown;
		names->room_bytes = room;
	}
	memcpy(names->texts + at, text, len);
	names->texts_bytes = at + len;
	return at;
}

struct added {
	struct vbd_stat_names *names;
	struct vbd_stat_row *row;
	bool failed;
};

static void add_name(const char *name, uint64_t value, void *arg)
{
	struct added *added = arg;
	struct vbd_stat_row *row = added->row;
	size_t i = row->n_names++;

	(void)value;
	row->names[i].text = add_text(added->names, name);
	row->names[i].hash = changes_by_itself(name) ? 0 : hash_of(name);
	added->failed |= !row->names[i].text;
}

static bool make_room(struct vbd_stat_names *names)
{
	size_t room = names->room_rows ? 2 * names->room_rows : 512;
	struct vbd_stat_row *rows;

	if (names->n_rows < names->room_rows)
		return true;
	rows = reallocarray(names->rows, room, sizeof(*rows));
	if (!rows)
		return false;
	names->rows = rows;
	names->room_rows = room;
	return true;
}

/* Make the row behind the others. Returns NULL without memory. */
static const struct vbd_stat_row *add_row(struct vbd_stat_names *names, const struct vbd_stat *stat)
{
	struct added added = {.names = names};

	if (!make_room(names))
		return NULL;
	added.row = &names->rows[names->n_rows];
	*added.row = (struct vbd_stat_row){.metric = stat->metric, .begin = names->texts_bytes};
	added.row->label = add_text(names, stat->label_value);
	added.row->label2 = add_text(names, stat->label2_value);
	vbd_stat_flatten(stat, add_name, &added);
	added.failed |= stat->label_value && !added.row->label;
	added.failed |= stat->label2_value && !added.row->label2;
	if (added.failed) {
		names->texts_bytes = added.row->begin;
		return NULL;
	}
	names->n_rows++;
	return added.row;
}

static bool same_text(const struct vbd_stat_names *names, size_t at, const char *text)
{
	return text ? at && strcmp(names->texts + at, text) == 0 : !at;
}

static bool is_row_of(const struct vbd_stat_names *names, const struct vbd_stat_row *row,
	const struct vbd_stat *stat)
{
	return row->metric == stat->metric && same_text(names, row->label, stat->label_value) &&
	       same_text(names, row->label2, stat->label2_value);
}

/* The names of a row. The ones behind it are dropped when it is another than in the last walk. */
static const struct vbd_stat_row *find_row(
	struct vbd_stat_names *names, size_t at, const struct vbd_stat *stat)
{
	if (at < names->n_rows) {
		const struct vbd_stat_row *row = &names->rows[at];

		if (is_row_of(names, row, stat))
			return row;
		names->n_rows = at;
		names->texts_bytes = row->begin;
	}
	return add_row(names, stat);
}

void vbd_stat_names_fini(struct vbd_stat_names *names)
{
	free(names->rows);
	free(names->texts);
	*names = (struct vbd_stat_names){0};
}

/* --- values ---------------------------------------------------------------------------------- */

static void put(
	struct vbd_stat_writer *writer, const struct vbd_stat_row *row, size_t i, uint64_t value)
{
	uint64_t hash = row->names[i].hash;

	vbd_put_u64(writer->out, writer->names->texts + row->names[i].text, value);
	if (hash) {
		writer->tag = (writer->tag ^ hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
		writer->tag ^= writer->tag >> 32;
	}
}

struct place {
	struct vbd_stat_writer *writer;
	const struct vbd_stat_row *row;
	size_t i;
};

static void put_next(uint64_t value, void *arg)
{
	struct place *place = arg;

	put(place->writer, place->row, place->i++, value);
}

void vbd_stat_write(const struct vbd_stat *stat, void *arg)
{
	struct vbd_stat_writer *writer = arg;
	const struct vbd_stat_row *row = find_row(writer->names, writer->at, stat);
	struct place place = {writer, row, 0};

	if (!row) {
		writer->out->failed = true;
		return;
	}
	writer->at++;
	vbd_stat_values(stat, put_next, &place);
}
