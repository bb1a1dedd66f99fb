/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random bytes as a message of the peer of a copy, and as the header of a slot. What is decoded and
 * encoded again is the same bytes, so each message has one form only.
 */
#include "daemon/copies/copy_fsm.h"

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* A path that the rest of verbsd may use: no NUL, and no way out. */
static void check_entry(const struct vbd_copy_entry *entry)
{
	char path[VBD_COPY_PATH_BYTES + 3];

	must(entry->mode <= 0777 && entry->size_bytes <= INT64_MAX);
	must(entry->path_bytes <= VBD_COPY_PATH_BYTES);
	(void)snprintf(path, sizeof(path), "/%.*s/", (int)entry->path_bytes, entry->path);
	must(strlen(path) == entry->path_bytes + 2);
	must(!strstr(path, "/../") && !strstr(path, "/./"));
	must(!entry->path_bytes || !strstr(path, "//"));
}

static uint32_t encode_entries(uint8_t *to, struct vbd_copy_message message)
{
	struct vbd_copy_entry entry;
	struct vbd_copy_list list;

	vbd_copy_list_begin(&list, to, message.type, message.entries.first);
	while (vbd_copy_next_entry(&message, &entry)) {
		check_entry(&entry);
		must(vbd_copy_list_entry(&list, &entry));
	}
	return vbd_copy_list_end(&list, message.entries.last);
}

static uint32_t encode_verdicts(uint8_t *to, struct vbd_copy_message message)
{
	struct vbd_copy_verdict verdict;
	struct vbd_copy_list list;

	vbd_copy_list_begin(&list, to, message.type, 0);
	while (vbd_copy_next_verdict(&message, &verdict)) {
		must(verdict.fault < VBD_COPY_FAULT_COUNT && verdict.offset_bytes <= INT64_MAX);
		must(vbd_copy_list_verdict(&list, &verdict));
	}
	return vbd_copy_list_end(&list, false);
}

static void try_message(const uint8_t *data, uint32_t size)
{
	static uint8_t to[VBD_COPY_MESSAGE_BYTES];
	struct vbd_copy_message message;
	struct vbd_error err = {0};
	uint32_t len;

	if (vbd_copy_decode(data, size, &message, &err) != VBD_OK) {
		must(err.status == VBD_E_BAD_VALUE && *err.text);
		return;
	}
	must(vbd_copy_event_of(message.type) <= VBD_COPY_EV_BYE);
	if (message.type == VBD_COPY_MSG_ENTRIES)
		len = encode_entries(to, message);
	else if (message.type == VBD_COPY_MSG_WANT || message.type == VBD_COPY_MSG_DONE)
		len = encode_verdicts(to, message);
	else
		len = vbd_copy_encode(to, &message);
	must(len == size && memcmp(to, data, len) == 0);
}

/* The header is all zeros behind the input. */
static void try_slot(const uint8_t *data, size_t size)
{
	uint8_t header[VBD_COPY_SLOT_HEADER_BYTES] = {0}, again[VBD_COPY_SLOT_HEADER_BYTES];
	struct vbd_copy_piece pieces[VBD_COPY_PIECES_MAX];
	uint64_t bytes = sizeof(header);
	struct vbd_error err = {0};
	uint32_t count;

	memcpy(header, data, size < sizeof(header) ? size : sizeof(header));
	if (vbd_copy_decode_slot(header, VBD_COPY_SLOT_BYTES_MIN, pieces, &count, &err) != VBD_OK) {
		must(err.status == VBD_E_BAD_VALUE && *err.text);
		return;
	}
	must(count > 0 && count <= VBD_COPY_PIECES_MAX);
	for (uint32_t i = 0; i < count; i++) {
		must(pieces[i].offset_bytes <= INT64_MAX - (uint64_t)pieces[i].length_bytes);
		bytes += pieces[i].length_bytes;
	}
	must(bytes <= VBD_COPY_SLOT_BYTES_MIN);
	vbd_copy_encode_slot(again, pieces, count);
	must(memcmp(again, header, sizeof(header)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_message(data, (uint32_t)size);
	try_slot(data, size);
	return 0;
}
