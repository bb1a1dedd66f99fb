/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/rping.h"

#include "rdma/device/device.h"
#include "rdma/device/pd.h"

#include <assert.h>
#include <endian.h>

#define ON(event, next, action, note) \
	[VBD_RPING_EV_##event] = {VBD_RPING_##next, VBD_RPING_##action, note}
#define SERVER_STARTS(state) ON(START, state, NOTHING, "a server begins nothing")
#define CLIENT_MOVES(state)  ON(MOVED, state, NOTHING, "a client moves nothing itself")

/* clang-format off */
static const struct vbd_rule rules[VBD_RPING_STATE_COUNT][VBD_RPING_EVENT_COUNT + 1] = {
	[VBD_RPING_WAIT_SOURCE] = {
		SERVER_STARTS(WAIT_SOURCE),
		ON(MESSAGE, READING, READ, "a ping begins"),
		ON(MOVED, WAIT_SOURCE, NOTHING, "nothing is being moved"),
	},
	[VBD_RPING_READING] = {
		SERVER_STARTS(READING),
		ON(MESSAGE, READING, REFUSE, "the client waits for the read"),
		ON(MOVED, WAIT_SINK, SAY_DONE, "the bytes are here"),
	},
	[VBD_RPING_WAIT_SINK] = {
		SERVER_STARTS(WAIT_SINK),
		ON(MESSAGE, WRITING, WRITE, "the client says where it wants them"),
		ON(MOVED, WAIT_SINK, NOTHING, "nothing is being moved"),
	},
	[VBD_RPING_WRITING] = {
		SERVER_STARTS(WRITING),
		ON(MESSAGE, WRITING, REFUSE, "the client waits for the write"),
		ON(MOVED, WAIT_SOURCE, SAY_DONE, "the bytes are there"),
	},
	[VBD_RPING_IDLE] = {
		ON(START, WAIT_READ, SAY_SOURCE, "a ping begins"),
		ON(MESSAGE, IDLE, REFUSE, "nobody asked"),
		CLIENT_MOVES(IDLE),
	},
	[VBD_RPING_WAIT_READ] = {
		ON(START, WAIT_READ, NOTHING, "one at a time"),
		ON(MESSAGE, WAIT_WRITTEN, SAY_SINK, "the server has the bytes"),
		CLIENT_MOVES(WAIT_READ),
	},
	[VBD_RPING_WAIT_WRITTEN] = {
		ON(START, WAIT_WRITTEN, NOTHING, "one at a time"),
		ON(MESSAGE, IDLE, CHECK, "the bytes are back"),
		CLIENT_MOVES(WAIT_WRITTEN),
	},
};
/* clang-format on */

VBD_RULES(vbd_rping_rule, enum vbd_rping_state, enum vbd_rping_event, rules)

/* The message of both halves: a range of memory. The client does not read the server's. */
struct message {
	uint64_t addr_be;
	uint32_t rkey_be;
	uint32_t size_bytes_be;
} __attribute__((packed));
static_assert(sizeof(struct message) == VBD_RPING_MESSAGE_BYTES, "as rping has it");

#define DATA_BYTES (VBD_RPING_BYTES_MAX + 1)

/* The memory of one half. The server has one range of bytes, and its message is all zero. */
struct layout {
	uint8_t source[DATA_BYTES];
	struct message said[2];
	uint8_t sink[DATA_BYTES]; /* client only */
};

struct vbd_rping {
	bool client;
	enum vbd_rping_state state;
	enum vbd_rping_action owed; /* waits for a send slot */
	struct vbd_mem mem;
	uint32_t size_bytes; /* of the ping under way */
	/* server: the range in the client's last message */
	uint64_t addr;
	uint32_t rkey;
	vbd_rping_back_cb back; /* client */
};

static struct layout *memory_layout(const struct vbd_rping *rping)
{
	return (struct layout *)(void *)vbd_mem_own(&rping->mem);
}

/* Making and freeing. */

static struct message message_of_range(const struct vbd_rping *rping, const uint8_t *bytes)
{
	return (struct message){
		.addr_be = htobe64((uintptr_t)bytes),
		.rkey_be = htobe32(rping->mem.rkey),
	};
}

static void reset_rping(struct vbd_channel *channel)
{
	struct vbd_rping *rping = channel->rping;

	rping->state = rping->client ? VBD_RPING_IDLE : VBD_RPING_WAIT_SOURCE;
	rping->owed = VBD_RPING_NOTHING;
}

static enum vbd_status create_rping(
	struct vbd_channel *channel, struct vbd_pd *pd, struct vbd_error *err)
{
	bool client = channel->limits.service == VBD_SERVICE_RPING_CLIENT;
	struct vbd_rping *rping = calloc(1, sizeof(*rping));

	if (!rping)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for rping");
	channel->rping = rping;
	rping->client = client;
	reset_rping(channel);
	rping->mem.size_bytes = client ? sizeof(struct layout) : offsetof(struct layout, sink);
	if (client)
		rping->mem.access = VBD_ACCESS_REMOTE_READ | VBD_ACCESS_REMOTE_WRITE;
	else if (vbd_device_is_iwarp(pd->device))
		/* The response to an iWARP read is a write by the peer (RFC 5040). */
		rping->mem.access = VBD_ACCESS_REMOTE_WRITE;
	vbd_mem_plan(&rping->mem, pd);
	return VBD_OK;
}

static enum vbd_status prepare_memory(struct vbd_channel *channel, struct vbd_error *err)
{
	struct vbd_rping *rping = channel->rping;
	enum vbd_status status = vbd_mem_prepare(&rping->mem, err);
	struct layout *layout = memory_layout(rping);

	if (!status && rping->client) {
		layout->said[0] = message_of_range(rping, layout->source);
		layout->said[1] = message_of_range(rping, layout->sink);
	}
	return status;
}

static void free_memory(struct vbd_channel *channel)
{
	if (channel->rping)
		vbd_mem_unprepare(&channel->rping->mem);
}

static void destroy_rping(struct vbd_channel *channel)
{
	struct vbd_rping *rping = channel->rping;

	if (!rping)
		return;
	channel->rping = NULL;
	vbd_mem_deregister(&rping->mem);
	free(rping);
}

/* The protocol: the worker. */

static void step_rping(struct vbd_channel *channel, enum vbd_rping_event event);

static bool send_message(struct vbd_channel *channel, unsigned int which)
{
	const struct vbd_rping *rping = channel->rping;
	const struct vbd_sge sge = {
		.addr = (uintptr_t)&memory_layout(rping)->said[which],
		.length_bytes = sizeof(struct message),
		.lkey = rping->mem.lkey,
	};
	const struct vbd_send_request request = {.op = VBD_OP_SEND, .sges = &sge, .sge_count = 1};

	return vbd_channel_can_send(channel) && vbd_channel_post_send(channel, &request);
}

static bool read_or_write(struct vbd_channel *channel, enum vbd_op op)
{
	const struct vbd_rping *rping = channel->rping;
	const struct vbd_sge sge = {
		.addr = (uintptr_t)memory_layout(rping)->source,
		.length_bytes = rping->size_bytes,
		.lkey = rping->mem.lkey,
	};
	const struct vbd_send_request request = {
		.op = op,
		.sges = &sge,
		.sge_count = sge.length_bytes ? 1 : 0,
		.wr = {.remote_addr = rping->addr, .rkey = rping->rkey},
	};

	return vbd_channel_can_send(channel) && vbd_channel_post_send(channel, &request);
}

static void break_channel(struct vbd_channel *channel, const char *what)
{
	struct vbd_error error = {0};

	(void)vbd_error_set(
		&error, VBD_E_REMOTE_OPERATION, "the peer does not speak rping: %s", what);
	vbd_channel_break(channel, &error, VBD_OP_RECV, 0);
}

/*
 * The text of rping's client, with the same count and letters: its server writes back only up to
 * the first NUL, and `rping -s -v` prints the text.
 */
static void fill_ping_text(uint8_t *bytes, uint32_t size_bytes, uint64_t ping)
{
	const unsigned int first = 'A', last = 'z';
	unsigned int letter = first + (unsigned int)(ping % (last - first + 1));
	char head[40];
	uint32_t used;

	(void)snprintf(head, sizeof(head), "rdma-ping-%llu: ", (unsigned long long)ping);
	used = (uint32_t)strlen(head);
	for (uint32_t i = 0; i < size_bytes - 1; i++) {
		if (i < used) {
			bytes[i] = (uint8_t)head[i];
			continue;
		}
		bytes[i] = (uint8_t)letter;
		letter = letter == last ? first : letter + 1;
	}
	bytes[size_bytes - 1] = '\0';
}

void vbd_rping_ping(
	struct vbd_channel *channel, uint32_t size_bytes, uint64_t number, vbd_rping_back_cb back)
{
	struct vbd_rping *rping = channel->rping;
	struct layout *layout = memory_layout(rping);

	rping->size_bytes = size_bytes;
	rping->back = back;
	fill_ping_text(layout->source, size_bytes, number);
	memset(layout->sink, 0, size_bytes);
	for (size_t i = 0; i < VBD_ARRAY_LEN(layout->said); i++)
		layout->said[i].size_bytes_be = htobe32(size_bytes);
	step_rping(channel, VBD_RPING_EV_START);
}

static void compare_ping(struct vbd_channel *channel)
{
	const struct vbd_rping *rping = channel->rping;
	const struct layout *layout = memory_layout(rping);

	rping->back(channel, memcmp(layout->source, layout->sink, rping->size_bytes) == 0);
}

static bool post_action(struct vbd_channel *channel, enum vbd_rping_action action)
{
	switch (action) {
	case VBD_RPING_READ:
		return read_or_write(channel, VBD_OP_READ);
	case VBD_RPING_WRITE:
		return read_or_write(channel, VBD_OP_WRITE);
	case VBD_RPING_SAY_DONE:
	case VBD_RPING_SAY_SOURCE:
		return send_message(channel, 0);
	case VBD_RPING_SAY_SINK:
		return send_message(channel, 1);
	case VBD_RPING_NOTHING:
	case VBD_RPING_CHECK:
	case VBD_RPING_REFUSE:
	case VBD_RPING_ACTION_COUNT:
		break;
	}
	return true;
}

static void step_rping(struct vbd_channel *channel, enum vbd_rping_event event)
{
	struct vbd_rping *rping = channel->rping;
	const struct vbd_rule *rule = vbd_rping_rule(rping->state, event);

	rping->state = rule->next;
	if (rule->action == VBD_RPING_CHECK)
		compare_ping(channel);
	else if (rule->action == VBD_RPING_REFUSE)
		break_channel(channel, "an unexpected message arrived");
	else if (!post_action(channel, rule->action))
		rping->owed = rule->action;
}

static void on_message_received(struct vbd_channel *channel, struct vbd_recv_slot *slot)
{
	struct vbd_rping *rping = channel->rping;
	struct message message;

	if (slot->received.length_bytes != sizeof(message)) {
		break_channel(channel, "a message does not have 16 bytes");
		return;
	}
	memcpy(&message, vbd_channel_recv_data(slot), sizeof(message));
	vbd_channel_post_recv(channel, slot->index);
	if (vbd_rping_rule(rping->state, VBD_RPING_EV_MESSAGE)->action == VBD_RPING_READ ||
		vbd_rping_rule(rping->state, VBD_RPING_EV_MESSAGE)->action == VBD_RPING_WRITE) {
		rping->size_bytes = be32toh(message.size_bytes_be);
		rping->addr = be64toh(message.addr_be);
		rping->rkey = be32toh(message.rkey_be);
		if (rping->size_bytes > DATA_BYTES) {
			break_channel(channel, "the data is longer than 64 KiB");
			return;
		}
	}
	step_rping(channel, VBD_RPING_EV_MESSAGE);
}

static void on_wr_completed(struct vbd_channel *channel, const struct vbd_send_slot *sent)
{
	if (sent->op == VBD_OP_READ || sent->op == VBD_OP_WRITE)
		step_rping(channel, VBD_RPING_EV_MOVED);
}

static void post_owed_action(struct vbd_channel *channel)
{
	struct vbd_rping *rping = channel->rping;

	if (rping->owed != VBD_RPING_NOTHING && vbd_channel_can_send(channel) &&
		post_action(channel, rping->owed))
		rping->owed = VBD_RPING_NOTHING;
}

const struct vbd_service_ops vbd_rping_ops = {
	.create = create_rping,
	.prepare = prepare_memory,
	.free_memory = free_memory,
	.destroy = destroy_rping,
	.renew = reset_rping,
	.received = on_message_received,
	.sent = on_wr_completed,
	.pump = post_owed_action,
};
