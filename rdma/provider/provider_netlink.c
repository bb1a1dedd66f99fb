/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel objects of this process, read as by `rdma resource show`. */
#include "rdma/provider/provider_parts.h"
#include "rdma/provider/provider.h"

#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Timeout of each message: the kernel answers at once unless something is broken. */
#define PATIENCE_S 2

/* The request of each type, and the attributes of its entries in the answer. */
static const struct {
	uint16_t command, table, entry;
} types[VBD_PV_OBJECT_COUNT] = {
	[VBD_PV_QP] = {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP,
		RDMA_NLDEV_ATTR_RES_QP_ENTRY},
	[VBD_PV_CQ] = {RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ,
		RDMA_NLDEV_ATTR_RES_CQ_ENTRY},
	[VBD_PV_MR] = {RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR,
		RDMA_NLDEV_ATTR_RES_MR_ENTRY},
	[VBD_PV_PD] = {RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD,
		RDMA_NLDEV_ATTR_RES_PD_ENTRY},
	[VBD_PV_CM_ID] = {RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID,
		RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY},
	[VBD_PV_CONTEXT] = {RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX,
		RDMA_NLDEV_ATTR_RES_CTX_ENTRY},
	[VBD_PV_SRQ] = {RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ,
		RDMA_NLDEV_ATTR_RES_SRQ_ENTRY},
};

struct dump {
	struct mnl_socket *socket;
	uint32_t *devices;
	size_t device_count, device_room;
	uint16_t table, entry; /* of the type that is being counted; 0: devices are listed */
	uint64_t count;
	uint32_t last_tid; /* the thread that made the last object; 0: none yet */
	bool last_is_ours;
};

/* The kernel gives the id of the thread that made an object, not of its process. One thread makes
 * most objects of a type, so that there is rarely a path to look up. */
static bool is_own_thread(struct dump *dump, uint32_t tid)
{
	char path[40];

	if (tid == dump->last_tid)
		return dump->last_is_ours;
	(void)snprintf(path, sizeof(path), "/proc/self/task/%u", tid);
	dump->last_tid = tid;
	dump->last_is_ours = tid == (uint32_t)getpid() || access(path, F_OK) == 0;
	return dump->last_is_ours;
}

static int add_device(struct dump *dump, uint32_t device)
{
	size_t room = dump->device_room ? 2 * dump->device_room : 16;
	uint32_t *grown;

	if (dump->device_count == dump->device_room) {
		grown = realloc(dump->devices, room * sizeof(*grown));
		if (!grown)
			return MNL_CB_ERROR;
		dump->devices = grown;
		dump->device_room = room;
	}
	dump->devices[dump->device_count++] = device;
	return MNL_CB_OK;
}

/* An attribute of any level: all have one enum of types. libmnl's macros that walk attributes do
 * not compile without warnings. */
static int on_attribute(const struct nlattr *attr, void *arg)
{
	struct dump *dump = arg;
	uint16_t type = mnl_attr_get_type(attr);

	if (dump->table && (type == dump->table || type == dump->entry))
		return mnl_attr_parse_nested(attr, on_attribute, arg);
	if (type == RDMA_NLDEV_ATTR_RES_PID && is_own_thread(dump, mnl_attr_get_u32(attr)))
		dump->count++;
	return type == RDMA_NLDEV_ATTR_DEV_INDEX && !dump->table
		       ? add_device(dump, mnl_attr_get_u32(attr))
		       : MNL_CB_OK;
}

static int on_netlink_message(const struct nlmsghdr *message, void *arg)
{
	return mnl_attr_parse(message, 0, on_attribute, arg);
}

/* Returns 0, or an errno, also for the kernel's refusal. @device: NULL for none */
static int query_kernel(struct dump *dump, uint16_t command, const uint32_t *device)
{
	static unsigned int sequence;
	_Alignas(struct nlmsghdr) char buffer[32768];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	unsigned int seq = __atomic_add_fetch(&sequence, 1, __ATOMIC_RELAXED);
	unsigned int port = mnl_socket_get_portid(dump->socket);
	ssize_t len;
	int rc;

	request->nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP;
	request->nlmsg_seq = seq;
	if (device)
		mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, *device);
	if (mnl_socket_sendto(dump->socket, request, request->nlmsg_len) < 0)
		return errno;
	do {
		len = mnl_socket_recvfrom(dump->socket, buffer, sizeof(buffer));
		if (len < 0)
			return errno;
		rc = mnl_cb_run(buffer, (size_t)len, seq, port, on_netlink_message, dump);
	} while (rc == MNL_CB_OK);
	return rc < 0 ? errno : 0;
}

enum vbd_status vbd_netlink_open(int bus, struct mnl_socket **ret_socket, struct vbd_error *err)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct mnl_socket *socket = mnl_socket_open2(bus, SOCK_CLOEXEC);

	if (!socket)
		return vbd_error_errno(err, VBD_E_NOT_SUPPORTED, "mnl_socket_open", errno,
			"no netlink of family %d", bus);
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
		setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &patience,
			sizeof(patience)) < 0) {
		(void)vbd_error_errno(err, VBD_E_INTERNAL, "mnl_socket_bind", errno,
			"no netlink of family %d", bus);
		(void)mnl_socket_close(socket);
		return VBD_E_INTERNAL;
	}
	*ret_socket = socket;
	return VBD_OK;
}

/* A device that is removed meanwhile takes its objects with it. */
static void count_objects(struct dump *dump, enum vbd_pv_object type, uint64_t *ret_count)
{
	int errnum = 0;

	dump->table = types[type].table;
	dump->entry = types[type].entry;
	dump->count = 0;
	for (size_t i = 0; i < dump->device_count; i++) {
		int rc = query_kernel(dump, types[type].command, &dump->devices[i]);

		if (rc && rc != ENODEV)
			errnum = rc;
	}
	*ret_count = errnum ? VBD_PV_UNKNOWN : dump->count;
}

enum vbd_status vbd_pv_count_objects(
	uint64_t ret_counts[VBD_PV_OBJECT_COUNT], struct vbd_error *err)
{
	uint64_t counts[VBD_PV_OBJECT_COUNT];
	struct dump dump = {0};
	enum vbd_status status = vbd_netlink_open(NETLINK_RDMA, &dump.socket, err);
	int errnum;

	if (status)
		return status;
	errnum = query_kernel(&dump, RDMA_NLDEV_CMD_GET, NULL);
	if (errnum) {
		status = vbd_error_errno(
			err, VBD_E_NOT_SUPPORTED, "rdma netlink", errnum, "no list of devices");
		goto close;
	}
	for (enum vbd_pv_object type = 0; type < VBD_PV_OBJECT_COUNT; type++)
		count_objects(&dump, type, &counts[type]);
	memcpy(ret_counts, counts, sizeof(counts));
close:
	free(dump.devices);
	(void)mnl_socket_close(dump.socket);
	return status;
}

void vbd_pv_own_objects(uint64_t ret_counts[VBD_PV_OBJECT_COUNT])
{
	unsigned int contexts;
	unsigned int used;

	vbd_cm_context_count(&contexts, &used);
	memset(ret_counts, 0, VBD_PV_OBJECT_COUNT * sizeof(*ret_counts));
	ret_counts[VBD_PV_CONTEXT] = contexts;
	ret_counts[VBD_PV_PD] = used;
}
