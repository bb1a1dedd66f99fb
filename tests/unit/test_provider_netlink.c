/* SPDX-License-Identifier: Apache-2.0 */
/* The count of the kernel's objects, with answers of this test: the linker puts its two functions
 * in place of those of libmnl that ask and answer. */
#include "rdma/provider/provider.h"
#include "tests/unit/unit.h"

#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>

#include <unistd.h>

/* More than the first room for them, and than twice as many. */
#define DEVICES 40

struct mnl_socket *__wrap_mnl_socket_open2(int bus, int flags);
struct mnl_socket *__real_mnl_socket_open2(int bus, int flags);
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *socket, const void *bytes, size_t count);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *socket, void *bytes, size_t count);

static struct {
	unsigned int command, seq, told;
	uint32_t device; /* 0: of none */
	bool devices_asked[DEVICES + 1];
} kernel;

/* The machine may have no netlink of RDMA. */
struct mnl_socket *__wrap_mnl_socket_open2(int bus, int flags)
{
	assert_int_equal(bus, NETLINK_RDMA);
	return __real_mnl_socket_open2(NETLINK_ROUTE, flags);
}

static int on_attr(const struct nlattr *attr, void *arg)
{
	(void)arg;
	assert_int_equal(mnl_attr_get_type(attr), RDMA_NLDEV_ATTR_DEV_INDEX);
	kernel.device = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *socket, const void *bytes, size_t count)
{
	const struct nlmsghdr *request = bytes;

	(void)socket;
	kernel.command = request->nlmsg_type & 0xff;
	kernel.seq = request->nlmsg_seq;
	kernel.told = kernel.device = 0;
	assert_int_equal(mnl_attr_parse(request, 0, on_attr, NULL), MNL_CB_OK);
	return (ssize_t)count;
}

/* Each queue pair is one of this process, and each device has one of another process too. */
static void put_queue_pairs(struct nlmsghdr *message)
{
	struct nlattr *table = mnl_attr_nest_start(message, RDMA_NLDEV_ATTR_RES_QP);

	for (unsigned int i = 0; i < 2; i++) {
		struct nlattr *entry = mnl_attr_nest_start(message, RDMA_NLDEV_ATTR_RES_QP_ENTRY);

		mnl_attr_put_u32(message, RDMA_NLDEV_ATTR_RES_PID, i ? 1 : (uint32_t)getpid());
		mnl_attr_nest_end(message, entry);
	}
	mnl_attr_nest_end(message, table);
}

/* The devices come in a message each. */
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *socket, void *bytes, size_t count)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(bytes);
	bool of_devices = kernel.command == RDMA_NLDEV_CMD_GET;
	bool of_qps = kernel.command == RDMA_NLDEV_CMD_RES_QP_GET;

	(void)count;
	message->nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, kernel.command);
	message->nlmsg_flags = NLM_F_MULTI;
	message->nlmsg_seq = kernel.seq;
	message->nlmsg_pid = mnl_socket_get_portid(socket);
	if (of_devices && kernel.told < DEVICES) {
		mnl_attr_put_u32(message, RDMA_NLDEV_ATTR_DEV_INDEX, ++kernel.told);
	} else if (of_qps && !kernel.told) {
		kernel.told = 1;
		kernel.devices_asked[kernel.device] = true;
		put_queue_pairs(message);
	} else {
		message->nlmsg_type = NLMSG_DONE;
	}
	return message->nlmsg_len;
}

TEST(test_provider_netlink__objects_of_all_devices_are_counted)
{
	uint64_t counts[VBD_PV_OBJECT_COUNT];

	assert_int_equal(vbd_pv_count_objects(counts, NULL), VBD_OK);
	for (unsigned int i = 1; i <= DEVICES; i++)
		assert_true(kernel.devices_asked[i]);
	assert_int_equal(counts[VBD_PV_QP], DEVICES);
	assert_int_equal(counts[VBD_PV_MR], 0);
}
