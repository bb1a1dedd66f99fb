/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies/copy_wire.h"

#include "tests/unit/unit.h"

static uint8_t wire[VBD_COPY_MESSAGE_BYTES];
static uint8_t header[VBD_COPY_SLOT_HEADER_BYTES];

static const uint8_t path[] = "a/b";

static const struct vbd_copy_window window = {
	.addr = 0x1122334455667788, .rkey = 0x99aabbcc, .slot_bytes = 1 << 20, .slots = 64};

static struct vbd_copy_message hello(void)
{
	struct vbd_copy_message message = {.type = VBD_COPY_MSG_HELLO,
		.hello = {.version_min = 1,
			.version_max = 3,
			.pull = true,
			.options = VBD_COPY_RECURSIVE | VBD_COPY_VERIFY_SHA256,
			.overwrite = VBD_COPY_OVERWRITE_IF_DIFFERENT,
			.export = "models",
			.path = path,
			.path_bytes = 3}};

	memset(message.hello.nonce, 0x5a, sizeof(message.hello.nonce));
	return message;
}

static struct vbd_copy_message decode(uint32_t len_bytes)
{
	struct vbd_copy_message message;
	struct vbd_error err = {0};

	if (vbd_copy_decode(wire, len_bytes, &message, &err) != VBD_OK)
		fail_msg("%s", err.text);
	return message;
}

/* Asserts that the message is refused, by an error that has @text in it. */
static void refuse(uint32_t len_bytes, const char *text)
{
	struct vbd_copy_message message;
	struct vbd_error err = {0};

	assert_int_equal(vbd_copy_decode(wire, len_bytes, &message, &err), VBD_E_BAD_VALUE);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" does not have \"%s\"", err.text, text);
}

/* Asserts that the message is refused with another byte at @at. */
static void refuse_byte(uint32_t len_bytes, uint32_t at, uint8_t byte, const char *text)
{
	uint8_t right = wire[at];

	wire[at] = byte;
	refuse(len_bytes, text);
	wire[at] = right;
}

/* Each message is refused if it is cut, or longer, or has a count that it may not have. */
static void check_length(uint32_t len_bytes)
{
	struct vbd_copy_message message;

	for (uint32_t cut = 0; cut < len_bytes; cut++) {
		assert_int_not_equal(vbd_copy_decode(wire, cut, &message, NULL), VBD_OK);
		wire[6] = (uint8_t)(cut >> 8);
		wire[7] = (uint8_t)cut;
		assert_int_not_equal(vbd_copy_decode(wire, cut, &message, NULL), VBD_OK);
	}
	wire[6] = (uint8_t)((len_bytes + 1) >> 8);
	wire[7] = (uint8_t)(len_bytes + 1);
	refuse(len_bytes + 1, "");
	wire[6] = (uint8_t)(len_bytes >> 8);
	wire[7] = (uint8_t)len_bytes;
	refuse_byte(len_bytes, 1, 1, "reserved");
	refuse_byte(len_bytes, 2, 0xff, "items");
	(void)decode(len_bytes);
}

TEST(test_copy_wire__a_hello_has_the_bytes_of_the_document)
{
	static const uint8_t expected[] = {1, 0, 0, 0, 0, 0, 0, 57, 'v', 'b', 'd', 'c', 0, 0, 0, 1,
		0, 0, 0, 3, 0, 0, 0, 9, 1, 2, 0, 0, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a,
		0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0, 6, 'm', 'o', 'd', 'e', 'l', 's',
		0, 3, 'a', '/', 'b'};
	struct vbd_copy_message sent = hello(), came;
	uint32_t len = vbd_copy_encode(wire, &sent);

	assert_int_equal(len, sizeof(expected));
	assert_memory_equal(wire, expected, len);
	came = decode(len);
	assert_int_equal(came.type, VBD_COPY_MSG_HELLO);
	assert_int_equal(came.hello.version_max, 3);
	assert_true(came.hello.pull);
	assert_int_equal(came.hello.options, 9);
	assert_int_equal(came.hello.overwrite, VBD_COPY_OVERWRITE_IF_DIFFERENT);
	assert_string_equal(came.hello.export, "models");
	assert_ptr_equal(came.hello.path, wire + 54);
	assert_int_equal(came.hello.path_bytes, 3);
	assert_memory_equal(came.hello.nonce, sent.hello.nonce, VBD_COPY_NONCE_BYTES);
	check_length(len);
}

TEST(test_copy_wire__a_bad_hello_is_refused_with_the_reason)
{
	struct vbd_copy_message sent = hello();
	uint32_t len = vbd_copy_encode(wire, &sent);

	refuse_byte(len, 0, 0, "type");
	refuse_byte(len, 0, VBD_COPY_MSG_COUNT, "type");
	refuse_byte(len, 8, 'V', "mark");
	refuse_byte(len, 15, 2, "version_min is 2, and can be from 1 to 1");
	refuse_byte(len, 15, 0, "version_min");
	refuse_byte(len, 19, 0, "version_max");
	refuse_byte(len, 23, 16, "options is 16");
	refuse_byte(len, 24, 2, "pull");
	refuse_byte(len, 25, VBD_COPY_OVERWRITE_COUNT, "overwrite");
	refuse_byte(len, 27, 1, "reserved");
	refuse_byte(len, 45, 64, "too long");
	refuse_byte(len, 45, 0, "name");
	refuse_byte(len, 46, '1', "is no name");
	refuse_byte(len, 47, 0, "line");
	refuse_byte(len, 54, 0, "NUL");
	sent.hello.path_bytes = 0;
	refuse(vbd_copy_encode(wire, &sent), "empty");
	sent.hello.export[0] = '\0';
	refuse(vbd_copy_encode(wire, &sent), "is no name");
}

TEST(test_copy_wire__the_messages_without_a_list_come_back)
{
	struct vbd_copy_message sent = {.type = VBD_COPY_MSG_CHALLENGE,
		.challenge = {.version = 1, .needs_proof = true, .nonce = {1, 2, 3}}};
	struct vbd_copy_message came;
	uint32_t len = vbd_copy_encode(wire, &sent);

	came = decode(len);
	assert_int_equal(len, 32);
	assert_true(came.challenge.needs_proof);
	assert_memory_equal(came.challenge.nonce, sent.challenge.nonce, VBD_COPY_NONCE_BYTES);
	refuse_byte(len, 11, 2, "version");
	refuse_byte(len, 13, 1, "reserved");
	check_length(len);

	sent = (struct vbd_copy_message){.type = VBD_COPY_MSG_PROOF, .proof = {.mac = {7, 8, 9}}};
	len = vbd_copy_encode(wire, &sent);
	assert_int_equal(len, 40);
	assert_memory_equal(decode(len).proof.mac, sent.proof.mac, VBD_COPY_MAC_BYTES);
	check_length(len);

	sent = (struct vbd_copy_message){
		.type = VBD_COPY_MSG_SUM, .sum = {.entry = UINT32_MAX, .digest = {1, [31] = 2}}};
	len = vbd_copy_encode(wire, &sent);
	came = decode(len);
	assert_int_equal(came.sum.entry, UINT32_MAX);
	assert_memory_equal(came.sum.digest, sent.sum.digest, VBD_COPY_SUM_BYTES);
	check_length(len);

	sent = (struct vbd_copy_message){
		.type = VBD_COPY_MSG_END, .end = {.files = 5, .bytes = INT64_MAX}};
	len = vbd_copy_encode(wire, &sent);
	assert_true(decode(len).end.files == 5 && decode(len).end.bytes == INT64_MAX);
	refuse_byte(len, 16, 0x80, "end.bytes");
	check_length(len);

	sent = (struct vbd_copy_message){.type = VBD_COPY_MSG_END_OK};
	len = vbd_copy_encode(wire, &sent);
	assert_int_equal(len, 8);
	check_length(len);
}

TEST(test_copy_wire__a_window_comes_back_or_is_no_window)
{
	struct vbd_copy_message sent = {
		.type = VBD_COPY_MSG_READY, .ready = {.mac = {1}, .window = window}};
	uint32_t len = vbd_copy_encode(wire, &sent);
	struct vbd_copy_window came = decode(len).ready.window;

	assert_true(came.addr == window.addr && came.rkey == window.rkey &&
		    came.slot_bytes == window.slot_bytes && came.slots == window.slots);
	refuse_byte(len, 59, 65, "slots");
	refuse_byte(len, 59, 0, "no slots");
	refuse_byte(len, 53, 0, "too small");
	refuse_byte(len, 52, 2, "slot_bytes");
	memset(wire + 40, 0xff, 8);
	refuse(len, "no end");

	sent = (struct vbd_copy_message){.type = VBD_COPY_MSG_START};
	len = vbd_copy_encode(wire, &sent);
	assert_int_equal(decode(len).start.window.slots, 0);
	refuse_byte(len, 8, 1, "no slots");
	refuse_byte(len, 19, 1, "no slots");
	sent.start.window = window;
	check_length(vbd_copy_encode(wire, &sent));
}

TEST(test_copy_wire__slots_are_given_back_once)
{
	struct vbd_copy_message sent = {
		.type = VBD_COPY_MSG_FREE, .free = {.count = 3, .slots = {63, 0, 7}}};
	uint32_t len = vbd_copy_encode(wire, &sent);
	struct vbd_copy_message came = decode(len);

	assert_int_equal(len, 14);
	assert_int_equal(came.free.count, 3);
	assert_int_equal(came.free.slots[0], 63);
	assert_int_equal(came.free.slots[2], 7);
	refuse_byte(len, 9, 64, "a slot");
	refuse_byte(len, 8, 1, "a slot");
	refuse_byte(len, 9, 7, "twice");
	check_length(len);
	sent.free.count = 0;
	refuse(vbd_copy_encode(wire, &sent), "few");
}

TEST(test_copy_wire__the_end_has_a_fault_and_a_printable_line)
{
	struct vbd_copy_message sent = {.type = VBD_COPY_MSG_BYE,
		.bye = {.fault = VBD_COPY_FAULT_NO_SPACE, .text = "gr\xc3\xbc\xc3\x9f"}};
	uint32_t len = vbd_copy_encode(wire, &sent);

	assert_int_equal(decode(len).bye.fault, VBD_COPY_FAULT_NO_SPACE);
	assert_string_equal(decode(len).bye.text, sent.bye.text);
	refuse_byte(len, 8, 0, "fault");
	refuse_byte(len, 8, VBD_COPY_FAULT_COUNT, "fault");
	refuse_byte(len, 9, 1, "reserved");
	refuse_byte(len, 12, '\n', "line");
	refuse_byte(len, 14, 'x', "line");
	refuse_byte(len, 12, 0, "line");
	check_length(len);

	/* A text that was cut within a character is left out instead of breaking the protocol. */
	memset(sent.bye.text, 'x', VBD_COPY_TEXT_BYTES);
	assert_int_equal(strlen(decode(vbd_copy_encode(wire, &sent)).bye.text), 200);
	sent.bye.text[VBD_COPY_TEXT_BYTES - 1] = '\xc3';
	assert_string_equal(decode(vbd_copy_encode(wire, &sent)).bye.text, "");

	sent = (struct vbd_copy_message){.type = VBD_COPY_MSG_DROPPED,
		.dropped = {.entry = 4, .fault = VBD_COPY_FAULT_CHANGED}};
	len = vbd_copy_encode(wire, &sent);
	assert_int_equal(decode(len).dropped.entry, 4);
	assert_int_equal(decode(len).dropped.fault, VBD_COPY_FAULT_CHANGED);
	refuse_byte(len, 12, 0, "fault");
	check_length(len);
}

static uint32_t encode_page(
	uint32_t first, const struct vbd_copy_entry *entries, uint32_t count, bool last)
{
	struct vbd_copy_list list;

	vbd_copy_list_begin(&list, wire, VBD_COPY_MSG_ENTRIES, first);
	for (uint32_t i = 0; i < count; i++)
		assert_true(vbd_copy_list_entry(&list, &entries[i]));
	return vbd_copy_list_end(&list, last);
}

TEST(test_copy_wire__entries_come_back_in_pages)
{
	static const struct vbd_copy_entry entries[] = {
		{.type = VBD_COPY_DIRECTORY, .mode = 0755, .mtime_ns = -1},
		{.type = VBD_COPY_FILE,
			.mode = 0640,
			.mtime_ns = INT64_MAX,
			.size_bytes = INT64_MAX,
			.path = path,
			.path_bytes = 3},
	};
	uint32_t len = encode_page(0, entries, 2, true);
	struct vbd_copy_message came = decode(len);
	struct vbd_copy_entry entry;

	assert_int_equal(len, 16 + 22 + 25);
	assert_true(came.entries.last && came.entries.first == 0 && came.entries.count == 2);
	assert_true(vbd_copy_next_entry(&came, &entry));
	assert_true(entry.type == VBD_COPY_DIRECTORY && entry.mode == 0755);
	assert_true(entry.mtime_ns == -1 && entry.path_bytes == 0);
	assert_true(vbd_copy_next_entry(&came, &entry));
	assert_true(entry.type == VBD_COPY_FILE && entry.mode == 0640);
	assert_true(entry.mtime_ns == INT64_MAX && entry.size_bytes == INT64_MAX);
	assert_true(entry.path_bytes == 3 && memcmp(entry.path, "a/b", 3) == 0);
	assert_false(vbd_copy_next_entry(&came, &entry));
	refuse_byte(len, 12, 2, "last");
	refuse_byte(len, 15, 1, "reserved");
	refuse_byte(len, 11, 1, "path of an entry other than the first");
	refuse_byte(len, 16, 3, "type is 3");
	refuse_byte(len, 16, 0, "type is 0");
	refuse_byte(len, 17, 1, "reserved");
	refuse_byte(len, 18, 2, "mode");
	refuse_byte(len, 35, 1, "size");
	refuse_byte(len, 50, 0x80, "size");
	refuse_byte(len, 16 + 22 + 20, 0xff, "too long");
	memset(wire + 8, 0xff, 4);
	refuse(len, "too many");
	check_length(encode_page(0, entries, 2, false));
	check_length(encode_page(7, NULL, 0, true));
	refuse(encode_page(7, NULL, 0, false), "empty");
}

TEST(test_copy_wire__a_path_that_leads_out_is_refused)
{
	static const struct {
		const char *path;
		bool fine;
	} cases[] = {{"a", true}, {"a/b/c", true}, {"...", true}, {".a/..b/c.", true},
		{"\xff\xfe", true}, {"a\nb", true}, {"/", false}, {"/a", false}, {"a/", false},
		{"a//b", false}, {".", false}, {"..", false}, {"a/..", false}, {"../a", false},
		{"a/./b", false}, {"a/../b", false}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		struct vbd_copy_entry entry = {.type = VBD_COPY_FILE,
			.path = (const uint8_t *)cases[i].path,
			.path_bytes = (uint32_t)strlen(cases[i].path)};
		uint32_t len = encode_page(3, &entry, 1, true);

		if (cases[i].fine)
			(void)decode(len);
		else
			refuse(len, "leads out");
		refuse_byte(len, len - 1, 0, "is no path");
	}
}

TEST(test_copy_wire__a_page_is_full_before_the_message_is)
{
	static uint8_t longest[VBD_COPY_PATH_BYTES];
	struct vbd_copy_entry entry = {
		.type = VBD_COPY_FILE, .path = longest, .path_bytes = sizeof(longest)};
	struct vbd_copy_verdict verdict = {.offset_bytes = 1};
	struct vbd_copy_list list;
	uint32_t count = 0, len;

	memset(longest, 'x', sizeof(longest));
	vbd_copy_list_begin(&list, wire, VBD_COPY_MSG_ENTRIES, 0);
	while (vbd_copy_list_entry(&list, &entry))
		count++;
	assert_int_equal(count, 3);
	/* There is room for a shorter one. */
	entry.path_bytes = 1;
	assert_true(vbd_copy_list_entry(&list, &entry));
	len = vbd_copy_list_end(&list, false);
	assert_in_range(len, 1, VBD_COPY_MESSAGE_BYTES);
	assert_int_equal(decode(len).entries.count, 4);

	vbd_copy_list_begin(&list, wire, VBD_COPY_MSG_WANT, 0);
	for (count = 0; vbd_copy_list_verdict(&list, &verdict); count++)
		verdict.entry++;
	assert_int_equal(count, VBD_COPY_ENTRIES_MAX);
	len = vbd_copy_list_end(&list, false);
	assert_int_equal(len, 8 + 16 * VBD_COPY_ENTRIES_MAX);
	assert_int_equal(decode(len).verdicts.count, VBD_COPY_ENTRIES_MAX);
}

TEST(test_copy_wire__verdicts_come_back)
{
	static const struct vbd_copy_verdict verdicts[] = {{.entry = 9, .offset_bytes = INT64_MAX},
		{.entry = 2, .fault = VBD_COPY_FAULT_SAME}};
	struct vbd_copy_list list;
	struct vbd_copy_message came;
	struct vbd_copy_verdict verdict;
	uint32_t len;

	vbd_copy_list_begin(&list, wire, VBD_COPY_MSG_WANT, 0);
	for (size_t i = 0; i < VBD_ARRAY_LEN(verdicts); i++)
		assert_true(vbd_copy_list_verdict(&list, &verdicts[i]));
	len = vbd_copy_list_end(&list, false);
	came = decode(len);
	for (size_t i = 0; i < VBD_ARRAY_LEN(verdicts); i++) {
		assert_true(vbd_copy_next_verdict(&came, &verdict));
		assert_int_equal(verdict.entry, verdicts[i].entry);
		assert_int_equal(verdict.fault, verdicts[i].fault);
		assert_int_equal(verdict.offset_bytes, verdicts[i].offset_bytes);
	}
	assert_false(vbd_copy_next_verdict(&came, &verdict));
	refuse_byte(len, 12, VBD_COPY_FAULT_COUNT, "fault");
	refuse_byte(len, 12, 1, "offset");
	refuse_byte(len, 13, 1, "reserved");
	refuse_byte(len, 16, 0x80, "offset_bytes");
	refuse_byte(len, 0, VBD_COPY_MSG_DONE, "offset");
	check_length(len);
	vbd_copy_list_begin(&list, wire, VBD_COPY_MSG_DONE, 0);
	refuse(vbd_copy_list_end(&list, false), "few");
}

static void refuse_slot(uint32_t slot_bytes, uint32_t at, uint8_t byte, const char *text)
{
	struct vbd_copy_piece pieces[VBD_COPY_PIECES_MAX];
	struct vbd_error err = {0};
	uint8_t right = header[at];
	uint32_t count;

	header[at] = byte;
	assert_int_equal(
		vbd_copy_decode_slot(header, slot_bytes, pieces, &count, &err), VBD_E_BAD_VALUE);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" does not have \"%s\"", err.text, text);
	header[at] = right;
}

TEST(test_copy_wire__a_slot_lists_its_pieces)
{
	static const struct vbd_copy_piece sent[] = {
		{.entry = 1, .length_bytes = 65536, .offset_bytes = 1 << 20, .crc32c = 0xdeadbeef},
		{.entry = UINT32_MAX, .offset_bytes = INT64_MAX, .last = true}};
	struct vbd_copy_piece came[VBD_COPY_PIECES_MAX];
	uint32_t count = 0;

	vbd_copy_encode_slot(header, sent, 2);
	assert_int_equal(vbd_copy_decode_slot(header, 69632, came, &count, NULL), VBD_OK);
	assert_int_equal(count, 2);
	assert_true(came[0].entry == 1 && came[0].length_bytes == 65536 && !came[0].last);
	assert_true(came[0].offset_bytes == 1 << 20 && came[0].crc32c == 0xdeadbeef);
	assert_true(came[1].entry == UINT32_MAX && came[1].length_bytes == 0 && came[1].last);
	assert_int_equal(came[1].offset_bytes, INT64_MAX);
	refuse_slot(69631, 0, 255, "do not fit");
	refuse_slot(69632, 0, 0, "header");
	refuse_slot(69632, 1, 1, "reserved");
	refuse_slot(69632, 3, 0, "pieces");
	refuse_slot(69632, 3, 171, "pieces");
	refuse_slot(69632, 7, 1, "length");
	refuse_slot(69632, 28, 2, "last");
	refuse_slot(69632, 29, 1, "reserved");
	refuse_slot(69632, 16, 0x80, "offset_bytes");
	refuse_slot(69632, 39, 1, "too large");
	refuse_slot(69632, 52, 0, "empty");
	refuse_slot(69632, 56, 1, "reserved");
	refuse_slot(69632, 4095, 1, "reserved");
}

TEST(test_copy_wire__a_full_slot_fits_its_header)
{
	struct vbd_copy_piece pieces[VBD_COPY_PIECES_MAX], came[VBD_COPY_PIECES_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < VBD_COPY_PIECES_MAX; i++)
		pieces[i] = (struct vbd_copy_piece){.entry = i, .length_bytes = 1};
	vbd_copy_encode_slot(header, pieces, VBD_COPY_PIECES_MAX);
	assert_int_equal(
		vbd_copy_decode_slot(header, VBD_COPY_SLOT_BYTES_MIN, came, &count, NULL), VBD_OK);
	assert_int_equal(count, VBD_COPY_PIECES_MAX);
	assert_int_equal(came[VBD_COPY_PIECES_MAX - 1].entry, VBD_COPY_PIECES_MAX - 1);
}

static void mac_of(const char *secret, bool server, uint32_t hello_bytes, const uint8_t *nonce,
	uint8_t ret_mac[VBD_COPY_MAC_BYTES])
{
	assert_int_equal(vbd_copy_mac((const uint8_t *)secret, (uint32_t)strlen(secret), server,
				 wire, hello_bytes, nonce, ret_mac, NULL),
		VBD_OK);
}

/* As of: (printf 'verbsd copy 1 client'; head -c 16 /dev/zero; printf hello) |
 * openssl dgst -sha256 -hmac key */
TEST(test_copy_wire__a_proof_is_what_others_compute)
{
	static const uint8_t nonce[VBD_COPY_NONCE_BYTES] = {0};
	static const uint8_t expected[VBD_COPY_MAC_BYTES] = {0x06, 0xb9, 0xcf, 0x7e, 0x95, 0x79,
		0xfd, 0x32, 0x15, 0x70, 0xae, 0x5a, 0xe4, 0xf0, 0x47, 0x73, 0x57, 0x9d, 0x67, 0x78,
		0x01, 0x4a, 0xda, 0x89, 0xf9, 0x27, 0xdc, 0xac, 0xb9, 0x4e, 0x6a, 0x23};
	uint8_t mac[VBD_COPY_MAC_BYTES];

	memcpy(wire, "hello", 5);
	mac_of("key", false, 5, nonce, mac);
	assert_true(vbd_copy_mac_equal(mac, expected));
}

TEST(test_copy_wire__a_proof_is_good_for_one_side_of_one_copy)
{
	struct vbd_copy_message sent = hello();
	uint8_t nonce[VBD_COPY_NONCE_BYTES] = {1}, mac[VBD_COPY_MAC_BYTES],
		other[VBD_COPY_MAC_BYTES];
	uint32_t len = vbd_copy_encode(wire, &sent);

	mac_of("secret", false, len, nonce, mac);
	mac_of("secret", false, len, nonce, other);
	assert_true(vbd_copy_mac_equal(mac, other));
	mac_of("secret", true, len, nonce, other);
	assert_false(vbd_copy_mac_equal(mac, other));
	mac_of("Secret", false, len, nonce, other);
	assert_false(vbd_copy_mac_equal(mac, other));
	nonce[15] = 1;
	mac_of("secret", false, len, nonce, other);
	assert_false(vbd_copy_mac_equal(mac, other));
	nonce[15] = 0;
	wire[24] = 0; /* the direction */
	mac_of("secret", false, len, nonce, other);
	assert_false(vbd_copy_mac_equal(mac, other));
}

TEST(test_copy_wire__the_longest_hello_can_be_proved)
{
	static uint8_t longest[VBD_COPY_PATH_BYTES];
	struct vbd_copy_message sent = hello();
	uint8_t mac[VBD_COPY_MAC_BYTES];
	struct vbd_error err = {0};
	uint32_t len;

	memset(longest, '/', sizeof(longest));
	memset(sent.hello.export, 'e', sizeof(sent.hello.export) - 1);
	sent.hello.path = longest;
	sent.hello.path_bytes = sizeof(longest);
	len = vbd_copy_encode(wire, &sent);
	assert_int_equal(decode(len).hello.path_bytes, VBD_COPY_PATH_BYTES);
	mac_of("secret", true, len, sent.hello.nonce, mac);
	assert_int_equal(vbd_copy_mac(longest, 1, true, wire, VBD_COPY_MESSAGE_BYTES,
				 sent.hello.nonce, mac, &err),
		VBD_E_BAD_VALUE);
}

TEST(test_copy_wire__what_has_a_number_has_a_name_of_its_own)
{
	for (unsigned int i = 0; i < VBD_COPY_FAULT_COUNT; i++) {
		const char *name = vbd_copy_fault_name((enum vbd_copy_fault)i);

		assert_true(vbd_copy_fault_text((enum vbd_copy_fault)i)[0] != '\0');
		for (unsigned int k = 0; k < i; k++)
			assert_string_not_equal(name, vbd_copy_fault_name((enum vbd_copy_fault)k));
	}
	for (unsigned int i = 1; i < VBD_COPY_MSG_COUNT; i++)
		assert_non_null(vbd_copy_message_name((enum vbd_copy_message_type)i));
	assert_string_equal(vbd_copy_overwrite_name(VBD_COPY_OVERWRITE_IF_NEWER), "if_newer");
}
