/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_flood DEVICE UMAD ADDR PORT COUNT: sends COUNT requests (REQ, InfiniBand Architecture
 * Specification volume 1, 12.6.5) to the connection manager at ADDR, an address of DEVICE itself,
 * without a CM id of its own: a peer that costs its victim more than itself. Needs root. Prints how
 * long that took as JSON. Nobody reads the answers.
 */
#include <rdma/ib_user_mad.h>

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define MAD_BYTES     256
#define GID_BYTES     16
#define GIDS_MAX      256
#define CM_CLASS      0x07
#define CM_VERSION    2
#define METHOD_SEND   0x03
#define ATTRIBUTE_REQ 0x0010
#define GSI_QPN	      1
#define GSI_QKEY      0x80010000u
#define RANDOM_BYTES \
	56 /* of the request's private data, behind the header of the RDMA IP CM service */

/* Service ids of the RDMA IP CM service for RC end with the port (annex A11). */
#define SERVICE_ID UINT64_C(0x0000000001060000)

/* Offsets in a REQ, from the begin of the MAD. */
enum {
	OF_BASE_VERSION = 0,
	OF_CLASS = 1,
	OF_CLASS_VERSION = 2,
	OF_METHOD = 3,
	OF_TRANSACTION = 8,
	OF_ATTRIBUTE = 16,
	OF_LOCAL_COMM_ID = 24,
	OF_SERVICE_ID = 32,
	OF_CA_GUID = 40,
	OF_QPN = 56,	 /* 24 bits; then responder resources */
	OF_TIMEOUT = 67, /* remote CM response timeout, 5 bits; transport service type */
	OF_PSN = 68,	 /* 24 bits; then local CM response timeout, 5 bits; retry count */
	OF_PKEY = 72,
	OF_MTU = 74,	    /* 4 bits; then RNR retry count */
	OF_CM_RETRIES = 75, /* 4 bits */
	OF_LOCAL_GID = 80,
	OF_REMOTE_GID = 96,
	OF_HOP_LIMIT = 117,
	OF_ACK_TIMEOUT = 119, /* 5 bits */
	OF_IP_VERSION = 165,  /* from here on the header of the RDMA IP CM service */
	OF_SOURCE_PORT = 166,
	OF_SOURCE = 180,
	OF_DESTINATION = 196,
	OF_RANDOM = 200,
};

struct packet {
	struct ib_user_mad_hdr to;
	uint8_t mad[MAD_BYTES];
};

static void put16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

/* Returns the index of the device's GID, or -1. */
static int find_gid(const char *device, const uint8_t gid[GID_BYTES])
{
	for (int i = 0; i < GIDS_MAX; i++) {
		char path[128], text[64] = "";
		uint8_t found[GID_BYTES];
		FILE *file;

		(void)snprintf(
			path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/%d", device, i);
		file = fopen(path, "re");
		if (!file)
			return -1;
		if (fscanf(file, "%63s", text) == 1 && inet_pton(AF_INET6, text, found) == 1 &&
			memcmp(found, gid, GID_BYTES) == 0) {
			(void)fclose(file);
			return i;
		}
		(void)fclose(file);
	}
	return -1;
}

/* Fill in what all requests have in common. Returns false if the device does not have the address.
 */
static bool prepare(struct packet *packet, const char *device, struct in_addr addr, uint16_t port)
{
	uint8_t gid[GID_BYTES] = {[10] = 0xff, [11] = 0xff};
	uint8_t *mad = packet->mad;
	int index;

	memcpy(gid + 12, &addr, sizeof(addr));
	index = find_gid(device, gid);
	if (index < 0)
		return false;
	packet->to = (struct ib_user_mad_hdr){.length = MAD_BYTES,
		.qpn = htobe32(GSI_QPN),
		.qkey = htobe32(GSI_QKEY),
		.grh_present = 1,
		.gid_index = (uint8_t)index,
		.hop_limit = 64};
	memcpy(packet->to.gid, gid, GID_BYTES);
	mad[OF_BASE_VERSION] = 1;
	mad[OF_CLASS] = CM_CLASS;
	mad[OF_CLASS_VERSION] = CM_VERSION;
	mad[OF_METHOD] = METHOD_SEND;
	put16(mad + OF_ATTRIBUTE, ATTRIBUTE_REQ);
	put64(mad + OF_SERVICE_ID, SERVICE_ID | port);
	mad[OF_TIMEOUT] = 20 << 3;
	put32(mad + OF_PSN, 20 << 3 | 7);
	put16(mad + OF_PKEY, 0xffff);
	mad[OF_MTU] = 3 << 4 | 7;
	mad[OF_CM_RETRIES] = 15 << 4;
	memcpy(mad + OF_LOCAL_GID, gid, GID_BYTES);
	memcpy(mad + OF_REMOTE_GID, gid, GID_BYTES);
	mad[OF_HOP_LIMIT] = 64;
	mad[OF_ACK_TIMEOUT] = 19 << 3;
	mad[OF_IP_VERSION] = 4 << 4;
	memcpy(mad + OF_SOURCE, &addr, sizeof(addr));
	memcpy(mad + OF_DESTINATION, &addr, sizeof(addr));
	return true;
}

/* Each request is another connection: the kernel drops one whose id or number of the queue pair
 * repeats. */
static void vary(struct packet *packet, uint32_t nth)
{
	uint8_t *mad = packet->mad;

	put64(mad + OF_TRANSACTION, nth);
	put32(mad + OF_LOCAL_COMM_ID, nth);
	put64(mad + OF_CA_GUID, 1 + (uint64_t)getpid());
	put32(mad + OF_QPN, (0x1000 + nth) << 8);
	put16(mad + OF_SOURCE_PORT, (uint16_t)(1024 + nth % 60000));
	for (size_t i = 0; i < RANDOM_BYTES; i++)
		mad[OF_RANDOM + i] = (uint8_t)rand();
}

/* Returns the descriptor of an agent that only sends, or -1. */
static int open_agent(const char *umad, uint32_t *ret_id)
{
	struct ib_user_mad_reg_req request = {.qpn = GSI_QPN};
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/dev/infiniband/%s", umad);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL) < 0 ||
		ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &request) < 0)
		return -1;
	*ret_id = request.id;
	return fd;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	struct packet packet = {0};
	struct in_addr addr;
	uint64_t began_ms;
	uint32_t count;
	int fd;

	if (argc != 6 || inet_pton(AF_INET, argv[3], &addr) != 1 ||
		!prepare(&packet, argv[1], addr, (uint16_t)strtoul(argv[4], NULL, 10)))
		return 2;
	count = (uint32_t)strtoul(argv[5], NULL, 10);
	fd = open_agent(argv[2], &packet.to.id);
	if (fd < 0) {
		perror(argv[2]);
		return 2;
	}
	began_ms = now_ms();
	for (uint32_t nth = 0; nth < count; nth++) {
		vary(&packet, nth);
		if (write(fd, &packet, sizeof(packet)) != (ssize_t)sizeof(packet)) {
			perror("write");
			return 1;
		}
	}
	(void)printf("{\"sent\": %u, \"elapsed_ms\": %llu}\n", count,
		(unsigned long long)(now_ms() - began_ms));
	(void)close(fd);
	return 0;
}
