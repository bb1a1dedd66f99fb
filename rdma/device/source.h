/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address of a device: rdma_cm finds a device by an address, never by its name.
 *
 * Control thread. Asks the kernel for the GID table and the interfaces: microseconds.
 */
#ifndef VBD_RDMA_DEVICE_SOURCE_H
#define VBD_RDMA_DEVICE_SOURCE_H

#include "base/attr.h"
#include "base/error.h"
#include "rdma/device/device.h"

#include <stdbool.h>
#include <sys/socket.h>

struct ifaddrs;

/**
 * vbd_source_pick - an address that leads to the owner of @gids
 * @interfaces: as getifaddrs(3) gives them; for GIDs that are no addresses (InfiniBand, iWARP), and
 *              for what network an address is of
 * @towards:    its family is the one wanted; a link-local one wants a link-local one, and one with
 *              a scope wants the same interface; one of the same network is preferred
 * @ret_addr:   port 0
 *
 * False if there is none.
 */
bool vbd_source_pick(const struct vbd_gid *gids, size_t gid_count, const struct ifaddrs *interfaces,
	const struct sockaddr *towards, struct sockaddr_storage *ret_addr);

/** vbd_source_of_device - the same of a device; ADDRESS_NOT_AVAILABLE if it has none */
enum vbd_status vbd_source_of_device(const struct vbd_device *device,
	const struct sockaddr *towards, struct sockaddr_storage *ret_addr,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_source_find - the one of @gids that packets from @addr are sent with, of RoCE v2 before v1
 * as rdma_cm has it; on iWARP and InfiniBand that of the interface with this address. NULL: none.
 */
const struct vbd_gid *vbd_source_find(const struct vbd_gid *gids, size_t gid_count,
	const struct ifaddrs *interfaces, const struct sockaddr *addr);

/** vbd_source_of_gid - the address that a GID of RoCE is, port 0; false for one of another kind */
bool vbd_source_of_gid(const struct vbd_gid *gid, struct sockaddr_storage *ret_addr);

/** vbd_source_has_interface - does the network interface @netdev belong to the owner of @gids? */
bool vbd_source_has_interface(const struct vbd_gid *gids, size_t gid_count,
	const struct ifaddrs *interfaces, const char *netdev);

/** vbd_sockaddr_bytes - the size of a socket address of this family, 0 for neither IPv4 nor IPv6 */
size_t vbd_sockaddr_bytes(const struct sockaddr *addr);

/** vbd_sockaddr_is_any - 0.0.0.0 or :: */
bool vbd_sockaddr_is_any(const struct sockaddr *addr);

/** vbd_sockaddr_needs_scope - a link-local address that does not say on which interface */
bool vbd_sockaddr_needs_scope(const struct sockaddr *addr);

#endif
