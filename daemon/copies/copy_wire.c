/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies/copy_wire.h"

#include "base/text.h"
#include "daemon/core/registry.h"

#include <gnutls/crypto.h>

VBD_ENUM_NAMES(vbd_copy_message_name, enum vbd_copy_message_type, VBD_COPY_MESSAGE_MAP)
VBD_ENUM_NAMES(vbd_copy_overwrite_name, enum vbd_copy_overwrite, VBD_COPY_OVERWRITE_MAP)
VBD_ENUM_NAMES(vbd_copy_fault_name, enum vbd_copy_fault, VBD_COPY_FAULT_MAP)
VBD_ENUM_COLUMN(const char *, vbd_copy_fault_text, enum vbd_copy_fault, VBD_COPY_FAULT_MAP, 3)

#define HEADER_BYTES  8	 /* of a message, and of the header of a slot */
#define ENTRY_BYTES   22 /* without the path */
#define VERDICT_BYTES 16
#define LAST_AT	      12 /* where ENTRIES says whether it is the last page */
#define SLOT_TYPE     255
#define OPTIONS_MAX   15 /* the sum of all options */
/* "vbdc": a HELLO begins with it, so that no message of another program passes for one. */
#define MAGIC UINT32_C(0x76626463)

/* A number or an array of a struct, as it is on the wire. */
struct field {
	const char *name;
	uint16_t at;	   /* the place in the struct */
	uint8_t size;	   /* in the struct; 0: it is not there */
	uint8_t bytes;	   /* on the wire; more than 8: an array */
	uint64_t min, max; /* of the number */
};

/* clang-format off */
#define NUMBER(type, member, bytes, min, max) \
	{#member, offsetof(struct type, member), sizeof(((struct type *)0)->member), bytes, min, max}
#define ARRAY(member, bytes) NUMBER(vbd_copy_message, member, bytes, 0, 0)
#define FLAG(type, member) NUMBER(type, member, 1, 0, 1)
/* An offset or size of a file, as off_t has it. */
#define SIZE(type, member) NUMBER(type, member, 8, 0, INT64_MAX)
#define FAULT(type, member, min) NUMBER(type, member, 1, min, VBD_COPY_FAULT_COUNT - 1)
#define CONSTANT(name, bytes, value) {name, 0, 0, bytes, value, value}
#define RESERVED(bytes) CONSTANT("a reserved byte", bytes, 0)
#define OF(member, bytes, min, max) NUMBER(vbd_copy_message, member, bytes, min, max)
#define WINDOW(member) \
	OF(member.addr, 8, 0, UINT64_MAX), \
	OF(member.rkey, 4, 0, UINT32_MAX), \
	OF(member.slot_bytes, 4, 0, VBD_COPY_SLOT_BYTES_MAX), \
	OF(member.slots, 4, 0, VBD_COPY_SLOTS_MAX)

/* The tables of the messages, without what has a length of its own. */
static const struct field hello_fields[] = {
	CONSTANT("the mark of verbsd", 4, MAGIC),
	OF(hello.version_min, 4, 1, VBD_COPY_VERSION),
	OF(hello.version_max, 4, VBD_COPY_VERSION, UINT32_MAX),
	OF(hello.options, 4, 0, OPTIONS_MAX),
	FLAG(vbd_copy_message, hello.pull),
	OF(hello.overwrite, 1, 0, VBD_COPY_OVERWRITE_COUNT - 1),
	RESERVED(2),
	ARRAY(hello.nonce, VBD_COPY_NONCE_BYTES),
};
static const struct field challenge_fields[] = {
	OF(challenge.version, 4, VBD_COPY_VERSION, VBD_COPY_VERSION),
	FLAG(vbd_copy_message, challenge.needs_proof),
	RESERVED(3),
	ARRAY(challenge.nonce, VBD_COPY_NONCE_BYTES),
};
static const struct field proof_fields[] = {ARRAY(proof.mac, VBD_COPY_MAC_BYTES)};
static const struct field ready_fields[] = {ARRAY(ready.mac, VBD_COPY_MAC_BYTES), WINDOW(ready.window)};
static const struct field start_fields[] = {WINDOW(start.window)};
static const struct field entries_fields[] = {
	OF(entries.first, 4, 0, UINT32_MAX),
	FLAG(vbd_copy_message, entries.last),
	RESERVED(3),
};
static const struct field sum_fields[] = {
	OF(sum.entry, 4, 0, UINT32_MAX),
	ARRAY(sum.digest, VBD_COPY_SUM_BYTES),
};
static const struct field dropped_fields[] = {
	OF(dropped.entry, 4, 0, UINT32_MAX),
	FAULT(vbd_copy_message, dropped.fault, 1),
	RESERVED(3),
};
static const struct field end_fields[] = {
	SIZE(vbd_copy_message, end.files),
	SIZE(vbd_copy_message, end.bytes),
};
static const struct field bye_fields[] = {FAULT(vbd_copy_message, bye.fault, 1), RESERVED(1)};

static const struct field entry_fields[] = {
	NUMBER(vbd_copy_entry, type, 1, VBD_COPY_FILE, VBD_COPY_DIRECTORY),
	RESERVED(1),
	NUMBER(vbd_copy_entry, mode, 2, 0, 0777),
	NUMBER(vbd_copy_entry, mtime_ns, 8, 0, UINT64_MAX),
	SIZE(vbd_copy_entry, size_bytes),
};
static const struct field verdict_fields[] = {
	NUMBER(vbd_copy_verdict, entry, 4, 0, UINT32_MAX),
	FAULT(vbd_copy_verdict, fault, 0),
	RESERVED(3),
	SIZE(vbd_copy_verdict, offset_bytes),
};
static const struct field piece_fields[] = {
	NUMBER(vbd_copy_piece, entry, 4, 0, UINT32_MAX),
	NUMBER(vbd_copy_piece, length_bytes, 4, 0, VBD_COPY_SLOT_BYTES_MAX),
	SIZE(vbd_copy_piece, offset_bytes),
	NUMBER(vbd_copy_piece, crc32c, 4, 0, UINT32_MAX),
	FLAG(vbd_copy_piece, last),
	RESERVED(3),
};
/* clang-format on */

/*
 * A message that is read or written. The same functions do both, so both agree. What is checked is
 * what was read: a writer looks at nothing but the place.
 */
struct wire {
	const uint8_t *from; /* NULL when writing */
	uint8_t *to;	     /* NULL when reading */
	uint32_t at, end;
	uint32_t count;	  /* of items, in the header */
	const char *what; /* is read: a message or a slot */
	bool bad;
	struct vbd_error *err; /* why; may be NULL */
};

static void must(struct wire *w, bool holds, const char *wrong)
{
	if (holds)
		return;
	w->bad = true;
	(void)vbd_error_set(w->err, VBD_E_BAD_VALUE, "%s: %s", w->what, wrong);
}

/* The next bytes, which stay where they are if they are read; NULL if there are too few. */
static const uint8_t *pass_view(struct wire *w, const void *bytes, uint32_t count)
{
	uint32_t at = w->at;

	must(w, w->end - at >= count, "it is too short");
	if (w->end - at < count)
		return NULL;
	w->at += count;
	if (w->from)
		return w->from + at;
	return count ? memcpy(w->to + at, bytes, count) : w->to + at;
}

static void pass_bytes(struct wire *w, void *bytes, uint32_t count)
{
	const uint8_t *at = pass_view(w, bytes, count);

	if (w->from && at)
		memcpy(bytes, at, count);
}

/* Returns the number that was read, or @value when writing. */
static uint64_t pass_number(struct wire *w, uint32_t bytes, uint64_t value)
{
	uint8_t wire[8] = {0};

	for (uint32_t i = 0; i < bytes; i++)
		wire[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
	pass_bytes(w, wire, bytes);
	value = 0;
	for (uint32_t i = 0; i < bytes; i++)
		value = value << 8 | wire[i];
	return value;
}

static uint64_t load(const void *member, uint32_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)member;
	case 4:
		return *(const uint32_t *)member;
	case 8:
		return *(const uint64_t *)member;
	default:
		return 0;
	}
}

static void store(void *member, uint32_t size, uint64_t value)
{
	if (size == 1)
		*(uint8_t *)member = (uint8_t)value;
	else if (size == 4)
		*(uint32_t *)member = (uint32_t)value;
	else if (size == 8)
		*(uint64_t *)member = value;
}

static void pass_field(struct wire *w, const struct field *field, void *object)
{
	void *member = (char *)object + field->at;
	uint64_t value = field->size ? load(member, field->size) : field->min;

	if (field->bytes > sizeof(value)) {
		pass_bytes(w, member, field->bytes);
		return;
	}
	value = pass_number(w, field->bytes, value);
	if (value >= field->min && value <= field->max) {
		store(member, field->size, value);
		return;
	}
	w->bad = true;
	(void)vbd_error_set(w->err, VBD_E_BAD_VALUE,
		"%s: %s is %" PRIu64 ", and can be from %" PRIu64 " to %" PRIu64, w->what,
		field->name, value, field->min, field->max);
}

static void pass_fields(struct wire *w, const struct field *fields, size_t count, void *object)
{
	for (size_t i = 0; i < count; i++)
		pass_field(w, &fields[i], object);
}

#define PASS(w, fields, object) pass_fields(w, fields, VBD_ARRAY_LEN(fields), object)

/* Text with its length in two bytes before it. */
static const uint8_t *pass_text(struct wire *w, const void *text, uint32_t *bytes, uint32_t max)
{
	*bytes = (uint32_t)pass_number(w, 2, *bytes);
	must(w, *bytes <= max, "a name, path or text is too long");
	return *bytes <= max ? pass_view(w, text, *bytes) : NULL;
}

static void pass_string(struct wire *w, char *text, uint32_t max)
{
	uint32_t bytes = (uint32_t)strlen(text);
	const uint8_t *at = pass_text(w, text, &bytes, max);

	if (w->from && at)
		memcpy(text, at, bytes);
	must(w, strlen(text) == bytes && vbd_utf8_line(text, strlen(text)),
		"a name or text is no printable line");
}

static void pass_header(struct wire *w, uint8_t *type, uint32_t *length_bytes)
{
	*type = (uint8_t)pass_number(w, 1, *type);
	must(w, pass_number(w, 1, 0) == 0, "a reserved byte is not 0");
	w->count = (uint32_t)pass_number(w, 2, w->count);
	*length_bytes = (uint32_t)pass_number(w, 4, *length_bytes);
}

static void write_header(uint8_t *to, uint8_t type, uint32_t count, uint32_t length_bytes)
{
	struct wire w = {.to = to, .end = HEADER_BYTES, .count = count};

	pass_header(&w, &type, &length_bytes);
}

static void pass_hello(struct wire *w, struct vbd_copy_message *message)
{
	struct vbd_copy_hello *hello = &message->hello;

	pass_string(w, hello->export, sizeof(hello->export) - 1);
	must(w, vbd_name_valid(hello->export), "the name of the export is no name");
	hello->path = pass_text(w, hello->path, &hello->path_bytes, VBD_COPY_PATH_BYTES);
	must(w, hello->path && hello->path_bytes && !memchr(hello->path, 0, hello->path_bytes),
		"the path is empty or has a NUL");
}

static void check_window(struct wire *w, struct vbd_copy_message *message)
{
	const struct vbd_copy_window *window = message->type == VBD_COPY_MSG_READY
						       ? &message->ready.window
						       : &message->start.window;
	uint64_t bytes = (uint64_t)window->slots * window->slot_bytes;

	if (window->addr || window->rkey || window->slot_bytes || window->slots)
		must(w,
			window->slots && window->slot_bytes >= VBD_COPY_SLOT_BYTES_MIN &&
				window->addr <= UINT64_MAX - bytes,
			"the window has no slots, slots that are too small, or no end");
}

/* Relative, and without a component that is empty, "." or "..". */
static bool path_valid(const uint8_t *path, uint32_t path_bytes)
{
	const uint8_t *end = path + path_bytes;

	if (memchr(path, 0, path_bytes))
		return false;
	for (const uint8_t *at = path, *slash; path_bytes && at <= end; at = slash + 1) {
		slash = memchr(at, '/', (size_t)(end - at));
		slash = slash ? slash : end;
		if (slash == at || (slash - at == 1 && *at == '.') ||
			(slash - at == 2 && at[0] == '.' && at[1] == '.'))
			return false;
	}
	return true;
}

static void pass_entry(struct wire *w, struct vbd_copy_entry *entry)
{
	PASS(w, entry_fields, entry);
	must(w, entry->type == VBD_COPY_FILE || !entry->size_bytes, "a directory has a size");
	entry->path = pass_text(w, entry->path, &entry->path_bytes, VBD_COPY_PATH_BYTES);
	must(w, entry->path && path_valid(entry->path, entry->path_bytes),
		"a path leads out, or is no path");
}

/* A decoded message has the place of its list only. */
static void pass_entries(struct wire *w, struct vbd_copy_message *message)
{
	message->entries.count = w->count;
	message->entries.at = w->from + w->at;
	message->entries.left_bytes = w->end - w->at;
	must(w, w->count || message->entries.last, "the page is empty, and not the last one");
	must(w, message->entries.first <= UINT32_MAX - w->count, "there are too many entries");
	for (uint32_t i = 0; i < w->count && !w->bad; i++) {
		struct vbd_copy_entry entry = {0};

		pass_entry(w, &entry);
		must(w, entry.path_bytes || message->entries.first + i == 0,
			"the path of an entry other than the first is empty");
	}
}

static void pass_verdicts(struct wire *w, struct vbd_copy_message *message)
{
	message->verdicts.count = w->count;
	message->verdicts.at = w->from + w->at;
	for (uint32_t i = 0; i < w->count && !w->bad; i++) {
		struct vbd_copy_verdict verdict = {0};

		PASS(w, verdict_fields, &verdict);
		must(w,
			!verdict.offset_bytes || (message->type == VBD_COPY_MSG_WANT &&
							 verdict.fault == VBD_COPY_FAULT_OK),
			"there is an offset where nothing is wanted");
	}
}

static void pass_free(struct wire *w, struct vbd_copy_message *message)
{
	uint64_t seen = 0;

	message->free.count = w->count;
	for (uint32_t i = 0; i < w->count; i++) {
		uint64_t slot = pass_number(w, 2, message->free.slots[i]);

		must(w, slot < VBD_COPY_SLOTS_MAX && !(seen & UINT64_C(1) << slot % 64),
			"a slot does not exist, or is there twice");
		seen |= UINT64_C(1) << slot % 64;
		message->free.slots[i] = (uint16_t)slot;
	}
}

static void pass_bye(struct wire *w, struct vbd_copy_message *message)
{
	pass_string(w, message->bye.text, VBD_COPY_TEXT_BYTES);
}

/* clang-format off */
#define FIELDS(fields) fields, VBD_ARRAY_LEN(fields)
static const struct body {
	const struct field *fields;
	size_t field_count;
	uint16_t count_min, count_max; /* of items */
	void (*pass_rest)(struct wire *w, struct vbd_copy_message *message);
} bodies[VBD_COPY_MSG_COUNT] = {
	[VBD_COPY_MSG_HELLO] = {FIELDS(hello_fields), 0, 0, pass_hello},
	[VBD_COPY_MSG_CHALLENGE] = {FIELDS(challenge_fields), 0, 0, NULL},
	[VBD_COPY_MSG_PROOF] = {FIELDS(proof_fields), 0, 0, NULL},
	[VBD_COPY_MSG_READY] = {FIELDS(ready_fields), 0, 0, check_window},
	[VBD_COPY_MSG_START] = {FIELDS(start_fields), 0, 0, check_window},
	[VBD_COPY_MSG_ENTRIES] = {FIELDS(entries_fields), 0, VBD_COPY_ENTRIES_MAX, pass_entries},
	[VBD_COPY_MSG_WANT] = {NULL, 0, 1, VBD_COPY_ENTRIES_MAX, pass_verdicts},
	[VBD_COPY_MSG_FREE] = {NULL, 0, 1, VBD_COPY_SLOTS_MAX, pass_free},
	[VBD_COPY_MSG_SUM] = {FIELDS(sum_fields), 0, 0, NULL},
	[VBD_COPY_MSG_DROPPED] = {FIELDS(dropped_fields), 0, 0, NULL},
	[VBD_COPY_MSG_DONE] = {NULL, 0, 1, VBD_COPY_ENTRIES_MAX, pass_verdicts},
	[VBD_COPY_MSG_END] = {FIELDS(end_fields), 0, 0, NULL},
	[VBD_COPY_MSG_END_OK] = {NULL, 0, 0, 0, NULL},
	[VBD_COPY_MSG_BYE] = {FIELDS(bye_fields), 0, 0, pass_bye},
};
/* clang-format on */

static void pass_body(struct wire *w, struct vbd_copy_message *message)
{
	const struct body *body = &bodies[message->type];

	pass_fields(w, body->fields, body->field_count, message);
	if (body->pass_rest && !w->bad)
		body->pass_rest(w, message);
}

enum vbd_status vbd_copy_decode(const uint8_t *bytes, uint32_t len_bytes,
	struct vbd_copy_message *ret_message, struct vbd_error *err)
{
	struct wire w = {.from = bytes, .end = len_bytes, .what = "message", .err = err};
	struct vbd_copy_message message = {0};
	uint32_t length_bytes = 0;
	uint8_t type = 0;

	pass_header(&w, &type, &length_bytes);
	must(&w, type != VBD_COPY_MSG_NONE && type < VBD_COPY_MSG_COUNT, "its type is unknown");
	must(&w, length_bytes == len_bytes && len_bytes <= VBD_COPY_MESSAGE_BYTES,
		"its length is another one than it says, or too large");
	if (w.bad)
		return VBD_E_BAD_VALUE;
	message.type = (enum vbd_copy_message_type)type;
	w.what = vbd_copy_message_name(message.type);
	must(&w, w.count >= bodies[type].count_min && w.count <= bodies[type].count_max,
		"it has too few or too many items");
	if (!w.bad)
		pass_body(&w, &message);
	must(&w, w.at == w.end, "it is too long");
	if (w.bad)
		return VBD_E_BAD_VALUE;
	*ret_message = message;
	return VBD_OK;
}

bool vbd_copy_next_entry(struct vbd_copy_message *message, struct vbd_copy_entry *ret_entry)
{
	struct wire w = {.from = message->entries.at, .end = message->entries.left_bytes};

	if (!message->entries.count)
		return false;
	message->entries.count--;
	pass_entry(&w, ret_entry);
	message->entries.at += w.at;
	message->entries.left_bytes -= w.at;
	return true;
}

bool vbd_copy_next_verdict(struct vbd_copy_message *message, struct vbd_copy_verdict *ret_verdict)
{
	struct wire w = {.from = message->verdicts.at, .end = VERDICT_BYTES};

	if (!message->verdicts.count)
		return false;
	message->verdicts.count--;
	message->verdicts.at += VERDICT_BYTES;
	PASS(&w, verdict_fields, ret_verdict);
	return true;
}

uint32_t vbd_copy_encode(uint8_t *to, const struct vbd_copy_message *message)
{
	struct wire w = {.to = to, .at = HEADER_BYTES, .end = VBD_COPY_MESSAGE_BYTES};
	struct vbd_copy_message copy = *message;

	if (copy.type == VBD_COPY_MSG_FREE)
		w.count = copy.free.count;
	/* A text that was cut within a character, or has a name of a file in it. */
	if (copy.type == VBD_COPY_MSG_BYE && !vbd_utf8_line(copy.bye.text, strlen(copy.bye.text)))
		copy.bye.text[0] = '\0';
	pass_body(&w, &copy);
	write_header(to, (uint8_t)copy.type, w.count, w.at);
	return w.at;
}

void vbd_copy_list_begin(
	struct vbd_copy_list *list, uint8_t *to, enum vbd_copy_message_type type, uint32_t first)
{
	struct wire w = {.to = to, .at = HEADER_BYTES, .end = VBD_COPY_MESSAGE_BYTES};

	if (type == VBD_COPY_MSG_ENTRIES) {
		(void)pass_number(&w, 4, first);
		(void)pass_number(&w, 4, 0);
	}
	to[0] = (uint8_t)type;
	*list = (struct vbd_copy_list){.to = to, .len_bytes = w.at};
}

/* Whether an item of @bytes fits; if so, @ret_w is where. */
static bool list_has_room(struct vbd_copy_list *list, uint32_t bytes, struct wire *ret_w)
{
	*ret_w =
		(struct wire){.to = list->to, .at = list->len_bytes, .end = VBD_COPY_MESSAGE_BYTES};
	if (list->count == VBD_COPY_ENTRIES_MAX || ret_w->end - ret_w->at < bytes)
		return false;
	list->len_bytes += bytes;
	list->count++;
	return true;
}

bool vbd_copy_list_entry(struct vbd_copy_list *list, const struct vbd_copy_entry *entry)
{
	struct vbd_copy_entry copy = *entry;
	struct wire w;

	if (!list_has_room(list, ENTRY_BYTES + entry->path_bytes, &w))
		return false;
	pass_entry(&w, &copy);
	return true;
}

bool vbd_copy_list_verdict(struct vbd_copy_list *list, const struct vbd_copy_verdict *verdict)
{
	struct vbd_copy_verdict copy = *verdict;
	struct wire w;

	if (!list_has_room(list, VERDICT_BYTES, &w))
		return false;
	PASS(&w, verdict_fields, &copy);
	return true;
}

uint32_t vbd_copy_list_end(struct vbd_copy_list *list, bool last)
{
	if (list->to[0] == VBD_COPY_MSG_ENTRIES)
		list->to[LAST_AT] = last;
	write_header(list->to, list->to[0], list->count, list->len_bytes);
	return list->len_bytes;
}

static void pass_piece(struct wire *w, struct vbd_copy_piece *piece)
{
	PASS(w, piece_fields, piece);
	must(w, piece->offset_bytes + piece->length_bytes <= INT64_MAX, "a file is too large");
	must(w, piece->length_bytes || piece->last, "a piece is empty, and not the last one");
}

void vbd_copy_encode_slot(uint8_t *to, const struct vbd_copy_piece *pieces, uint32_t count)
{
	struct wire w = {.to = to, .at = HEADER_BYTES, .end = VBD_COPY_SLOT_HEADER_BYTES};
	uint32_t length_bytes = VBD_COPY_SLOT_HEADER_BYTES;

	for (uint32_t i = 0; i < count; i++) {
		struct vbd_copy_piece piece = pieces[i];

		pass_piece(&w, &piece);
		length_bytes += piece.length_bytes;
	}
	memset(to + w.at, 0, w.end - w.at);
	write_header(to, SLOT_TYPE, count, length_bytes);
}

enum vbd_status vbd_copy_decode_slot(const uint8_t *header, uint32_t slot_bytes,
	struct vbd_copy_piece *ret_pieces, uint32_t *ret_count, struct vbd_error *err)
{
	struct wire w = {
		.from = header, .end = VBD_COPY_SLOT_HEADER_BYTES, .what = "slot", .err = err};
	uint64_t seen_bytes = VBD_COPY_SLOT_HEADER_BYTES;
	uint32_t length_bytes = 0;
	uint8_t type = 0;

	pass_header(&w, &type, &length_bytes);
	must(&w, type == SLOT_TYPE && w.count && w.count <= VBD_COPY_PIECES_MAX,
		"it does not begin with a header, or has too few or too many pieces");
	for (uint32_t i = 0; i < w.count && !w.bad; i++) {
		pass_piece(&w, &ret_pieces[i]);
		seen_bytes += ret_pieces[i].length_bytes;
	}
	must(&w, seen_bytes == length_bytes && seen_bytes <= slot_bytes,
		"its length is another one than that of its pieces, or they do not fit into it");
	while (w.at < w.end && !w.bad)
		must(&w, pass_number(&w, 8, 0) == 0, "a reserved byte is not 0");
	if (w.bad)
		return VBD_E_BAD_VALUE;
	*ret_count = w.count;
	return VBD_OK;
}

enum vbd_status vbd_copy_mac(const uint8_t *secret, uint32_t secret_bytes, bool server,
	const uint8_t *hello, uint32_t hello_bytes, const uint8_t nonce[VBD_COPY_NONCE_BYTES],
	uint8_t ret_mac[VBD_COPY_MAC_BYTES], struct vbd_error *err)
{
	/* Both are of one length, so no text of one side is one of the other. */
	const char *side = server ? "verbsd copy 1 server" : "verbsd copy 1 client";
	const uint32_t side_bytes = sizeof("verbsd copy 1 server") - 1;
	uint8_t text[256 + VBD_COPY_PATH_BYTES];
	uint32_t text_bytes = side_bytes + VBD_COPY_NONCE_BYTES + hello_bytes;
	int rc;

	if (hello_bytes > sizeof(text) - side_bytes - VBD_COPY_NONCE_BYTES)
		return vbd_error_set(err, VBD_E_BAD_VALUE, "message hello: it is too long");
	memcpy(text, side, side_bytes);
	memcpy(text + side_bytes, nonce, VBD_COPY_NONCE_BYTES);
	memcpy(text + side_bytes + VBD_COPY_NONCE_BYTES, hello, hello_bytes);
	rc = gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret, secret_bytes, text, text_bytes, ret_mac);
	if (rc < 0)
		return vbd_error_set(err, VBD_E_INTERNAL, "gnutls_hmac_fast: %d", rc);
	return VBD_OK;
}

bool vbd_copy_mac_equal(const uint8_t a[VBD_COPY_MAC_BYTES], const uint8_t b[VBD_COPY_MAC_BYTES])
{
	return gnutls_memcmp(a, b, VBD_COPY_MAC_BYTES) == 0;
}
