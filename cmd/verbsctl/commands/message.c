/* SPDX-License-Identifier: Apache-2.0 */
/* connections send and recv, ud-endpoints send and recv. */
#include "cmd/verbsctl/commands/commands.h"

#include "base/clock.h"
#include "base/text.h"
#include "cmd/verbsctl/common/json.h"

#include <unistd.h>

#define INLINE_LIMIT_BYTES 16384 /* limit of MessageSend in openapi.yaml */
#define PAGE_MESSAGES	   100

/* Reads a whole file, but at most one byte more than a message may have, which shows that it is too
 * long. */
static char *read_message(const char *name, size_t *ret_len)
{
	FILE *file = vbd_ctl_open_file(name);
	char *bytes = vbd_ctl_keep(malloc(INLINE_LIMIT_BYTES + 1), free);

	*ret_len = fread(bytes, 1, INLINE_LIMIT_BYTES + 1, file);
	if (ferror(file))
		vbd_ctl_fail("%s: %s", name, strerror(errno));
	return bytes;
}

static void send_inline(struct vbd_ctl *ctl, const char *bytes, size_t len)
{
	json_t *body = vbd_ctl_args_body(&ctl->args);

	if (len > INLINE_LIMIT_BYTES)
		vbd_ctl_fail("send: the message is longer than %d bytes; put it into a buffer and "
			     "use --buffer",
			INLINE_LIMIT_BYTES);
	if (vbd_utf8_valid(bytes, len) && !memchr(bytes, 0, len)) {
		vbd_ctl_json_set(body, "data", json_stringn(bytes, len));
	} else {
		vbd_ctl_json_set(body, "data", json_string(vbd_ctl_hex_encode(bytes, len)));
		vbd_ctl_json_set(body, "encoding", json_string("hex"));
	}
	vbd_ctl_transfer_run(ctl, vbd_ctl_object_path(ctl, "/messages"), body);
}

static void send_buffer(struct vbd_ctl *ctl)
{
	const char *owner = ctl->args.operands[0];
	bool imm = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_IMM);
	json_t *body = vbd_ctl_args_body(&ctl->args);

	if (!vbd_utf8_valid(owner, strlen(owner)))
		vbd_ctl_refuse(&ctl->args, "the %s's name must be UTF-8", ctl->args.kind->kind);
	vbd_ctl_transfer_set_local(&ctl->args, body);
	vbd_ctl_json_set(body, "op", json_string(imm ? "send_imm" : "send"));
	vbd_ctl_json_set(body, ctl->args.kind->kind, vbd_ctl_json_ref(ctl->args.kind->kind, owner));
	vbd_ctl_transfer_run(ctl, "/v1/transfers", body);
}

void vbd_ctl_send(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_args *args = &ctl->args;
	const char *text = args->operand_count > 1 ? args->operands[1] : NULL;
	const char *file = args->text[VBD_CTL_OPT_FILE];
	bool buffer = vbd_ctl_args_has(args, VBD_CTL_OPT_BUFFER) ||
		      vbd_ctl_args_has(args, VBD_CTL_OPT_SGES);
	size_t len;

	if (!!text + !!file + buffer != 1)
		vbd_ctl_refuse(args, "needs one of TEXT, --file, --buffer and --sges");
	if (!buffer && (vbd_ctl_args_has(args, VBD_CTL_OPT_OFFSET) ||
			       vbd_ctl_args_has(args, VBD_CTL_OPT_LENGTH)))
		vbd_ctl_refuse(args, "--offset and --length belong to --buffer");
	if (buffer) {
		send_buffer(ctl);
	} else if (text && strcmp(text, "-") != 0) {
		send_inline(ctl, text, strlen(text));
	} else {
		text = read_message(file ? file : "-", &len);
		send_inline(ctl, text, len);
	}
}

/* State of one `verbsctl recv`. */
struct receiver {
	struct vbd_ctl *ctl;
	char *connection; /* path of the connection or endpoint */
	uint64_t wanted;  /* number of messages; UINT64_MAX without a limit */
	uint64_t taken;
	uint64_t after;	     /* number of the last message taken */
	const json_t *items; /* of the page that is being taken */
	bool waits;	     /* wait for messages that are not in the inbox yet */
	bool once;	     /* stop after the first page that has a message */
	bool ended;	     /* no more messages can come */
	uint64_t idle_ms;    /* longest wait for the next message; 0 for no limit */
	uint64_t expires_ns; /* end of that wait; 0 for no limit */
};

static void put_raw(const json_t *message)
{
	const char *data = vbd_ctl_json_text(message, "data");
	char *bytes;
	size_t len;

	if (!data || !vbd_ctl_json_is(message, "encoding", "hex") ||
		!vbd_ctl_hex_decode(data, &bytes, &len))
		vbd_ctl_fail("recv: the server sent a message that is not hex");
	fwrite(bytes, 1, len, stdout);
}

static void put_text(const json_t *message)
{
	char *data = vbd_ctl_cell_text(vbd_ctl_json_at(message, "data"));
	char *encoding = vbd_ctl_cell_text(vbd_ctl_json_at(message, "encoding"));
	const json_t *imm = vbd_ctl_json_at(message, "imm");

	if (!*data && imm)
		printf("imm:%lld\n", (long long)json_integer_value(imm));
	else if (strcmp(encoding, "text") == 0)
		printf("%s\n", data);
	else
		printf("%s:%s\n", encoding, data);
}

/* The message is deleted from the inbox next: make sure that it has been written, and that the
 * output still has a reader. */
static void put_message(struct receiver *receiver, const json_t *message)
{
	struct vbd_ctl *ctl = receiver->ctl;

	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_RAW))
		put_raw(message);
	else if (ctl->json)
		vbd_ctl_json_put_line(stdout, message);
	else
		put_text(message);
	vbd_ctl_flush();
	vbd_ctl_end_if_unread();
}

static void delete_messages(struct receiver *receiver)
{
	(void)vbd_ctl_call(receiver->ctl, "DELETE",
		vbd_ctl_format("%s/messages?through=%llu", receiver->connection,
			(unsigned long long)receiver->after),
		NULL, VBD_CTL_NO_WAIT);
}

static void start_waiting(struct receiver *receiver)
{
	if (receiver->idle_ms)
		receiver->expires_ns = vbd_clock_mono_ns() + receiver->idle_ms * VBD_NS_PER_MS;
}

static void put_items(void *arg)
{
	struct receiver *receiver = arg;
	const json_t *message;
	size_t i;

	json_array_foreach(receiver->items, i, message)
	{
		if (receiver->taken == receiver->wanted)
			break;
		if (vbd_ctl_json_uint(message, "seq") <= receiver->after)
			vbd_ctl_fail("recv: the server's message numbers are not in order");
		put_message(receiver, message);
		receiver->after = vbd_ctl_json_uint(message, "seq");
		receiver->taken++;
	}
}

/* Prints and deletes the messages of a page. Returns whether there were any. */
static bool put_and_delete_page(struct receiver *receiver, const json_t *page)
{
	uint64_t before = receiver->taken;
	enum vbd_ctl_exit exit_status;

	receiver->items = vbd_ctl_json_at(page, "items");
	exit_status = vbd_ctl_try(put_items, receiver);
	if (receiver->taken > before) {
		receiver->waits = receiver->waits && !receiver->once;
		start_waiting(receiver);
		if (!vbd_ctl_args_has(&receiver->ctl->args, VBD_CTL_OPT_KEEP))
			delete_messages(receiver);
	}
	if (exit_status != VBD_CTL_OK)
		vbd_ctl_end(exit_status);
	return receiver->taken > before;
}

static json_t *get_page(struct receiver *receiver, unsigned int wait_ms)
{
	bool raw = vbd_ctl_args_has(&receiver->ctl->args, VBD_CTL_OPT_RAW);
	uint64_t left = receiver->wanted - receiver->taken;
	const struct vbd_ctl_request request = {
		.method = "GET",
		.path = vbd_ctl_format("%s/messages?limit=%llu&after=%llu&wait_ms=%u%s",
			receiver->connection,
			(unsigned long long)(left < PAGE_MESSAGES ? left : PAGE_MESSAGES),
			(unsigned long long)receiver->after, wait_ms, raw ? "&encoding=hex" : ""),
		.wait_s = wait_ms / 1000 + 1,
	};

	return vbd_ctl_http_call(&receiver->ctl->http, &request);
}

/* After an empty page: decides whether to wait on, and prints why the connection ended, if no more
 * messages can come. */
static void decide_to_wait(struct receiver *receiver, uint64_t asked_ns)
{
	const json_t *connection =
		vbd_ctl_call(receiver->ctl, "GET", receiver->connection, NULL, VBD_CTL_NO_WAIT);
	const char *end_code = vbd_ctl_json_text(connection, "end_code");
	uint64_t now_ns = vbd_clock_mono_ns();

	receiver->ended = vbd_ctl_json_is(connection, "state", "closed") ||
			  vbd_ctl_json_is(connection, "state", "failed");
	if (receiver->ended)
		vbd_ctl_note("connection/%llu has ended%s%s",
			(unsigned long long)vbd_ctl_json_uint(connection, "id"),
			end_code ? ": " : "", end_code ? end_code : "");
	receiver->waits =
		!receiver->ended && (!receiver->expires_ns || now_ns < receiver->expires_ns);
	if (receiver->waits)
		vbd_ctl_slow_down(asked_ns);
}

static void receive(struct receiver *receiver)
{
	size_t kept = vbd_ctl_kept();
	bool some = true;

	while ((some || receiver->waits) && receiver->taken < receiver->wanted) {
		unsigned int wait_ms =
			receiver->waits ? vbd_ctl_patience_ms(receiver->expires_ns) : 0;
		uint64_t asked_ns = vbd_clock_mono_ns();

		some = put_and_delete_page(receiver, get_page(receiver, wait_ms));
		if (!some && receiver->waits)
			decide_to_wait(receiver, asked_ns);
		vbd_ctl_release(kept);
	}
}

/* Prints, and fails, if fewer messages came than were wanted. */
static void fail_if_too_few(const struct receiver *receiver, bool count, bool limited)
{
	const char *called = receiver->ctl->args.called;

	if (count && receiver->taken < receiver->wanted)
		vbd_ctl_note("%s: %llu of %llu messages came", called,
			(unsigned long long)receiver->taken, (unsigned long long)receiver->wanted);
	else if (limited && receiver->taken == 0)
		vbd_ctl_note("%s: no message came", called);
	else
		return;
	vbd_ctl_end(receiver->ended ? VBD_CTL_FAILED : VBD_CTL_TIMED_OUT);
}

void vbd_ctl_recv(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_args *args = &ctl->args;
	bool count = vbd_ctl_args_has(args, VBD_CTL_OPT_COUNT);
	bool limited = vbd_ctl_args_has(args, VBD_CTL_OPT_WAIT);
	bool follows = vbd_ctl_args_has(args, VBD_CTL_OPT_FOLLOW_MESSAGES);
	struct receiver receiver = {
		.ctl = ctl,
		.wanted = count ? args->number[VBD_CTL_OPT_COUNT] : UINT64_MAX,
		.waits = count || follows || limited,
		.once = !count && !follows,
		.idle_ms = args->number[VBD_CTL_OPT_WAIT],
	};

	if (vbd_ctl_args_has(args, VBD_CTL_OPT_RAW) && isatty(STDOUT_FILENO))
		vbd_ctl_refuse(args, "raw bytes may upset the terminal; send them elsewhere");
	if (vbd_ctl_args_has(args, VBD_CTL_OPT_RAW) && ctl->json)
		vbd_ctl_refuse(args, "--raw and --json exclude each other");
	start_waiting(&receiver);
	receiver.connection = vbd_ctl_object_path(ctl, "");
	receive(&receiver);
	fail_if_too_few(&receiver, count, limited);
}
