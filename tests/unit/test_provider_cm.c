/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of librdmacm with their arguments, what becomes of their failures, and the copy of each
 * CM event. The library is scripted here: how a device behaves is tested in guests.
 */
#include "rdma/provider/account.h"
#include "rdma/provider/provider.h"
#include "rdma/provider/provider_parts.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static struct rdma_cm_id id, listening;
static char left_group[64];		 /* the address of the group */
static char said[200];			 /* the last call with its arguments */
static int fails_with;			 /* errno of each call; 0: it works */
static struct rdma_cm_event *next_event; /* NULL: there is none */
static unsigned int acknowledged;
static struct ibv_device **devices; /* with a NULL at the end; NULL: there is no list */

/* --- the library ----------------------------------------------------------------------------- */

static int answer(const char *fmt, ...) VBD_PRINTF(1, 2);

static int answer(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
	if (!fails_with)
		return 0;
	errno = fails_with;
	return -1;
}

static const char *addr_text(const struct sockaddr *addr)
{
	static char text[2][40];
	static unsigned int turn;
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	char *into = text[turn++ % 2];

	if (!addr)
		return "none";
	(void)snprintf(
		into, sizeof(text[0]), "%s:%u", inet_ntoa(in->sin_addr), ntohs(in->sin_port));
	return into;
}

/* The names are those of the linker's --wrap. */
struct rdma_event_channel *__wrap_rdma_create_event_channel(void);
void __wrap_rdma_destroy_event_channel(struct rdma_event_channel *channel);
int __wrap_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **ret_id,
	void *context, enum rdma_port_space ps);
int __wrap_rdma_destroy_id(struct rdma_cm_id *of);
int __wrap_rdma_bind_addr(struct rdma_cm_id *of, struct sockaddr *addr);
int __wrap_rdma_listen(struct rdma_cm_id *of, int backlog);
int __wrap_rdma_resolve_addr(
	struct rdma_cm_id *of, struct sockaddr *src, struct sockaddr *dst, int timeout_ms);
int __wrap_rdma_resolve_route(struct rdma_cm_id *of, int timeout_ms);
int __wrap_rdma_set_option(
	struct rdma_cm_id *of, int level, int option, void *value, size_t value_bytes);
int __wrap_rdma_init_qp_attr(struct rdma_cm_id *of, struct ibv_qp_attr *attr, int *mask);
int __wrap_rdma_connect(struct rdma_cm_id *of, struct rdma_conn_param *param);
int __wrap_rdma_accept(struct rdma_cm_id *of, struct rdma_conn_param *param);
int __wrap_rdma_reject(struct rdma_cm_id *of, const void *data, uint8_t data_bytes);
int __wrap_rdma_reject_ece(struct rdma_cm_id *of, const void *data, uint8_t data_bytes);
int __wrap_rdma_establish(struct rdma_cm_id *of);
int __wrap_rdma_notify(struct rdma_cm_id *of, enum ibv_event_type event);
int __wrap_rdma_disconnect(struct rdma_cm_id *of);
int __wrap_rdma_join_multicast_ex(
	struct rdma_cm_id *of, struct rdma_cm_join_mc_attr_ex *attr, void *context);
int __wrap_rdma_leave_multicast(struct rdma_cm_id *of, struct sockaddr *addr);
int __wrap_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **ret_event);
int __wrap_rdma_ack_cm_event(struct rdma_cm_event *event);
struct ibv_device **__wrap_ibv_get_device_list(int *ret_count);
void __wrap_ibv_free_device_list(struct ibv_device **list);

static struct rdma_event_channel channel;

struct rdma_event_channel *__wrap_rdma_create_event_channel(void)
{
	return answer("rdma_create_event_channel") == 0 ? &channel : NULL;
}

void __wrap_rdma_destroy_event_channel(struct rdma_event_channel *of)
{
	assert_ptr_equal(of, &channel);
	(void)snprintf(said, sizeof(said), "rdma_destroy_event_channel");
}

int __wrap_rdma_create_id(struct rdma_event_channel *of, struct rdma_cm_id **ret_id, void *context,
	enum rdma_port_space ps)
{
	assert_ptr_equal(of, &channel);
	*ret_id = &id;
	id.context = context;
	return answer("rdma_create_id %s", ps == RDMA_PS_UDP   ? "UDP"
					   : ps == RDMA_PS_TCP ? "TCP"
							       : "?");
}

int __wrap_rdma_destroy_id(struct rdma_cm_id *of)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_destroy_id");
}

int __wrap_rdma_bind_addr(struct rdma_cm_id *of, struct sockaddr *addr)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_bind_addr %s", addr_text(addr));
}

int __wrap_rdma_listen(struct rdma_cm_id *of, int backlog)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_listen %d", backlog);
}

int __wrap_rdma_resolve_addr(
	struct rdma_cm_id *of, struct sockaddr *src, struct sockaddr *dst, int timeout_ms)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_resolve_addr %s %s %d", addr_text(src), addr_text(dst), timeout_ms);
}

int __wrap_rdma_resolve_route(struct rdma_cm_id *of, int timeout_ms)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_resolve_route %d", timeout_ms);
}

int __wrap_rdma_set_option(
	struct rdma_cm_id *of, int level, int option, void *value, size_t value_bytes)
{
	unsigned int number = 0;

	assert_ptr_equal(of, &id);
	assert_int_equal(level, RDMA_OPTION_ID);
	assert_true(value_bytes <= sizeof(number));
	memcpy(&number, value, value_bytes);
	return answer("rdma_set_option %s %u (%zu bytes)",
		option == RDMA_OPTION_ID_TOS	       ? "TOS"
		: option == RDMA_OPTION_ID_REUSEADDR   ? "REUSEADDR"
		: option == RDMA_OPTION_ID_AFONLY      ? "AFONLY"
		: option == RDMA_OPTION_ID_ACK_TIMEOUT ? "ACK_TIMEOUT"
						       : "?",
		number, value_bytes);
}

int __wrap_rdma_init_qp_attr(struct rdma_cm_id *of, struct ibv_qp_attr *attr, int *mask)
{
	assert_ptr_equal(of, &id);
	*mask = IBV_QP_STATE;
	return answer("rdma_init_qp_attr %d", (int)attr->qp_state);
}

int __wrap_rdma_connect(struct rdma_cm_id *of, struct rdma_conn_param *param)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_connect %u", param->qp_num);
}

int __wrap_rdma_accept(struct rdma_cm_id *of, struct rdma_conn_param *param)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_accept %u", param->qp_num);
}

int __wrap_rdma_reject(struct rdma_cm_id *of, const void *data, uint8_t data_bytes)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_reject %.*s", data_bytes, (const char *)data);
}

int __wrap_rdma_reject_ece(struct rdma_cm_id *of, const void *data, uint8_t data_bytes)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_reject_ece %.*s", data_bytes, (const char *)data);
}

int __wrap_rdma_establish(struct rdma_cm_id *of)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_establish");
}

int __wrap_rdma_notify(struct rdma_cm_id *of, enum ibv_event_type event)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_notify %s", ibv_event_type_str(event));
}

int __wrap_rdma_disconnect(struct rdma_cm_id *of)
{
	assert_ptr_equal(of, &id);
	return answer("rdma_disconnect");
}

int __wrap_rdma_join_multicast_ex(
	struct rdma_cm_id *of, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	assert_ptr_equal(of, &id);
	assert_null(context);
	assert_int_equal(
		attr->comp_mask, RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS);
	return answer("rdma_join_multicast_ex %s %s", addr_text(attr->addr),
		attr->join_flags == RDMA_MC_JOIN_FLAG_FULLMEMBER	    ? "FULLMEMBER"
		: attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER ? "SENDONLY"
									    : "?");
}

int __wrap_rdma_leave_multicast(struct rdma_cm_id *of, struct sockaddr *addr)
{
	assert_ptr_equal(of, &id);
	assert_string_not_equal(said, "rdma_destroy_id");
	(void)snprintf(left_group, sizeof(left_group), "%s", addr_text(addr));
	return answer("rdma_leave_multicast");
}

int __wrap_rdma_get_cm_event(struct rdma_event_channel *of, struct rdma_cm_event **ret_event)
{
	assert_ptr_equal(of, &channel);
	if (!next_event) {
		errno = EAGAIN;
		return -1;
	}
	*ret_event = next_event;
	next_event = NULL;
	return 0;
}

/* The library frees the event then. */
int __wrap_rdma_ack_cm_event(struct rdma_cm_event *event)
{
	memset(event, 0xee, sizeof(*event));
	acknowledged++;
	return 0;
}

struct ibv_device **__wrap_ibv_get_device_list(int *ret_count)
{
	(void)ret_count;
	return devices;
}

void __wrap_ibv_free_device_list(struct ibv_device **list)
{
	assert_ptr_equal(list, devices);
}

static int setup(void **state)
{
	(void)state;
	memset(&id, 0, sizeof(id));
	memset(&listening, 0, sizeof(listening));
	said[0] = left_group[0] = '\0';
	fails_with = 0;
	next_event = NULL;
	acknowledged = 0;
	devices = NULL;
	return 0;
}

#define PROVIDER_CM_TEST(name) TEST_WITH(name, void *no_fixture, setup, NULL)

/* --- calls ----------------------------------------------------------------------------------- */

static const struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = 1};
static const struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = 2};
static struct rdma_conn_param conn_param = {.qp_num = 77};
static struct vbd_account account;

#define ADDR(in) ((const struct sockaddr *)&(in))

#define CALL(name, call)                                   \
	static enum vbd_status name(struct vbd_error *err) \
	{                                                  \
		return call;                               \
	}

static struct rdma_cm_id *made;
static struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
static int mask;

CALL(create, vbd_pv_create_id(&account, &channel, &made, &made, err))
CALL(create_udp, vbd_pv_create_udp_id(&account, &channel, &made, &made, err))
CALL(bind_here, vbd_pv_bind_addr(&id, ADDR(here), err))
CALL(listen_here, vbd_pv_listen(&id, 9, err))
CALL(resolve, vbd_pv_resolve_addr(&id, ADDR(here), ADDR(there), 321, err))
CALL(resolve_any, vbd_pv_resolve_addr(&id, NULL, ADDR(there), 321, err))
CALL(route, vbd_pv_resolve_route(&id, 654, err))
CALL(set_ack_timeout, vbd_pv_set_ack_timeout(&id, 14, err))
CALL(set_tos, vbd_pv_set_tos(&id, 184, err))
CALL(set_reuse_addr, vbd_pv_set_reuse_addr(&id, err))
CALL(set_v6_only, vbd_pv_set_v6_only(&id, true, err))
CALL(set_v6_and_v4, vbd_pv_set_v6_only(&id, false, err))
CALL(init_attr, vbd_pv_init_qp_attr(&id, &attr, &mask, err))
CALL(connect_there, vbd_pv_connect(&id, &conn_param, err))
CALL(accept_it, vbd_pv_accept(&id, &conn_param, err))
CALL(reject, vbd_pv_reject(&id, false, "go away", 7, err))
CALL(reject_ece, vbd_pv_reject(&id, true, "go away", 2, err))
CALL(establish, vbd_pv_establish(&id, err))
CALL(notify, vbd_pv_notify_established(&id, err))
CALL(disconnect, vbd_pv_disconnect(&id, err))
CALL(join, (id.route.addr.dst_sin = there, vbd_pv_join_multicast(&id, false, err)))
CALL(join_to_send, (id.route.addr.dst_sin = there, vbd_pv_join_multicast(&id, true, err)))

static const struct call {
	enum vbd_status (*make)(struct vbd_error *err);
	const char *said;
	const char *text;	/* of a failure */
	enum vbd_status status; /* of EIO */
} calls[] = {
	{create, "rdma_create_id TCP", "no CM id", VBD_E_VERBS_ERROR},
	{create_udp, "rdma_create_id UDP", "no CM id", VBD_E_VERBS_ERROR},
	{bind_here, "rdma_bind_addr 0.0.0.0:256", "the address can't be bound", VBD_E_VERBS_ERROR},
	{listen_here, "rdma_listen 9", "no listening", VBD_E_VERBS_ERROR},
	{resolve, "rdma_resolve_addr 0.0.0.0:256 0.0.0.0:512 321", "the address can't be resolved",
		VBD_E_ADDR_ERROR},
	{resolve_any, "rdma_resolve_addr none 0.0.0.0:512 321", "the address can't be resolved",
		VBD_E_ADDR_ERROR},
	{route, "rdma_resolve_route 654", "no route", VBD_E_ROUTE_ERROR},
	{set_ack_timeout, "rdma_set_option ACK_TIMEOUT 14 (1 bytes)", "ack_timeout can't be set",
		VBD_E_VERBS_ERROR},
	{set_tos, "rdma_set_option TOS 184 (1 bytes)", "tos can't be set", VBD_E_VERBS_ERROR},
	{set_reuse_addr, "rdma_set_option REUSEADDR 1 (4 bytes)", "reuse_addr can't be set",
		VBD_E_VERBS_ERROR},
	{set_v6_only, "rdma_set_option AFONLY 1 (4 bytes)", "v6_only can't be set",
		VBD_E_VERBS_ERROR},
	{set_v6_and_v4, "rdma_set_option AFONLY 0 (4 bytes)", "v6_only can't be set",
		VBD_E_VERBS_ERROR},
	{init_attr, "rdma_init_qp_attr 2", "no attributes for the QP", VBD_E_VERBS_ERROR},
	{connect_there, "rdma_connect 77", "no connect", VBD_E_CONNECT_ERROR},
	{accept_it, "rdma_accept 77", "no accept", VBD_E_CONNECT_ERROR},
	{reject, "rdma_reject go away", "no reject", VBD_E_CONNECT_ERROR},
	{reject_ece, "rdma_reject_ece go", "no reject", VBD_E_CONNECT_ERROR},
	{establish, "rdma_establish", "not established", VBD_E_CONNECT_ERROR},
	{notify, "rdma_notify communication established", "not notified", VBD_E_CONNECT_ERROR},
	{disconnect, "rdma_disconnect", "no disconnect", VBD_E_VERBS_ERROR},
	{join, "rdma_join_multicast_ex 0.0.0.0:512 FULLMEMBER", "no join", VBD_E_VERBS_ERROR},
	{join_to_send, "rdma_join_multicast_ex 0.0.0.0:512 SENDONLY", "no join", VBD_E_VERBS_ERROR},
};

PROVIDER_CM_TEST(test_provider_cm__each_call_passes_on_what_it_was_given)
{
	struct vbd_error err = {0};

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		assert_int_equal(calls[i].make(&err), VBD_OK);
		assert_string_equal(said, calls[i].said);
	}
	assert_int_equal(err.status, VBD_OK);
}

/* The error has the library's function, its errno, and the status that this call has for it. */
PROVIDER_CM_TEST(test_provider_cm__each_failure_is_told_with_the_call_and_its_errno)
{
	fails_with = EIO;
	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		struct vbd_error err = {0};
		char text[120];

		assert_int_equal(calls[i].make(&err), calls[i].status);
		assert_int_equal(err.status, calls[i].status);
		assert_int_equal(err.source, VBD_SOURCE_ERRNO);
		assert_int_equal(err.raw, EIO);
		/* "rdma_join_multicast" is the function of the manual. */
		assert_memory_equal(said, err.call, strlen(err.call));
		(void)snprintf(text, sizeof(text), "%s: %s: Input/output error (EIO)",
			calls[i].text, err.call);
		assert_string_equal(err.text, text);
	}
}

PROVIDER_CM_TEST(test_provider_cm__an_errno_with_a_meaning_of_its_own)
{
	const struct {
		enum vbd_status (*make)(struct vbd_error *err);
		int errnum;
		enum vbd_status status;
	} rows[] = {
		{bind_here, ENODEV, VBD_E_ADDRESS_NOT_AVAILABLE},
		{bind_here, EADDRINUSE, VBD_E_ADDRESS_IN_USE},
		{bind_here, EACCES, VBD_E_PERMISSION_DENIED},
		{listen_here, EADDRINUSE, VBD_E_ADDRESS_IN_USE},
		{resolve, EADDRNOTAVAIL, VBD_E_ADDRESS_NOT_AVAILABLE},
		{resolve, EADDRINUSE, VBD_E_ADDRESS_IN_USE},
		{resolve, ENETUNREACH, VBD_E_ADDR_ERROR},
		{create, EMFILE, VBD_E_FD_LIMIT},
		{init_attr, EINVAL, VBD_E_PEER_DISCONNECT},
		{notify, EISCONN, VBD_OK},
		{disconnect, EISCONN, VBD_E_VERBS_ERROR},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_error err = {0};

		fails_with = rows[i].errnum;
		assert_int_equal(rows[i].make(&err), rows[i].status);
		if (rows[i].errnum == EACCES)
			assert_non_null(strstr(err.hint, "CAP_NET_BIND_SERVICE"));
	}
}

PROVIDER_CM_TEST(test_provider_cm__ids_are_counted_where_they_belong)
{
	uint64_t before[VBD_PV_OBJECT_COUNT], after[VBD_PV_OBJECT_COUNT];
	struct vbd_error err = {0};

	memset(&account, 0, sizeof(account));
	vbd_account_held(before);
	assert_int_equal(create(&err), VBD_OK);
	assert_ptr_equal(made, &id);
	assert_ptr_equal(id.context, &made);
	assert_int_equal(create_udp(&err), VBD_OK);
	assert_int_equal(account.held[VBD_PV_CM_ID], 2);
	fails_with = EIO;
	assert_int_not_equal(create(&err), VBD_OK);
	assert_int_not_equal(create_udp(&err), VBD_OK);
	assert_int_equal(account.held[VBD_PV_CM_ID], 2);
	fails_with = 0;
	vbd_pv_destroy_id(&account, NULL);
	assert_int_equal(account.held[VBD_PV_CM_ID], 2);
	vbd_pv_destroy_id(&account, &id);
	assert_string_equal(said, "rdma_destroy_id");
	vbd_pv_destroy_id(&account, &id);
	assert_int_equal(account.held[VBD_PV_CM_ID], 0);
	vbd_account_held(after);
	assert_memory_equal(before, after, sizeof(before));
	vbd_pv_set_id_context(&id, &err);
	assert_ptr_equal(id.context, &err);
}

/* Or librdmacm keeps what it has of the membership. */
PROVIDER_CM_TEST(test_provider_cm__the_end_of_an_id_leaves_its_group)
{
	id.route.addr.dst_sin = there;
	vbd_pv_destroy_id(NULL, &id);
	assert_string_equal(left_group, "");
	said[0] = '\0';
	id.ps = RDMA_PS_UDP;
	vbd_pv_destroy_id(NULL, &id);
	assert_string_equal(left_group, "0.0.0.0:512");
	assert_string_equal(said, "rdma_destroy_id");
}

/* A read of the channel must not wait. */
PROVIDER_CM_TEST(test_provider_cm__the_channel_does_not_block)
{
	struct rdma_event_channel *cm_channel = NULL;
	struct vbd_error err = {0};
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	channel.fd = fds[0];
	assert_int_equal(vbd_pv_create_event_channel(&cm_channel, &err), VBD_OK);
	assert_ptr_equal(cm_channel, &channel);
	assert_int_equal(vbd_pv_event_channel_fd(cm_channel), fds[0]);
	assert_true(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	vbd_pv_destroy_event_channel(cm_channel);
	assert_string_equal(said, "rdma_destroy_event_channel");
	said[0] = '\0';
	vbd_pv_destroy_event_channel(NULL);
	assert_string_equal(said, "");

	/* A channel that would block is not kept. */
	assert_int_equal(close(fds[0]), 0);
	assert_int_not_equal(vbd_pv_create_event_channel(&cm_channel, &err), VBD_OK);
	assert_string_equal(err.call, "fcntl");
	assert_int_equal(err.raw, EBADF);
	assert_string_equal(said, "rdma_destroy_event_channel");
	assert_int_equal(close(fds[1]), 0);
}

PROVIDER_CM_TEST(test_provider_cm__a_kernel_without_rdma_cm_has_no_device)
{
	struct rdma_event_channel *cm_channel = NULL;
	struct vbd_error err = {0}, other = {0};

	fails_with = ENOENT;
	assert_int_equal(vbd_pv_create_event_channel(&cm_channel, &err), VBD_E_NO_DEVICE);
	assert_string_equal(err.call, "rdma_create_event_channel");
	fails_with = EACCES;
	assert_int_equal(vbd_pv_create_event_channel(&cm_channel, &other), VBD_E_PERMISSION_DENIED);
	assert_null(cm_channel);
}

/* --- events ---------------------------------------------------------------------------------- */

static int own, of_listener;

/* Fills @ret_event as the CM would: every member has a value, also those that do not belong to it.
 */
static void comes(
	enum rdma_cm_event_type type, enum ibv_qp_type qp_type, struct vbd_pv_cm_event *got)
{
	static struct rdma_cm_event event;

	id.context = &own;
	id.qp_type = qp_type;
	listening.context = &of_listener;
	event = (struct rdma_cm_event){.id = &id, .event = type, .status = -5};
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		event.listen_id = &listening;
	if (qp_type == IBV_QPT_UD)
		event.param.ud = (struct rdma_ud_param){.private_data = "datagram",
			.private_data_len = 8,
			.ah_attr = {.port_num = 3},
			.qp_num = 31,
			.qkey = 41};
	else
		event.param.conn = (struct rdma_conn_param){.private_data = "hello",
			.private_data_len = 5,
			.responder_resources = 11,
			.initiator_depth = 12,
			.rnr_retry_count = 7,
			.qp_num = 21};
	memset(got, 0xaa, sizeof(*got));
	next_event = &event;
	acknowledged = 0;
	assert_true(vbd_pv_next_cm_event(&channel, got));
	assert_int_equal(acknowledged, 1);
	assert_int_equal(got->type, type);
	assert_ptr_equal(got->id, &id);
	assert_ptr_equal(got->id_context,
		type == RDMA_CM_EVENT_CONNECT_REQUEST ? (void *)&of_listener : (void *)&own);
	assert_int_equal(got->status, -5);
}

static void assert_no_param(const struct vbd_pv_cm_event *got)
{
	assert_false(got->has_conn_param || got->has_ud_param);
	assert_int_equal(got->private_data_bytes, 0);
	assert_int_equal(got->responder_resources | got->initiator_depth | got->rnr_retry_count, 0);
	assert_int_equal(got->qp_num | got->qkey, 0);
}

PROVIDER_CM_TEST(test_provider_cm__an_event_is_copied_and_acknowledged)
{
	static const enum rdma_cm_event_type with_param[] = {RDMA_CM_EVENT_CONNECT_REQUEST,
		RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_REJECTED};
	static const enum rdma_cm_event_type without[] = {RDMA_CM_EVENT_ADDR_RESOLVED,
		RDMA_CM_EVENT_ADDR_ERROR, RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_ERROR,
		RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_DISCONNECTED,
		RDMA_CM_EVENT_DEVICE_REMOVAL, RDMA_CM_EVENT_MULTICAST_ERROR,
		RDMA_CM_EVENT_ADDR_CHANGE, RDMA_CM_EVENT_TIMEWAIT_EXIT};
	struct vbd_pv_cm_event got;

	assert_false(vbd_pv_next_cm_event(&channel, &got));
	for (size_t i = 0; i < VBD_ARRAY_LEN(with_param); i++) {
		comes(with_param[i], IBV_QPT_RC, &got);
		assert_true(got.has_conn_param && !got.has_ud_param);
		assert_int_equal(got.responder_resources, 11);
		assert_int_equal(got.initiator_depth, 12);
		assert_int_equal(got.rnr_retry_count, 7);
		assert_int_equal(got.qp_num, 21);
		assert_int_equal(got.private_data_bytes, 5);
		assert_memory_equal(got.private_data, "hello", 5);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(without); i++) {
		comes(without[i], IBV_QPT_RC, &got);
		assert_no_param(&got);
	}
}

PROVIDER_CM_TEST(test_provider_cm__of_datagrams_only_an_answer_and_a_group_have_a_destination)
{
	struct vbd_pv_cm_event got;

	comes(RDMA_CM_EVENT_CONNECT_REQUEST, IBV_QPT_UD, &got);
	assert_false(got.has_conn_param || got.has_ud_param);
	assert_memory_equal(got.private_data, "datagram", got.private_data_bytes);
	assert_int_equal(got.private_data_bytes, 8);
	comes(RDMA_CM_EVENT_ESTABLISHED, IBV_QPT_UD, &got);
	assert_true(got.has_ud_param && !got.has_conn_param);
	assert_int_equal(got.qp_num, 31);
	assert_int_equal(got.qkey, 41);
	assert_int_equal(got.ah_attr.port_num, 3);
	assert_int_equal(got.private_data_bytes, 8);
	comes(RDMA_CM_EVENT_MULTICAST_JOIN, IBV_QPT_UD, &got);
	assert_true(got.has_ud_param && !got.has_conn_param);
	assert_int_equal(got.qkey, 41);
	assert_int_equal(got.private_data_bytes, 0);
}

/* Above all that this process has open. */
#define FIRST_FREE 60

/* librdmacm has lost the errno when it could not open a device, and reports -1. */
PROVIDER_CM_TEST(test_provider_cm__an_address_error_without_descriptors_names_them)
{
	struct rdma_cm_event event = {.id = &id, .event = RDMA_CM_EVENT_ADDR_ERROR, .status = -1};
	struct rlimit before, few;
	struct vbd_pv_cm_event got;
	int taken[FIRST_FREE + 1], lowest = -1;
	size_t count = 0;

	next_event = &event;
	assert_true(vbd_pv_next_cm_event(&channel, &got));
	assert_int_equal(got.status, -1);
	/* Below are no free ones. */
	while (lowest < FIRST_FREE) {
		assert_true(count < FIRST_FREE + 1);
		lowest = taken[count++] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(lowest >= 0);
	}
	assert_int_equal(close(taken[--count]), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (rlim_t left = 0; left <= 2; left++) {
		few = (struct rlimit){
			.rlim_cur = (rlim_t)lowest + left, .rlim_max = before.rlim_max};
		event = (struct rdma_cm_event){
			.id = &id, .event = RDMA_CM_EVENT_ADDR_ERROR, .status = -1};
		next_event = &event;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_true(vbd_pv_next_cm_event(&channel, &got));
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(got.status, left < 2 ? -EMFILE : -1);
	}
	/* The provider has closed both again. */
	taken[count++] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(taken[count - 1], lowest);
	while (count > 0)
		assert_int_equal(close(taken[--count]), 0);
}

/* --- what librdmacm keeps open of a device --------------------------------------------------- */

static unsigned int contexts(void)
{
	unsigned int count, used;

	vbd_cm_context_count(&count, &used);
	return count * 10 + used;
}

static bool is_null(int fd)
{
	struct stat file;

	return fstat(fd, &file) == 0 && file.st_rdev == makedev(1, 3);
}

/* librdmacm never closes its context; the files are replaced when the device and its last id have
 * gone, and not before. */
PROVIDER_CM_TEST(test_provider_cm__the_files_of_a_removed_device_are_closed_with_its_last_id)
{
	static struct ibv_device device, other_device;
	struct ibv_device *list[] = {&other_device, &device, NULL};
	struct ibv_context verbs = {.device = &device,
		.cmd_fd = open("/dev/zero", O_RDWR | O_CLOEXEC),
		.async_fd = open("/dev/zero", O_RDWR | O_CLOEXEC)};
	struct vbd_error err = {0};
	struct vbd_pv_cm_event got;

	vbd_cm_context_bound(NULL);
	assert_int_equal(contexts(), 0);
	id.verbs = &verbs;
	assert_int_equal(bind_here(&err), VBD_OK);
	assert_int_equal(contexts(), 11);
	comes(RDMA_CM_EVENT_ADDR_RESOLVED, IBV_QPT_RC, &got);
	comes(RDMA_CM_EVENT_CONNECT_REQUEST, IBV_QPT_RC, &got);
	assert_int_equal(contexts(), 11);
	vbd_pv_destroy_id(NULL, &id);
	vbd_pv_destroy_id(NULL, &id);
	assert_int_equal(contexts(), 11);

	/* A device that is there still is only closed here. */
	devices = list;
	vbd_cm_context_device_closed(&device);
	vbd_pv_destroy_id(NULL, &id);
	assert_int_equal(contexts(), 10);
	assert_false(is_null(verbs.cmd_fd) || is_null(verbs.async_fd));

	comes(RDMA_CM_EVENT_ADDR_RESOLVED, IBV_QPT_RC, &got);
	list[1] = NULL;
	vbd_cm_context_device_closed(&other_device);
	vbd_cm_context_device_closed(&device);
	assert_int_equal(contexts(), 11);
	assert_false(is_null(verbs.cmd_fd));
	vbd_pv_destroy_id(NULL, &id);
	assert_int_equal(contexts(), 0);
	assert_true(is_null(verbs.cmd_fd) && is_null(verbs.async_fd));
	vbd_pv_destroy_id(NULL, &id);
	assert_int_equal(close(verbs.cmd_fd), 0);
	assert_int_equal(close(verbs.async_fd), 0);
}

PROVIDER_CM_TEST(test_provider_cm__so_it_is_of_any_number_of_devices)
{
	static struct ibv_device many[100];
	struct ibv_device *list[] = {NULL};
	struct ibv_context verbs = {.cmd_fd = open("/dev/zero", O_RDWR | O_CLOEXEC),
		.async_fd = open("/dev/zero", O_RDWR | O_CLOEXEC)};
	struct vbd_error err = {0};

	id.verbs = &verbs;
	for (size_t i = 0; i < VBD_ARRAY_LEN(many); i++) {
		verbs.device = &many[i];
		assert_int_equal(bind_here(&err), VBD_OK);
	}
	assert_int_equal(contexts(), 11 * VBD_ARRAY_LEN(many));
	devices = list;
	for (size_t i = 0; i < VBD_ARRAY_LEN(many); i++) {
		verbs.device = &many[i];
		vbd_cm_context_device_closed(&many[i]);
		vbd_pv_destroy_id(NULL, &id);
	}
	assert_int_equal(contexts(), 0);
	assert_true(is_null(verbs.cmd_fd) && is_null(verbs.async_fd));
	assert_int_equal(close(verbs.cmd_fd), 0);
	assert_int_equal(close(verbs.async_fd), 0);
}

/* --- ids ------------------------------------------------------------------------------------- */

PROVIDER_CM_TEST(test_provider_cm__an_id_tells_its_device_port_and_addresses)
{
	static struct ibv_device device = {.name = "mlx5_0"};
	struct ibv_context verbs = {.device = &device};
	uint8_t gid[16] = {0};

	assert_null(vbd_pv_id_device(&id));
	assert_null(vbd_pv_id_peer_gid(&id));
	id.verbs = &verbs;
	id.port_num = 2;
	id.route.addr.src_sin = here;
	id.route.addr.dst_sin = there;
	gid[15] = 9;
	memcpy(id.route.addr.addr.ibaddr.dgid.raw, gid, sizeof(gid));
	assert_ptr_equal(vbd_pv_id_device(&id), &device);
	assert_int_equal(vbd_pv_id_port_num(&id), 2);
	assert_string_equal(addr_text(vbd_pv_id_local(&id)), "0.0.0.0:256");
	assert_string_equal(addr_text(vbd_pv_id_peer(&id)), "0.0.0.0:512");
	assert_memory_equal(vbd_pv_id_peer_gid(&id), gid, sizeof(gid));
}
