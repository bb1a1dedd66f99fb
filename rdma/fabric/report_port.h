/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ports at which a verbsd takes reports (rdma/fabric/report.h): SIDR listeners of RDMA_PS_UDP,
 * one on each local address of a device. The first free one of a few ports is taken, so
 * that several verbsd on a host each have one; a side that reports tries them in turn.
 *
 * Nothing is ever connected there: each request is answered by a rejection, whose private data is
 * the other side's report.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_FABRIC_REPORT_PORT_H
#define VBD_RDMA_FABRIC_REPORT_PORT_H

#include "base/list.h"
#include "rdma/names/cm_tag.h"
#include "rdma/provider/account.h"

#include <sys/socket.h>

struct rdma_cm_id;
struct vbd_device;
struct vbd_fabric;
struct vbd_pv_cm_event;

/* Connections of more local addresses than these have no port. */
#define VBD_REPORT_PORTS_MAX 128

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
