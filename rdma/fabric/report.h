/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report: the few facts about the end of a connection that its two sides tell each other when
 * both are verbsd. rdma_disconnect(3) takes no private data, so a report travels in the private
 * data of an SIDR request, and the other side's in the reply.
 *
 * struct wire in report.c has the bytes. A later version may append some.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_FABRIC_REPORT_H
#define VBD_RDMA_FABRIC_REPORT_H

#include "base/list.h"
#include "rdma/names/wr_id.h"
#include "rdma/names/reason.h"
#include "rdma/provider/account.h"

#include <sys/socket.h>

struct rdma_cm_id;
struct vbd_device;
struct vbd_fabric;
struct vbd_pv_cm_event;

#define VBD_REPORT_BYTES 136

/* The device refused to let the peer use memory here: why, as far as this verbsd can tell. Its own
 * callers are told, never the peer. X(SYMBOL, name) */
#define VBD_REPORT_MEMORY_MAP(X)                                                   \
	X(VBD_REPORT_MEMORY_UNJUDGED, "unjudged")                                  \
	X(VBD_REPORT_MEMORY_GRANTED, "granted") /* nothing is wrong with it now */ \
	X(VBD_REPORT_MEMORY_NO_SUCH_KEY, "no_such_key")                            \
	X(VBD_REPORT_MEMORY_OTHER_PD, "other_pd")                                  \
	X(VBD_REPORT_MEMORY_PAST_END, "past_end") /* by over_bytes */              \
	X(VBD_REPORT_MEMORY_NO_ACCESS, "no_access")

enum vbd_report_memory { VBD_REPORT_MEMORY_MAP(VBD_ENUM_ROW) VBD_REPORT_MEMORY_COUNT };

/** vbd_report_memory_name - "past_end" */
const char *vbd_report_memory_name(enum vbd_report_memory memory);

/* "Sender" is the side that writes the report. */
struct vbd_report {
	bool known;	 /* the sender has a connection with these two queue pairs */
	bool ended;	 /* its end has begun */
	bool failed;	 /* and something went wrong */
	bool refused;	 /* its device refused a request of the other side, as far as is known */
	bool inbox_full; /* all receives hold messages that its clients have not deleted */
	uint32_t lqpn, rqpn;
	enum vbd_reason reason; /* NONE while it has not ended */
	/* The request of the sender that failed or was outstanding. */
	int op; /* enum vbd_op; -1: none */
	uint64_t length_bytes, remote_addr;
	uint32_t rkey;
	uint32_t recv_size_bytes; /* of the receives of the sender */
	uint32_t path_mtu_bytes;  /* of its queue pair; 0: unknown */
	uint64_t uptime_ms;	  /* of the verbsd that sends it */
};

/** vbd_report_write - the bytes of @report */
void vbd_report_write(const struct vbd_report *report, uint8_t bytes[VBD_REPORT_BYTES]);

/** vbd_report_read - the report in private data; false if that is none, or of another version */
bool vbd_report_read(const uint8_t *bytes, size_t count, struct vbd_report *ret_report);

struct vbd_report_port {
	struct vbd_cm_tag tag; /* first */
	struct vbd_fabric *fabric;
	struct vbd_link link; /* in fabric->report_ports */
	struct vbd_account account;
	struct rdma_cm_id *cm_id;
	struct sockaddr_storage addr;
};

/**
 * vbd_report_port_open - listen on @local, an address of @device, whose port does not count
 *
 * Does nothing if a port is open there, if no port is free, or over iWARP, which has no SIDR: then
 * the sides of connections tell each other nothing.
 *
 * Returns false if a later try may do better: the CM does not know the device yet.
 */
bool vbd_report_port_open(struct vbd_fabric *fabric, const struct vbd_device *device,
	const struct sockaddr_storage *local);

/* For the fabric. */
void vbd_report_port_on_cm_event(struct vbd_report_port *port, const struct vbd_pv_cm_event *event);

/** vbd_report_ports_device_removing - close the ports on the device */
void vbd_report_ports_device_removing(struct vbd_fabric *fabric, const struct vbd_device *device);

/** vbd_report_ports_close - close all */
void vbd_report_ports_close(struct vbd_fabric *fabric);

#endif
