/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's account of objects, which equals the fake's own, and the way to an address. */
#include "tests/fake/fake.h"

enum vbd_status vbd_pv_count_objects(
	uint64_t ret_counts[VBD_PV_OBJECT_COUNT], struct vbd_error *err)
{
	int errnum;

	(void)fake_may_block(VBD_WAIT_COUNT_OBJECTS);
	fake_lock();
	errnum = fake_enter("rdma netlink");
	if (!errnum) {
		const struct fake_live *live = &g_fake.live;
		const uint64_t counts[VBD_PV_OBJECT_COUNT] = {
			[VBD_PV_QP] = live->qps,
			[VBD_PV_CQ] = live->cqs,
			[VBD_PV_MR] = live->mrs + g_fake.lost_mrs,
			[VBD_PV_PD] = live->pds,
			[VBD_PV_CM_ID] = live->ids,
			[VBD_PV_CONTEXT] = live->contexts,
			[VBD_PV_SRQ] = live->srqs,
		};

		memcpy(ret_counts, counts, sizeof(counts));
	}
	fake_unlock();
	return errnum ? vbd_error_errno(err, VBD_OK, "rdma netlink", errnum, "by the script")
		      : VBD_OK;
}

DIR *vbd_pv_open_counters(const char *path)
{
	(void)fake_may_block(VBD_WAIT_READ_COUNTERS);
	return opendir(path);
}

void vbd_pv_own_objects(uint64_t ret_counts[VBD_PV_OBJECT_COUNT])
{
	memset(ret_counts, 0, VBD_PV_OBJECT_COUNT * sizeof(*ret_counts));
}

void fake_leak_mrs(unsigned int count)
{
	fake_lock();
	g_fake.lost_mrs = count;
	fake_unlock();
}

enum vbd_status vbd_pv_find_netroute(const struct sockaddr *dst, const struct sockaddr *src,
	struct vbd_pv_netroute *ret_netroute, struct vbd_error *err)
{
	struct vbd_pv_netroute netroute = {.local = true, .netdev = "lo", .mtu_bytes = 65536};
	const size_t len = dst->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						      : sizeof(struct sockaddr_in);
	int errnum;

	(void)src;
	memcpy(&netroute.src, dst, len);
	memcpy(&netroute.next, dst, len);
	fake_lock();
	errnum = fake_enter("netlink");
	if (!errnum)
		*ret_netroute = g_fake.netroute_set ? g_fake.netroute : netroute;
	fake_unlock();
	return errnum ? vbd_error_errno(err, VBD_OK, "netlink", errnum, "by the script") : VBD_OK;
}

void fake_netroute(const struct vbd_pv_netroute *netroute)
{
	fake_lock();
	g_fake.netroute = *netroute;
	g_fake.netroute_set = true;
	fake_unlock();
}
