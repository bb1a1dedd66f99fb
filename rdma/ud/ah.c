/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/ud/ah.h"

#include "rdma/device/device.h"
#include "rdma/device/pd.h"
#include "rdma/provider/provider.h"

#define IPV4_HEADER_BYTES 20

struct vbd_ah_source vbd_ah_source_of(const struct vbd_recv_slot *slot)
{
	struct vbd_ah_source source = {
		.qpn = slot->src_qp,
		.lid = slot->slid,
		.sl = slot->sl,
		.wc_flags = slot->wc_flags,
	};

	memcpy(source.grh, vbd_channel_recv_grh(slot), sizeof(source.grh));
	return source;
}

static uint16_t ip_checksum(const uint8_t *bytes, size_t len_bytes)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len_bytes; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* The test of ibv_init_ah_from_wc(3): the undefined bytes before an IPv4 header may look like the
 * beginning of an IPv6 header. */
static bool is_ipv4_header(const uint8_t *grh)
{
	const uint8_t *ip = grh + VBD_GRH_BYTES - IPV4_HEADER_BYTES;

	if (grh[0] >> 4 != 6)
		return true;
	return ip[0] == 0x45 && ip_checksum(ip, IPV4_HEADER_BYTES) == 0;
}

bool vbd_ah_source_gid(const struct vbd_ah_source *source, uint8_t ret_gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *grh = source->grh;

	if (!(source->wc_flags & IBV_WC_GRH))
		return false;
	if (is_ipv4_header(grh)) {
		memcpy(ret_gid, mapped, sizeof(mapped));
		memcpy(ret_gid + sizeof(mapped), grh + 32, 4);
	} else {
		memcpy(ret_gid, grh + 8, 16);
	}
	return true;
}

/* The GRH of a multicast message has no local GID: @sgid_index replaces it. */
static struct ibv_ah_attr path_to_gid(const uint8_t gid[16], uint8_t port_num, uint8_t sgid_index,
	const struct vbd_ah_source *source)
{
	struct ibv_ah_attr path = {
		.is_global = true,
		.grh = {.sgid_index = sgid_index, .hop_limit = 64},
		.dlid = source->lid,
		.sl = source->sl,
		.port_num = port_num,
	};

	memcpy(path.grh.dgid.raw, gid, sizeof(path.grh.dgid.raw));
	return path;
}

enum vbd_status vbd_ah_path_back(const struct vbd_device *device, uint8_t port_num,
	uint8_t sgid_index, const struct vbd_ah_source *source, struct ibv_ah_attr *ret_path,
	struct vbd_error *err)
{
	struct ibv_wc wc = {
		.wc_flags = source->wc_flags,
		.src_qp = source->qpn,
		.slid = source->lid,
		.sl = source->sl,
	};
	struct ibv_ah_attr attr;
	enum vbd_status status;

	struct vbd_error error = {0};
	uint8_t gid[16];

	status = vbd_pv_ah_attr_of_wc(device->context, port_num, &wc, source->grh, &attr, &error);
	if (status == VBD_OK)
		*ret_path = attr;
	else if (vbd_ah_source_gid(source, gid))
		*ret_path = path_to_gid(gid, port_num, sgid_index, source);
	else
		return vbd_error_set(err, status, "%s", error.text);
	return VBD_OK;
}

enum vbd_status vbd_ah_make(struct vbd_pd *pd, const struct ibv_ah_attr *path,
	struct vbd_ah **ret_ah, struct vbd_error *err)
{
	struct ibv_ah_attr attr = *path;
	struct vbd_ah *ah = calloc(1, sizeof(*ah));
	enum vbd_status status;

	if (!ah)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for an address handle");
	ah->pd = pd;
	status = vbd_pv_create_ah(pd->ibv_pd, &attr, &ah->ibv_ah, err);
	if (status)
		free(ah);
	else
		*ret_ah = ah;
	return status;
}

/* Call thread. */
static void destroy_ah_work(struct vbd_call *call)
{
	vbd_pv_destroy_ah(VBD_CONTAINER_OF(call, struct vbd_ah, call)->ibv_ah);
}

static void on_ah_destroyed(struct vbd_call *call)
{
	struct vbd_ah *ah = VBD_CONTAINER_OF(call, struct vbd_ah, call);

	vbd_pd_unref(ah->pd);
	free(ah);
}

void vbd_ah_destroy(struct vbd_calls *calls, struct vbd_ah *ah)
{
	if (!ah)
		return;
	vbd_pd_ref(ah->pd);
	ah->call.work = destroy_ah_work;
	ah->call.done = on_ah_destroyed;
	vbd_call_start(calls, &ah->call, VBD_LANE_END);
}
