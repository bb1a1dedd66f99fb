/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of libibverbs with their arguments, what becomes of their failures, and what is
 * counted. The library and its driver are scripted here: how a device behaves is tested in guests.
 */
#include "rdma/provider/account.h"
#include "rdma/provider/provider.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

static char said[300];	      /* the calls since the last look, with their arguments */
static int fails_with;	      /* errno of each call; 0: it works */
static const char *only_this; /* the one that fails; NULL: any */
static bool keeps_errno;      /* a call that fails leaves errno alone */
static struct vbd_account account;

static struct ibv_device device = {.name = "mlx5_0",
	.dev_name = "uverbs7",
	.ibdev_path = "/sys/class/infiniband/mlx5_0",
	.transport_type = IBV_TRANSPORT_IB};
static struct ibv_device other = {.name = "siw0", .transport_type = IBV_TRANSPORT_IWARP};
static struct ibv_device *list[] = {&other, &device, NULL};
static struct ibv_context context = {.device = &device, .num_comp_vectors = 4};
static struct ibv_pd pd = {.context = &context};
static struct ibv_mr mr;
static struct ibv_mw mw = {.context = &context, .type = IBV_MW_TYPE_1};
static struct ibv_comp_channel comp_channel;
static struct ibv_cq cq = {.context = &context, .cqe = 15};
static struct ibv_srq srq = {.context = &context};
static struct ibv_qp qp = {.context = &context, .qp_num = 0x12};
static struct ibv_ah ah;
static struct ibv_send_wr send_wr;
static struct ibv_recv_wr recv_wr;
static int cq_context;

/* --- the library ----------------------------------------------------------------------------- */

/* Returns the errno of the call. */
static int answer(const char *fmt, ...) VBD_PRINTF(1, 2);

static int answer(const char *fmt, ...)
{
	size_t len = strlen(said);
	const char *call;
	va_list ap;

	if (len)
		len += (size_t)snprintf(said + len, sizeof(said) - len, "; ");
	call = said + len;
	va_start(ap, fmt);
	(void)vsnprintf(said + len, sizeof(said) - len, fmt, ap);
	va_end(ap);
	if (!fails_with || (only_this && strncmp(call, only_this, strlen(only_this)) != 0))
		return 0;
	if (!keeps_errno)
		errno = fails_with;
	return fails_with;
}

/* The names are those of the linker's --wrap. A function that returns an object returns NULL when
 * it fails; the others return an errno. */
#define RETURNS_OBJECT(type, object, name, parameters, ...)   \
	type *__wrap_##name parameters;                       \
	type *__wrap_##name parameters                        \
	{                                                     \
		return answer(__VA_ARGS__) ? NULL : (object); \
	}
#define RETURNS_ERRNO(name, parameters, ...) \
	int __wrap_##name parameters;        \
	int __wrap_##name parameters         \
	{                                    \
		return answer(__VA_ARGS__);  \
	}

struct ibv_device **__wrap_ibv_get_device_list(int *ret_count);
struct ibv_device **__wrap_ibv_get_device_list(int *ret_count)
{
	if (answer("ibv_get_device_list"))
		return NULL;
	if (ret_count)
		*ret_count = 2;
	return list;
}

void __wrap_ibv_free_device_list(struct ibv_device **of);
void __wrap_ibv_free_device_list(struct ibv_device **of)
{
	assert_ptr_equal(of, list);
	(void)answer("ibv_free_device_list");
}

RETURNS_OBJECT(struct ibv_context, &context, ibv_open_device, (struct ibv_device * of),
	"ibv_open_device %s", of->name)
RETURNS_ERRNO(ibv_close_device, (struct ibv_context * of), "ibv_close_device %s", of->device->name)
RETURNS_ERRNO(ibv_query_device, (struct ibv_context * of, struct ibv_device_attr *attr),
	"ibv_query_device %s %d", of->device->name, attr->max_qp = 8)
RETURNS_ERRNO(ibv_query_port,
	(struct ibv_context * of, uint8_t port_num, struct _compat_ibv_port_attr *attr),
	"ibv_query_port %s %u %d", of->device->name, port_num, attr != NULL)

ssize_t __wrap__ibv_query_gid_table(struct ibv_context *of, struct ibv_gid_entry *entries,
	size_t max, uint32_t flags, size_t entry_bytes);
ssize_t __wrap__ibv_query_gid_table(struct ibv_context *of, struct ibv_gid_entry *entries,
	size_t max, uint32_t flags, size_t entry_bytes)
{
	assert_int_equal(entry_bytes, sizeof(*entries));
	return answer("ibv_query_gid_table %s %zu %u", of->device->name, max, flags) ? -fails_with
										     : 5;
}

RETURNS_ERRNO(_ibv_query_gid_ex,
	(struct ibv_context * of, uint32_t port_num, uint32_t index, struct ibv_gid_entry *entry,
		uint32_t flags, size_t entry_bytes),
	"ibv_query_gid_ex %s %u %u %u %d", of->device->name, port_num, index, flags,
	entry &&entry_bytes == sizeof(*entry))
RETURNS_OBJECT(struct ibv_pd, &pd, ibv_alloc_pd, (struct ibv_context * of), "ibv_alloc_pd %s",
	of->device->name)
RETURNS_ERRNO(ibv_dealloc_pd, (struct ibv_pd * of), "ibv_dealloc_pd %d", of == &pd)
RETURNS_OBJECT(struct ibv_mr, &mr, ibv_reg_mr_iova2,
	(struct ibv_pd * of, void *addr, size_t length_bytes, uint64_t iova, unsigned int access),
	"ibv_reg_mr %d %zu %d %u", of == &pd, length_bytes, iova == (uintptr_t)addr, access)
RETURNS_ERRNO(ibv_dereg_mr, (struct ibv_mr * of), "ibv_dereg_mr %d", of == &mr)
RETURNS_OBJECT(struct ibv_comp_channel, &comp_channel, ibv_create_comp_channel,
	(struct ibv_context * of), "ibv_create_comp_channel %s", of->device->name)
RETURNS_ERRNO(ibv_destroy_comp_channel, (struct ibv_comp_channel * of),
	"ibv_destroy_comp_channel %d", of == &comp_channel)
RETURNS_OBJECT(struct ibv_cq, &cq, ibv_create_cq,
	(struct ibv_context * of, int cqe, void *with, struct ibv_comp_channel *by, int vector),
	"ibv_create_cq %s %d %d %d %d", of->device->name, cqe, with == &cq_context,
	by == &comp_channel, vector)
RETURNS_ERRNO(ibv_destroy_cq, (struct ibv_cq * of), "ibv_destroy_cq %d", of == &cq)
RETURNS_ERRNO(ibv_resize_cq, (struct ibv_cq * of, int cqe), "ibv_resize_cq %d %d", of == &cq, cqe)
RETURNS_OBJECT(struct ibv_qp, &qp, ibv_create_qp,
	(struct ibv_pd * of, struct ibv_qp_init_attr *init), "ibv_create_qp %d %u", of == &pd,
	init->cap.max_send_wr)
RETURNS_ERRNO(ibv_modify_qp, (struct ibv_qp * of, struct ibv_qp_attr *attr, int mask),
	"ibv_modify_qp %x %d %d", of->qp_num, (int)attr->qp_state, mask)
RETURNS_ERRNO(ibv_query_qp,
	(struct ibv_qp * of, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init),
	"ibv_query_qp %x %d %d", of->qp_num, mask, attr &&init)
RETURNS_ERRNO(ibv_destroy_qp, (struct ibv_qp * of), "ibv_destroy_qp %x", of->qp_num)
RETURNS_OBJECT(struct ibv_srq, &srq, ibv_create_srq,
	(struct ibv_pd * of, struct ibv_srq_init_attr *init), "ibv_create_srq %d %u %u", of == &pd,
	init->attr.max_wr, init->attr.max_sge)
RETURNS_ERRNO(ibv_modify_srq, (struct ibv_srq * of, struct ibv_srq_attr *attr, int mask),
	"ibv_modify_srq %d %u %d", of == &srq, attr->srq_limit, mask)
RETURNS_ERRNO(ibv_destroy_srq, (struct ibv_srq * of), "ibv_destroy_srq %d", of == &srq)
RETURNS_OBJECT(struct ibv_ah, &ah, ibv_create_ah, (struct ibv_pd * of, struct ibv_ah_attr *attr),
	"ibv_create_ah %d %u", of == &pd, attr->port_num)
RETURNS_ERRNO(ibv_destroy_ah, (struct ibv_ah * of), "ibv_destroy_ah %d", of == &ah)
RETURNS_ERRNO(ibv_init_ah_from_wc,
	(struct ibv_context * of, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
		struct ibv_ah_attr *attr),
	"ibv_init_ah_from_wc %s %u %u %u %d", of->device->name, port_num, wc->qp_num,
	grh->hop_limit, attr != NULL)
RETURNS_ERRNO(ibv_attach_mcast, (struct ibv_qp * of, const union ibv_gid *gid, uint16_t lid),
	"ibv_attach_mcast %x %02x%02x %u", of->qp_num, gid->raw[0], gid->raw[15], lid)
RETURNS_ERRNO(ibv_detach_mcast, (struct ibv_qp * of, const union ibv_gid *gid, uint16_t lid),
	"ibv_detach_mcast %x %02x%02x %u", of->qp_num, gid->raw[0], gid->raw[15], lid)

static struct ibv_async_event *next_event; /* NULL: there is none */

int __wrap_ibv_get_async_event(struct ibv_context *of, struct ibv_async_event *ret_event);
int __wrap_ibv_get_async_event(struct ibv_context *of, struct ibv_async_event *ret_event)
{
	assert_ptr_equal(of, &context);
	if (!next_event)
		return -1;
	*ret_event = *next_event;
	next_event = NULL;
	return 0;
}

void __wrap_ibv_ack_async_event(struct ibv_async_event *event);
void __wrap_ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)answer("ibv_ack_async_event %d", (int)event->event_type);
}

int __wrap_ibv_get_cq_event(
	struct ibv_comp_channel *of, struct ibv_cq **ret_cq, void **ret_context);
int __wrap_ibv_get_cq_event(struct ibv_comp_channel *of, struct ibv_cq **ret_cq, void **ret_context)
{
	assert_ptr_equal(of, &comp_channel);
	*ret_cq = &cq;
	*ret_context = &cq_context;
	return answer("ibv_get_cq_event") ? -1 : 0;
}

void __wrap_ibv_ack_cq_events(struct ibv_cq *of, unsigned int count);
void __wrap_ibv_ack_cq_events(struct ibv_cq *of, unsigned int count)
{
	assert_ptr_equal(of, &cq);
	(void)answer("ibv_ack_cq_events %u", count);
}

/* --- the driver ------------------------------------------------------------------------------ */

static bool names_bad_wr; /* a driver should, and may not */
static struct ibv_send_wr bad_send;
static struct ibv_recv_wr bad_recv;

static struct ibv_mw *driver_alloc_mw(struct ibv_pd *of, enum ibv_mw_type type)
{
	return answer("ibv_alloc_mw %d %d", of == &pd, (int)type) ? NULL : &mw;
}

static int driver_dealloc_mw(struct ibv_mw *of)
{
	return answer("ibv_dealloc_mw %d", of == &mw);
}

static int driver_bind_mw(struct ibv_qp *of, struct ibv_mw *window, struct ibv_mw_bind *bind)
{
	return answer("ibv_bind_mw %x %d %llu", of->qp_num, window == &mw,
		(unsigned long long)bind->wr_id);
}

static int driver_poll_cq(struct ibv_cq *of, int max, struct ibv_wc *wcs)
{
	(void)wcs;
	return answer("ibv_poll_cq %d %d", of == &cq, max) ? -1 : max - 1;
}

static int driver_req_notify_cq(struct ibv_cq *of, int solicited)
{
	return answer("ibv_req_notify_cq %d %d", of == &cq, solicited);
}

static int driver_post_send(struct ibv_qp *of, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	assert_ptr_equal(wr, &send_wr);
	if (names_bad_wr)
		*bad = &bad_send;
	return answer("ibv_post_send %x", of->qp_num);
}

static int driver_post_recv(struct ibv_qp *of, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	assert_ptr_equal(wr, &recv_wr);
	if (names_bad_wr)
		*bad = &bad_recv;
	return answer("ibv_post_recv %x", of->qp_num);
}

static int driver_post_srq_recv(
	struct ibv_srq *of, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	assert_ptr_equal(wr, &recv_wr);
	*bad = wr;
	return answer("ibv_post_srq_recv %d", of == &srq);
}

static int setup(void **state)
{
	(void)state;
	context.ops.alloc_mw = driver_alloc_mw;
	context.ops.dealloc_mw = driver_dealloc_mw;
	context.ops.bind_mw = driver_bind_mw;
	context.ops.poll_cq = driver_poll_cq;
	context.ops.req_notify_cq = driver_req_notify_cq;
	context.ops.post_send = driver_post_send;
	context.ops.post_recv = driver_post_recv;
	context.ops.post_srq_recv = driver_post_srq_recv;
	context.async_fd = comp_channel.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	said[0] = '\0';
	fails_with = 0;
	only_this = NULL;
	keeps_errno = false;
	names_bad_wr = false;
	next_event = NULL;
	memset(&account, 0, sizeof(account));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return close(context.async_fd);
}

#define PROVIDER_VERBS_TEST(name) TEST_WITH(name, void *no_fixture, setup, teardown)

/* --- calls ----------------------------------------------------------------------------------- */

#define CALL(name, call)                                   \
	static enum vbd_status name(struct vbd_error *err) \
	{                                                  \
		return call;                               \
	}

static struct ibv_context *opened;
static struct ibv_device_attr_ex device_attr;
static struct ibv_port_attr port_attr;
static struct ibv_gid_entry gid_entry;
static size_t gid_count;
static struct ibv_pd *made_pd;
static struct ibv_mr *made_mr;
static struct ibv_mw *made_mw;
static struct ibv_comp_channel *made_comp_channel;
static struct ibv_cq *made_cq;
static struct ibv_srq *made_srq;
static struct ibv_qp *made_qp;
static struct ibv_ah *made_ah;
static struct ibv_mw_bind mw_bind = {.wr_id = 99};
static struct ibv_qp_init_attr qp_init = {
	.cap = {.max_send_wr = 3, .max_recv_wr = 4, .max_inline_data = 5}};
static struct ibv_qp_attr qp_attr = {.qp_state = IBV_QPS_RTS};
static struct ibv_ah_attr ah_attr = {.port_num = 2};
static struct ibv_send_wr *bad_send_wr;
static struct ibv_recv_wr *bad_recv_wr;
static struct ibv_wc wc = {.qp_num = 6};
static char memory[64];
static const uint8_t grh[40] = {[7] = 63};
static const uint8_t mgid[16] = {0xff, [15] = 0x0e};

CALL(open_device, vbd_pv_open_device(&account, "uverbs7", &opened, err))
CALL(query_device, vbd_pv_query_device(&context, &device_attr, err))
CALL(query_port, vbd_pv_query_port(&context, 2, &port_attr, err))
CALL(query_gids, vbd_pv_query_gids(&context, &gid_entry, 16, &gid_count, err))
CALL(query_gid, vbd_pv_query_gid(&context, 2, 3, &gid_entry, err))
CALL(alloc_pd, vbd_pv_alloc_pd(&account, &context, &made_pd, err))
CALL(reg_mr, vbd_pv_reg_mr(&account, &pd, memory, 64, IBV_ACCESS_LOCAL_WRITE, &made_mr, err))
CALL(alloc_mw, vbd_pv_alloc_mw(&pd, IBV_MW_TYPE_1, &made_mw, err))
CALL(bind_mw, vbd_pv_bind_mw(&qp, &mw, &mw_bind, err))
CALL(create_comp_channel, vbd_pv_create_comp_channel(&context, &made_comp_channel, err))
CALL(create_cq,
	vbd_pv_create_cq(&account, &context, 31, &cq_context, &comp_channel, 6, &made_cq, err))
CALL(resize_cq, vbd_pv_resize_cq(&cq, 63, err))
CALL(arm_cq, vbd_pv_arm_cq(&cq, err))
CALL(create_qp, vbd_pv_create_qp(&account, &pd, &qp_init, &made_qp, err))
CALL(modify_qp, vbd_pv_modify_qp(&qp, &qp_attr, IBV_QP_STATE, err))
CALL(query_qp, vbd_pv_query_qp(&qp, &qp_attr, IBV_QP_STATE, err))
CALL(create_srq, vbd_pv_create_srq(&account, &pd, 127, &made_srq, err))
CALL(arm_srq, vbd_pv_arm_srq(&srq, 16, err))
CALL(post_send, vbd_pv_post_send(&qp, &send_wr, &bad_send_wr, err))
CALL(post_recv, vbd_pv_post_recv(&qp, &recv_wr, &bad_recv_wr, err))
CALL(post_srq_recv, vbd_pv_post_srq_recv(&srq, &recv_wr, err))
CALL(create_ah, vbd_pv_create_ah(&pd, &ah_attr, &made_ah, err))
CALL(attach_mcast, vbd_pv_attach_mcast(&qp, mgid, 0xc000, err))

static const struct call {
	enum vbd_status (*make)(struct vbd_error *err);
	const char *said;
	const char *call;
	const char *text;	/* of a failure */
	enum vbd_status status; /* of EIO */
} calls[] = {
	{open_device, "ibv_get_device_list; ibv_open_device mlx5_0; ibv_free_device_list",
		"ibv_open_device", "device mlx5_0 can't be opened", VBD_E_VERBS_ERROR},
	{query_device, "ibv_query_device mlx5_0 8", "ibv_query_device_ex", "device mlx5_0",
		VBD_E_VERBS_ERROR},
	{query_port, "ibv_query_port mlx5_0 2 1", "ibv_query_port", "device mlx5_0 port 2",
		VBD_E_VERBS_ERROR},
	{query_gids, "ibv_query_gid_table mlx5_0 16 0", "ibv_query_gid_table", "device mlx5_0",
		VBD_E_VERBS_ERROR},
	{query_gid, "ibv_query_gid_ex mlx5_0 2 3 0 1", "ibv_query_gid_ex",
		"device mlx5_0 port 2 GID 3", VBD_E_VERBS_ERROR},
	{alloc_pd, "ibv_alloc_pd mlx5_0", "ibv_alloc_pd", "device mlx5_0", VBD_E_VERBS_ERROR},
	{reg_mr, "ibv_reg_mr 1 64 1 1", "ibv_reg_mr", "64 bytes can't be registered",
		VBD_E_VERBS_ERROR},
	{alloc_mw, "ibv_alloc_mw 1 1", "ibv_alloc_mw", "device mlx5_0", VBD_E_VERBS_ERROR},
	{bind_mw, "ibv_bind_mw 12 1 99", "ibv_bind_mw", "qp 0x000012", VBD_E_VERBS_ERROR},
	{create_comp_channel, "ibv_create_comp_channel mlx5_0", "ibv_create_comp_channel",
		"device mlx5_0", VBD_E_VERBS_ERROR},
	/* The device has 4 vectors: the sixth is the second. */
	{create_cq, "ibv_create_cq mlx5_0 31 1 1 2", "ibv_create_cq", "device mlx5_0, 31 entries",
		VBD_E_VERBS_ERROR},
	{resize_cq, "ibv_resize_cq 1 63", "ibv_resize_cq", "15 to 63 entries", VBD_E_VERBS_ERROR},
	{arm_cq, "ibv_req_notify_cq 1 0", "ibv_req_notify_cq", "completion queue can't be armed",
		VBD_E_VERBS_ERROR},
	{create_qp, "ibv_create_qp 1 3", "ibv_create_qp", "sq_depth 3, rq_depth 4, inline 5 bytes",
		VBD_E_VERBS_ERROR},
	{modify_qp, "ibv_modify_qp 12 3 1", "ibv_modify_qp", "qp 0x000012", VBD_E_VERBS_ERROR},
	{query_qp, "ibv_query_qp 12 1 1", "ibv_query_qp", "qp 0x000012", VBD_E_VERBS_ERROR},
	{create_srq, "ibv_create_srq 1 127 1", "ibv_create_srq", "127 receives", VBD_E_VERBS_ERROR},
	{arm_srq, "ibv_modify_srq 1 16 2", "ibv_modify_srq", "limit 16", VBD_E_VERBS_ERROR},
	{post_send, "ibv_post_send 12", "ibv_post_send", "qp 0x000012", VBD_E_VERBS_ERROR},
	{post_recv, "ibv_post_recv 12", "ibv_post_recv", "qp 0x000012", VBD_E_VERBS_ERROR},
	{post_srq_recv, "ibv_post_srq_recv 1", "ibv_post_srq_recv", "a shared receive",
		VBD_E_VERBS_ERROR},
	{create_ah, "ibv_create_ah 1 2", "ibv_create_ah", "no address handle", VBD_E_VERBS_ERROR},
	{attach_mcast, "ibv_attach_mcast 12 ff0e 49152", "ibv_attach_mcast", "qp 0x000012",
		VBD_E_VERBS_ERROR},
};

static void assert_said(const char *expected)
{
	assert_string_equal(said, expected);
	said[0] = '\0';
}

PROVIDER_VERBS_TEST(test_provider_verbs__each_call_passes_on_what_it_was_given)
{
	struct vbd_error err = {0};

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		assert_int_equal(calls[i].make(&err), VBD_OK);
		assert_said(calls[i].said);
	}
	assert_int_equal(err.status, VBD_OK);
	assert_ptr_equal(opened, &context);
	assert_int_equal(device_attr.orig_attr.max_qp, 8);
	assert_int_equal(gid_count, 5);
	assert_ptr_equal(made_pd, &pd);
	assert_ptr_equal(made_mr, &mr);
	assert_ptr_equal(made_mw, &mw);
	assert_ptr_equal(made_comp_channel, &comp_channel);
	assert_ptr_equal(made_cq, &cq);
	assert_ptr_equal(made_qp, &qp);
	assert_ptr_equal(made_srq, &srq);
	assert_ptr_equal(made_ah, &ah);
}

/* The error has the library's function, its errno, and the status that this call has for it. */
PROVIDER_VERBS_TEST(test_provider_verbs__each_failure_is_told_with_the_call_and_its_errno)
{
	fails_with = EIO;
	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		struct vbd_error err = {0};
		char text[120];

		only_this = strstr(calls[i].said, "ibv_open_device") ? "ibv_open_device" : NULL;
		assert_int_equal(calls[i].make(&err), calls[i].status);
		assert_int_equal(err.status, calls[i].status);
		assert_int_equal(err.source, VBD_SOURCE_ERRNO);
		assert_int_equal(err.raw, EIO);
		assert_string_equal(err.call, calls[i].call);
		(void)snprintf(text, sizeof(text), "%s: %s: Input/output error (EIO)",
			calls[i].text, err.call);
		assert_string_equal(err.text, text);
		assert_said(calls[i].said);
	}
}

/* Functions of drivers return NULL and set no errno (siw_create_qp() of rdma-core 44). */
PROVIDER_VERBS_TEST(test_provider_verbs__a_failure_without_an_errno_is_no_success)
{
	unsigned int mute = 0;

	fails_with = EIO;
	keeps_errno = true;
	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++, said[0] = '\0') {
		struct vbd_error err = {0};

		errno = 0;
		assert_int_not_equal(calls[i].make(&err), VBD_OK);
		assert_null(strstr(err.text, "Success"));
		mute += strstr(err.text, "failed and gave no reason") != NULL;
	}
	assert_in_range(mute, 7, VBD_ARRAY_LEN(calls));
}

static uint64_t sum_of(const uint64_t counts[VBD_PV_OBJECT_COUNT])
{
	uint64_t sum = 0;

	for (size_t i = 0; i < VBD_PV_OBJECT_COUNT; i++)
		sum += counts[i];
	return sum;
}

/* A call that fails counts nothing, and no function destroys NULL. */
PROVIDER_VERBS_TEST(test_provider_verbs__objects_are_counted_where_they_belong)
{
	uint64_t before[VBD_PV_OBJECT_COUNT], with[VBD_PV_OBJECT_COUNT], after[VBD_PV_OBJECT_COUNT];
	struct vbd_error err = {0};

	vbd_account_held(before);
	fails_with = EIO;
	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++, said[0] = '\0')
		assert_int_not_equal(calls[i].make(&err), VBD_OK);
	fails_with = 0;
	vbd_account_held(with);
	assert_memory_equal(before, with, sizeof(before));
	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++, said[0] = '\0')
		assert_int_equal(calls[i].make(&err), VBD_OK);
	vbd_account_held(with);
	assert_int_equal(sum_of(with) - sum_of(before), 6);
	for (size_t i = 0; i < VBD_PV_OBJECT_COUNT; i++)
		assert_int_equal(account.held[i], i == VBD_PV_CM_ID ? 0 : 1);

	vbd_pv_close_device(&account, NULL);
	vbd_pv_dealloc_pd(&account, NULL);
	vbd_pv_dereg_mr(&account, NULL);
	vbd_pv_dealloc_mw(NULL);
	vbd_pv_destroy_comp_channel(NULL);
	vbd_pv_destroy_cq(&account, NULL);
	vbd_pv_destroy_qp(&account, NULL);
	vbd_pv_destroy_srq(&account, NULL);
	vbd_pv_destroy_ah(NULL);
	assert_said("");
	vbd_pv_destroy_qp(&account, made_qp);
	assert_said("ibv_destroy_qp 12");
	vbd_pv_destroy_srq(&account, made_srq);
	assert_said("ibv_destroy_srq 1");
	vbd_pv_destroy_cq(&account, made_cq);
	assert_said("ibv_destroy_cq 1");
	vbd_pv_destroy_comp_channel(made_comp_channel);
	assert_said("ibv_destroy_comp_channel 1");
	vbd_pv_dealloc_mw(made_mw);
	assert_said("ibv_dealloc_mw 1");
	vbd_pv_dereg_mr(&account, made_mr);
	assert_said("ibv_dereg_mr 1");
	vbd_pv_destroy_ah(made_ah);
	assert_said("ibv_destroy_ah 1");
	vbd_pv_detach_mcast(&qp, mgid, 0xc000);
	assert_said("ibv_detach_mcast 12 ff0e 49152");
	vbd_pv_dealloc_pd(&account, made_pd);
	assert_said("ibv_dealloc_pd 1");
	vbd_pv_close_device(&account, opened);
	assert_said("ibv_get_device_list; ibv_free_device_list; ibv_close_device mlx5_0");
	vbd_account_held(after);
	assert_memory_equal(before, after, sizeof(before));
}

/* --- devices --------------------------------------------------------------------------------- */

PROVIDER_VERBS_TEST(test_provider_verbs__devices_are_listed_with_their_names_and_folders)
{
	struct vbd_pv_device *devices = NULL;
	struct vbd_error err = {0};
	size_t count = 0;

	assert_int_equal(vbd_pv_list_devices(&devices, &count, &err), VBD_OK);
	assert_said("ibv_get_device_list; ibv_free_device_list");
	assert_int_equal(count, 2);
	assert_string_equal(devices[0].name, "siw0");
	assert_int_equal(devices[0].transport, IBV_TRANSPORT_IWARP);
	assert_string_equal(devices[1].name, "mlx5_0");
	assert_string_equal(devices[1].ibdev_path, "/sys/class/infiniband/mlx5_0");
	assert_string_equal(devices[1].uverbs_name, "uverbs7");
	assert_int_equal(devices[1].transport, IBV_TRANSPORT_IB);
	free(devices);
}

PROVIDER_VERBS_TEST(test_provider_verbs__a_kernel_without_verbs_has_no_devices)
{
	static const int without[] = {ENOSYS, ENOENT};
	struct vbd_pv_device *devices = NULL;
	struct vbd_error err = {0};
	size_t count;

	for (size_t i = 0; i < VBD_ARRAY_LEN(without); i++) {
		fails_with = without[i];
		count = 7;
		assert_int_equal(vbd_pv_list_devices(&devices, &count, &err), VBD_OK);
		assert_int_equal(count, 0);
		assert_non_null(devices);
		free(devices);
	}
	assert_said("ibv_get_device_list; ibv_get_device_list");
	fails_with = EIO;
	assert_int_equal(vbd_pv_list_devices(&devices, &count, &err), VBD_E_VERBS_ERROR);
	assert_string_equal(
		err.text, "devices can't be listed: ibv_get_device_list: Input/output error (EIO)");
}

PROVIDER_VERBS_TEST(test_provider_verbs__a_device_that_is_gone_or_will_not_open_is_told)
{
	struct vbd_error gone = {0}, mute = {0}, blind = {0}, bad = {0};
	struct ibv_context *at = NULL;

	assert_int_equal(vbd_pv_open_device(&account, "uverbs9", &at, &gone), VBD_E_NO_DEVICE);
	assert_said("ibv_get_device_list; ibv_free_device_list");
	assert_int_equal(gone.raw, ENODEV);
	fails_with = EIO;
	only_this = "ibv_get_device_list";
	assert_int_equal(vbd_pv_open_device(&account, "uverbs7", &at, &blind), VBD_E_VERBS_ERROR);
	assert_string_equal(blind.call, "ibv_get_device_list");
	only_this = "ibv_open_device";
	keeps_errno = true;
	assert_int_equal(vbd_pv_open_device(&account, "uverbs7", &at, &mute), VBD_E_VERBS_ERROR);
	/* The device file, which is not there, says more than a library without an errno. */
	assert_int_equal(mute.raw, ENOENT);
	assert_string_equal(mute.text,
		"device mlx5_0: /dev/infiniband/uverbs7 can't be opened: ibv_open_device: "
		"No such file or directory (ENOENT)");
	fails_with = 0;
	/* A device whose events would block is not kept. */
	said[0] = '\0';
	assert_int_equal(close(context.async_fd), 0);
	assert_int_not_equal(vbd_pv_open_device(&account, "uverbs7", &at, &bad), VBD_OK);
	assert_string_equal(bad.call, "fcntl");
	assert_said("ibv_get_device_list; ibv_open_device mlx5_0; ibv_free_device_list; "
		    "ibv_close_device mlx5_0");
	context.async_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_null(at);
	assert_int_equal(account.held[VBD_PV_CONTEXT], 0);
}

/* Both libraries would wait for udev, for 5 s, on whichever thread has called them. */
PROVIDER_VERBS_TEST(test_provider_verbs__no_library_waits_for_udev)
{
	errno = EACCES;
	assert_int_equal(inotify_init1(IN_CLOEXEC), -1);
	assert_int_equal(errno, EACCES);
}

PROVIDER_VERBS_TEST(test_provider_verbs__reads_of_events_do_not_block)
{
	struct vbd_error err = {0}, bad = {0};

	assert_false(fcntl(context.async_fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(open_device(&err), VBD_OK);
	assert_true(fcntl(context.async_fd, F_GETFL) & O_NONBLOCK);
	comp_channel.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(create_comp_channel(&err), VBD_OK);
	assert_true(fcntl(comp_channel.fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(close(comp_channel.fd), 0);
	said[0] = '\0';
	made_comp_channel = NULL;
	assert_int_not_equal(create_comp_channel(&bad), VBD_OK);
	assert_null(made_comp_channel);
	assert_said("ibv_create_comp_channel mlx5_0; ibv_destroy_comp_channel 1");
}

PROVIDER_VERBS_TEST(test_provider_verbs__a_driver_shows_whether_it_resizes_queues)
{
	assert_true(vbd_pv_resizes_cqs(&context));
	assert_said("ibv_create_cq mlx5_0 1 0 0 0; ibv_resize_cq 1 2; ibv_destroy_cq 1");
	fails_with = ENOSYS;
	only_this = "ibv_resize_cq";
	assert_false(vbd_pv_resizes_cqs(&context));
	assert_said("ibv_create_cq mlx5_0 1 0 0 0; ibv_resize_cq 1 2; ibv_destroy_cq 1");
	only_this = "ibv_create_cq";
	assert_false(vbd_pv_resizes_cqs(&context));
	assert_said("ibv_create_cq mlx5_0 1 0 0 0");
}

/* --- memory ---------------------------------------------------------------------------------- */

/* The kernel says ENOMEM for the memlock limit as well. */
PROVIDER_VERBS_TEST(test_provider_verbs__memory_that_can_not_be_locked_names_the_limit)
{
	struct rlimit before, small;
	struct vbd_error locked = {0}, full = {0};

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
	small = (struct rlimit){.rlim_cur = 65536, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &small), 0);
	fails_with = ENOMEM;
	assert_int_equal(reg_mr(&locked), VBD_E_MEMLOCK);
	assert_int_equal(locked.limit, 65536);
	assert_string_equal(locked.limit_name, "RLIMIT_MEMLOCK");
	assert_string_equal(locked.text,
		"64 bytes can't be locked: RLIMIT_MEMLOCK is 65536 bytes: ibv_reg_mr: Cannot "
		"allocate memory (ENOMEM)");
	fails_with = EINVAL;
	assert_int_not_equal(reg_mr(&full), VBD_E_MEMLOCK);
	assert_int_equal(full.limit, 0);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

PROVIDER_VERBS_TEST(test_provider_verbs__an_errno_with_a_meaning_of_its_own)
{
	struct vbd_error windows = {0}, refused = {0}, nowhere = {0};

	fails_with = ENOMEM;
	assert_int_equal(alloc_mw(&windows), VBD_E_DEVICE_LIMIT);
	fails_with = EACCES;
	assert_int_equal(create_ah(&refused), VBD_E_PERMISSION_DENIED);
	fails_with = EIO;
	assert_int_equal(
		vbd_pv_ah_attr_of_wc(&context, 2, &wc, grh, &ah_attr, &nowhere), VBD_E_ADDR_ERROR);
	assert_string_equal(nowhere.text, "ibv_init_ah_from_wc: the message has no source address");
}

PROVIDER_VERBS_TEST(test_provider_verbs__the_way_back_is_taken_from_the_header)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_pv_ah_attr_of_wc(&context, 2, &wc, grh, &ah_attr, &err), VBD_OK);
	assert_said("ibv_init_ah_from_wc mlx5_0 2 6 63 1");
}

/* --- completions and work -------------------------------------------------------------------- */

PROVIDER_VERBS_TEST(test_provider_verbs__a_completion_event_is_acknowledged_and_gives_the_context)
{
	assert_ptr_equal(vbd_pv_take_cq_event(&comp_channel), &cq_context);
	assert_said("ibv_get_cq_event; ibv_ack_cq_events 1");
	fails_with = EAGAIN;
	assert_null(vbd_pv_take_cq_event(&comp_channel));
	assert_said("ibv_get_cq_event");
}

PROVIDER_VERBS_TEST(test_provider_verbs__a_poll_that_fails_has_found_nothing)
{
	struct ibv_wc wcs[4];

	assert_int_equal(vbd_pv_poll_cq(&cq, wcs, 4), 3);
	assert_said("ibv_poll_cq 1 4");
	fails_with = EIO;
	assert_int_equal(vbd_pv_poll_cq(&cq, wcs, 4), 0);
}

/* Some drivers name no request, and siw's library returns a negative errno. */
PROVIDER_VERBS_TEST(test_provider_verbs__the_request_that_was_not_posted_is_known)
{
	static const int errnums[] = {ENOMEM, -ENOMEM};

	for (size_t i = 0; i < VBD_ARRAY_LEN(errnums); i++) {
		struct vbd_error sends = {0}, receives = {0};

		fails_with = errnums[i];
		names_bad_wr = i == 1;
		bad_send_wr = NULL;
		bad_recv_wr = NULL;
		assert_int_equal(post_send(&sends), VBD_E_VERBS_ERROR);
		assert_int_equal(sends.raw, ENOMEM);
		assert_ptr_equal(bad_send_wr, names_bad_wr ? &bad_send : &send_wr);
		assert_int_equal(post_recv(&receives), VBD_E_VERBS_ERROR);
		assert_int_equal(receives.raw, ENOMEM);
		assert_ptr_equal(bad_recv_wr, names_bad_wr ? &bad_recv : &recv_wr);
	}
}

/* --- asynchronous events --------------------------------------------------------------------- */

PROVIDER_VERBS_TEST(test_provider_verbs__an_async_event_names_what_it_is_about)
{
	const struct {
		enum ibv_event_type type;
		struct ibv_cq *cq;
		struct ibv_srq *srq;
		uint32_t qp_num;
		int port_num;
	} rows[] = {
		{.type = IBV_EVENT_CQ_ERR, .cq = &cq},
		{.type = IBV_EVENT_QP_FATAL, .qp_num = 0x12},
		{.type = IBV_EVENT_QP_REQ_ERR, .qp_num = 0x12},
		{.type = IBV_EVENT_QP_ACCESS_ERR, .qp_num = 0x12},
		{.type = IBV_EVENT_COMM_EST, .qp_num = 0x12},
		{.type = IBV_EVENT_SQ_DRAINED, .qp_num = 0x12},
		{.type = IBV_EVENT_PATH_MIG, .qp_num = 0x12},
		{.type = IBV_EVENT_PATH_MIG_ERR, .qp_num = 0x12},
		{.type = IBV_EVENT_QP_LAST_WQE_REACHED, .qp_num = 0x12},
		{.type = IBV_EVENT_PORT_ACTIVE, .port_num = 2},
		{.type = IBV_EVENT_PORT_ERR, .port_num = 2},
		{.type = IBV_EVENT_LID_CHANGE, .port_num = 2},
		{.type = IBV_EVENT_PKEY_CHANGE, .port_num = 2},
		{.type = IBV_EVENT_SM_CHANGE, .port_num = 2},
		{.type = IBV_EVENT_CLIENT_REREGISTER, .port_num = 2},
		{.type = IBV_EVENT_GID_CHANGE, .port_num = 2},
		{.type = IBV_EVENT_SRQ_ERR, .srq = &srq},
		{.type = IBV_EVENT_SRQ_LIMIT_REACHED, .srq = &srq},
		{.type = IBV_EVENT_DEVICE_FATAL},
		{.type = IBV_EVENT_WQ_FATAL},
	};
	struct vbd_pv_async_event got;

	assert_false(vbd_pv_next_async_event(&context, &got));
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct ibv_async_event event = {.event_type = rows[i].type};
		char acknowledged[40];

		if (rows[i].cq)
			event.element.cq = rows[i].cq;
		else if (rows[i].srq)
			event.element.srq = rows[i].srq;
		else if (rows[i].qp_num)
			event.element.qp = &qp;
		else
			event.element.port_num = rows[i].port_num;
		next_event = &event;
		memset(&got, 0xaa, sizeof(got));
		assert_true(vbd_pv_next_async_event(&context, &got));
		assert_int_equal(got.type, rows[i].type);
		if (rows[i].cq)
			assert_true(got.subject == VBD_PV_OF_CQ && got.element.cq == rows[i].cq);
		else if (rows[i].srq)
			assert_true(got.subject == VBD_PV_OF_SRQ && got.element.srq == rows[i].srq);
		else if (rows[i].qp_num)
			assert_true(got.subject == VBD_PV_OF_QP &&
				    got.element.qp_num == rows[i].qp_num);
		else if (rows[i].port_num)
			assert_true(got.subject == VBD_PV_OF_PORT &&
				    got.element.port_num == rows[i].port_num);
		else
			assert_int_equal(got.subject, VBD_PV_OF_DEVICE);
		(void)snprintf(acknowledged, sizeof(acknowledged), "ibv_ack_async_event %d",
			(int)rows[i].type);
		assert_said(acknowledged);
	}
}
