/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_flood ADDR PORT COUNT: sends COUNT connect requests as fast as the kernel takes them,
 * LANES of them at a time. None has a queue pair, their private data is rubbish of 0, 56 and 196
 * bytes in turn, and who is accepted never confirms it. Prints what became of them as JSON.
 */
#include <rdma/rdma_cma.h>

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LANES		   64
#define RESOLVE_TIMEOUT_MS 2000

static struct {
	struct rdma_event_channel *channel;
	struct sockaddr_in to;
	unsigned long wanted, begun, open;
	unsigned long sent, rejected, accepted, unreachable, unsendable, reasons;
} flood;

static void begin_one(void)
{
	struct rdma_cm_id *id;

	flood.begun++;
	if (rdma_create_id(flood.channel, &id, NULL, RDMA_PS_TCP) != 0) {
		flood.unsendable++;
		return;
	}
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&flood.to, RESOLVE_TIMEOUT_MS) != 0) {
		flood.unsendable++;
		rdma_destroy_id(id);
		return;
	}
	flood.open++;
}

/* Returns false if the kernel does not send the request. */
static bool send_request(struct rdma_cm_id *id)
{
	static const uint8_t lengths[] = {0, 56, 196};
	static uint8_t rubbish[196];
	const unsigned long nth = flood.sent + flood.unsendable;
	/* The peer's kernel takes a number that repeats for a stale connection, and rejects it
	 * itself. */
	struct rdma_conn_param param = {.retry_count = 1,
		.qp_num = 0x1000 + (uint32_t)(nth + (unsigned long)getpid() * 4096) % 0xf00000};

	for (size_t i = 0; i < sizeof(rubbish); i++)
		rubbish[i] = (uint8_t)rand();
	param.private_data = rubbish;
	param.private_data_len = lengths[nth % sizeof(lengths)];
	if (rdma_connect(id, &param) != 0) {
		flood.unsendable++;
		return false;
	}
	flood.sent++;
	return true;
}

static bool has_reason(const struct rdma_cm_event *event)
{
	static const char start[] = "verbsd: ";

	return event->param.conn.private_data_len >= sizeof(start) - 1 &&
	       memcmp(event->param.conn.private_data, start, sizeof(start) - 1) == 0;
}

/* Returns true while the request goes on. */
static bool step(struct rdma_cm_id *id, const struct rdma_cm_event *event)
{
	switch ((int)event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return rdma_resolve_route(id, RESOLVE_TIMEOUT_MS) == 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return send_request(id);
	case RDMA_CM_EVENT_REJECTED:
		flood.rejected++;
		flood.reasons += has_reason(event);
		return false;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_ESTABLISHED:
		flood.accepted++;
		return false;
	default:
		flood.unreachable++;
		return false;
	}
}

static int next_event(void)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	bool goes_on;

	if (rdma_get_cm_event(flood.channel, &event) != 0)
		return -1;
	id = event->id;
	goes_on = step(id, event);
	(void)rdma_ack_cm_event(event);
	if (!goes_on) {
		rdma_destroy_id(id);
		flood.open--;
	}
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	uint64_t began_ms = now_ms();

	if (argc != 4 || inet_pton(AF_INET, argv[1], &flood.to.sin_addr) != 1)
		return 2;
	flood.to.sin_family = AF_INET;
	flood.to.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	flood.wanted = strtoul(argv[3], NULL, 10);
	flood.channel = rdma_create_event_channel();
	if (!flood.channel)
		return 2;
	while (flood.begun < flood.wanted || flood.open) {
		while (flood.begun < flood.wanted && flood.open < LANES)
			begin_one();
		if (flood.open && next_event() != 0)
			return 1;
	}
	rdma_destroy_event_channel(flood.channel);
	(void)printf("{\"sent\": %lu, \"rejected\": %lu, \"reasons\": %lu, \"accepted\": %lu, "
		     "\"unreachable\": %lu, \"unsendable\": %lu, \"elapsed_ms\": %llu}\n",
		flood.sent, flood.rejected, flood.reasons, flood.accepted, flood.unreachable,
		flood.unsendable, (unsigned long long)(now_ms() - began_ms));
	return 0;
}
