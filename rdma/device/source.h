/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address of a device: rdma_cm finds a device by an address, never by its name.
 *
 * Control thread. Reads the GID table from the kernel: microseconds. The interfaces are those of
 * getifaddrs(3), which a call thread has read (vbd_interfaces_known()).
 */
#ifndef VBD_RDMA_DEVICE_SOURCE_H
#define VBD_RDMA_DEVICE_SOURCE_H

#include "base/addr.h"
#include "rdma/device/device.h"

struct ifaddrs;

/**
 * vbd_source_pick - an address that leads to the owner of @gids
 * @interfaces: for GIDs that are no addresses (InfiniBand, iWARP), and for the
 *               network of an address
 * @towards:    the destination: the address found has the same family, is link-local IPv6 if
 *               @towards is, and on the same interface if it has a scope; preferably in the same
 *               network, then as vbd_sockaddr_is_of_link() says of @towards
 * @ret_addr:   port 0
 *
 * Returns false if there is none.
 */
bool vbd_source_pick(const struct vbd_gid *gids, size_t gid_count, const struct ifaddrs *interfaces,
	const struct sockaddr *towards, struct sockaddr_storage *ret_addr);

/** vbd_source_of_device - vbd_source_pick() for @device; ADDRESS_NOT_AVAILABLE if there is none */
enum vbd_status vbd_source_of_device(const struct vbd_device *device,
	const struct ifaddrs *interfaces, const struct sockaddr *towards,
	struct sockaddr_storage *ret_addr, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_source_find - the entry of @gids for packets from @addr: RoCE v2 before v1 as in rdma_cm; on
 * iWARP and InfiniBand the GID of the interface with @addr. NULL: none. */
const struct vbd_gid *vbd_source_find(const struct vbd_gid *gids, size_t gid_count,
	const struct ifaddrs *interfaces, const struct sockaddr *addr);

/** vbd_source_sort - order @gids for vbd_source_has() */
void vbd_source_sort(struct vbd_gid *gids, size_t gid_count);

/** vbd_source_has - has @gids, in the order of vbd_source_sort(), an entry for packets from @own,
 * one of @interfaces? A binary search, while vbd_source_find() compares each entry. */
bool vbd_source_has(const struct vbd_gid *gids, size_t gid_count, const struct ifaddrs *interfaces,
	const struct ifaddrs *own);

/** vbd_source_that_is_down - the address of an interface that is down, in whose network @towards
 * is; NULL: none. The kernel has no route over such an interface. */
const struct sockaddr *vbd_source_that_is_down(
	const struct ifaddrs *interfaces, const struct sockaddr *towards);

/** vbd_source_of_gid - the address in a GID of RoCE, port 0; false for any other GID */
bool vbd_source_of_gid(const struct vbd_gid *gid, struct sockaddr_storage *ret_addr);

/** vbd_source_has_interface - does the network interface @netdev belong to the owner of @gids? */
bool vbd_source_has_interface(const struct vbd_gid *gids, size_t gid_count,
	const struct ifaddrs *interfaces, const char *netdev);

/**
 * vbd_source_judge_bind - tell a port that is taken from an address that this host does not have
 * @interfaces: NULL if they are not known: a port is taken then
 * @addr:  that could not be bound
 * @param: name of the parameter of the port, a static string
 * @error: of the call; rdma_cm has EADDRNOTAVAIL for both
 *
 * Returns address_in_use with @param for a port that is taken, else the status of @error; @err is
 * set.
 */
enum vbd_status vbd_source_judge_bind(const struct ifaddrs *interfaces, const struct sockaddr *addr,
	const char *param, const struct vbd_error *error, struct vbd_error *err) VBD_MUST_CHECK;

#endif
