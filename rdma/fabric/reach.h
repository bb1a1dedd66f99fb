/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of this host that no RDMA device serves, told before the CM is asked.
 *
 * Control thread. Reads the GID tables and the interfaces from the kernel: microseconds for each
 * device.
 */
#ifndef VBD_RDMA_FABRIC_REACH_H
#define VBD_RDMA_FABRIC_REACH_H

#include "base/attr.h"
#include "base/error.h"

#include <sys/socket.h>

struct vbd_fabric;

/**
 * vbd_reach_check_own - can RDMA leave from @addr, which should be an address of this host?
 * @param: name of the parameter that @addr comes from, a static string
 *
 * Returns address_not_available, with the addresses that can be used, if no interface has @addr, or
 * if no device serves that interface. An address about which the kernel does not say enough passes.
 */
enum vbd_status vbd_reach_check_own(const struct vbd_fabric *fabric, const struct sockaddr *addr,
	const char *param, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_reach_check_dst - as vbd_reach_check_own() for a destination: a loopback address is this
 * host's, and any other one passes */
enum vbd_status vbd_reach_check_dst(const struct vbd_fabric *fabric, const struct sockaddr *dst,
	const char *param, struct vbd_error *err) VBD_MUST_CHECK;

#endif
