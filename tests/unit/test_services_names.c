/* SPDX-License-Identifier: Apache-2.0 */
/* Host names with several addresses; the resolver is this test: the linker puts its getaddrinfo()
 * in the place of that of libc. */
#include "base/addr.h"
#include "tests/unit/svc.h"

#include <netdb.h>

static struct {
	const char *const *texts; /* the answer, in its order; NULL: `code` is */
	int code;
	int family; /* of the last question; -1: none came */
	atomic_uint questions;
} resolver;

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
	struct addrinfo **ret_found);
void __wrap_freeaddrinfo(struct addrinfo *found);

/* A mapped address is answered as such, as a file of hosts may have it. */
static struct addrinfo *answer_of(const char *text)
{
	struct {
		struct addrinfo info;
		struct sockaddr_storage addr;
	} *answer = calloc(1, sizeof(*answer));
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&answer->addr;

	assert_non_null(answer);
	answer->info.ai_addr = (struct sockaddr *)&answer->addr;
	if (strchr(text, ':')) {
		six->sin6_family = AF_INET6;
		assert_true(vbd_addr_parse_gid(text, six->sin6_addr.s6_addr));
	} else {
		assert_true(vbd_addr_parse(text, 0, &answer->addr));
	}
	answer->info.ai_family = answer->addr.ss_family;
	answer->info.ai_addrlen = (socklen_t)vbd_sockaddr_bytes(answer->info.ai_addr);
	return &answer->info;
}

/* Pool thread. */
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
	struct addrinfo **ret_found)
{
	struct addrinfo **end = ret_found;

	assert_string_equal(host, "host.example");
	assert_null(service);
	resolver.family = hints->ai_family;
	resolver.questions++;
	for (size_t i = 0; resolver.texts && resolver.texts[i]; i++) {
		*end = answer_of(resolver.texts[i]);
		end = &(*end)->ai_next;
	}
	return resolver.texts ? 0 : resolver.code;
}

void __wrap_freeaddrinfo(struct addrinfo *found)
{
	while (found) {
		struct addrinfo *next = found->ai_next;

		free(found);
		found = next;
	}
}

static int setup(void **state)
{
	memset(&resolver, 0, sizeof(resolver));
	resolver.family = -1;
	return svc_setup(state);
}

#define NAMES_TEST(name) TEST_WITH(name, struct svc *svc, setup, svc_teardown)

static struct vbd_connection_spec spec_to(const struct vbd_listener *listener)
{
	struct vbd_connection_spec spec = svc_spec_to(listener);

	strcpy(spec.dst_addr, "host.example");
	return spec;
}

static const char *peer_of(const struct vbd_connection *connection)
{
	static char text[VBD_ADDR_TEXT_BYTES];

	return vbd_addr_format(&connection->conn->peer, text);
}

NAMES_TEST(test_services_names__what_is_no_peer_is_left_out_of_an_answer)
{
	static const char *const texts[] = {"0.0.0.0", "::", "224.0.0.1", "ff02::1",
		"255.255.255.255", "::ffff:10.0.0.1", "10.0.0.1", "fd00::1", "fd00::1", "10.0.0.2",
		NULL};
	static const char *const none[] = {"0.0.0.0", NULL};
	static const char *const wanted[] = {"10.0.0.1", "fd00::1", "10.0.0.2"};
	char text[VBD_ADDR_TEXT_BYTES];
	struct vbd_addrs addrs;
	int errnum;

	resolver.texts = texts;
	assert_int_equal(vbd_addr_look_up("host.example", 9, AF_UNSPEC, &addrs, &errnum), 0);
	assert_int_equal(addrs.count, VBD_ARRAY_LEN(wanted));
	for (size_t i = 0; i < addrs.count; i++) {
		assert_string_equal(vbd_addr_format(&addrs.items[i], text), wanted[i]);
		assert_int_equal(vbd_addr_port(&addrs.items[i]), 9);
	}
	/* A mapped address is no IPv6 address, which a source of IPv6 could reach. */
	assert_int_equal(vbd_addr_look_up("host.example", 9, AF_INET6, &addrs, &errnum), 0);
	assert_int_equal(addrs.count, 1);
	assert_string_equal(vbd_addr_format(&addrs.items[0], text), "fd00::1");
	resolver.texts = none;
	assert_int_equal(
		vbd_addr_look_up("host.example", 9, AF_UNSPEC, &addrs, &errnum), EAI_NODATA);
}

NAMES_TEST(test_services_names__more_addresses_than_there_is_room_for_are_left_out)
{
	static const char *const texts[] = {"10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4",
		"10.1.0.5", "10.1.0.6", "10.1.0.7", "10.1.0.8", "10.1.0.9", "10.1.0.10",
		"10.1.0.11", "10.1.0.12", "10.1.0.13", "10.1.0.14", "10.1.0.15", "10.1.0.16",
		"10.1.0.17", NULL};
	struct vbd_addrs addrs;
	int errnum;

	resolver.texts = texts;
	assert_int_equal(vbd_addr_look_up("host.example", 9, AF_UNSPEC, &addrs, &errnum), 0);
	assert_int_equal(addrs.count, VBD_ADDRS_MAX);
}

NAMES_TEST(test_services_names__the_next_address_is_tried)
{
	static const char *const texts[] = {"127.0.0.1", "10.9.9.9", "::ffff:10.0.0.1", NULL};
	const struct vbd_connection_spec spec = spec_to(svc_listen(svc, NULL));
	struct vbd_connection *connection;

	resolver.texts = texts;
	/* The loopback has no RDMA device, so no call is made for it. */
	fake_fail_next("rdma_resolve_addr", ENETUNREACH);
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_ESTABLISHED);
	assert_string_equal(peer_of(connection), "10.0.0.1");
	assert_string_equal(connection->dst_addr, "host.example");
	assert_int_equal(resolver.family, AF_UNSPEC);
	assert_int_equal(resolver.questions, 1);
	assert_int_equal(svc->daemon->connections_failed, 0);
	svc_close(svc, connection);
}

NAMES_TEST(test_services_names__a_source_restricts_the_addresses_to_its_family)
{
	static const char *const texts[] = {"10.0.0.1", NULL};
	struct vbd_connection_spec spec = spec_to(svc_listen(svc, NULL));
	struct vbd_connection *connection;

	resolver.texts = texts;
	strcpy(spec.src_addr, "10.0.0.1");
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_ESTABLISHED);
	assert_int_equal(resolver.family, AF_INET);
	svc_close(svc, connection);
}

NAMES_TEST(test_services_names__a_resolver_that_is_away_is_asked_again)
{
	static const char *const texts[] = {"10.0.0.1", NULL};
	const struct vbd_connection_spec spec = spec_to(svc_listen(svc, NULL));
	struct vbd_connection *connection;

	resolver.code = EAI_AGAIN;
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_RETRYING);
	resolver.texts = texts;
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_ESTABLISHED);
	assert_int_equal(resolver.questions, 2);
	svc_close(svc, connection);
}

NAMES_TEST(test_services_names__a_close_ends_a_second_look_up)
{
	const struct vbd_connection_spec spec = spec_to(NULL);
	struct vbd_connection *connection;

	resolver.code = EAI_AGAIN;
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_RETRYING);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_RESOLVING_ADDR);
	svc_close(svc, connection);
	assert_null(connection->resolution);
	assert_int_equal(connection->conn->state, VBD_CONN_CLOSED);
}

NAMES_TEST(test_services_names__a_peer_of_datagrams_is_asked_at_each_address)
{
	static const char *const texts[] = {"10.9.9.9", "10.0.0.1", NULL};
	struct vbd_endpoint_spec at = {
		.addr = "10.0.0.1", .port = 7174, .params = vbd_endpoint_params_default()};
	struct vbd_endpoint_record *endpoint;
	struct vbd_peer_record *peer;
	struct vbd_peer_spec spec = {
		.dst_addr = "host.example", .dst_port = 7174, .timeout_ms = 60000, .gid_index = -1};

	at.params.qp.rq_depth = 4;
	assert_int_equal(vbd_endpoint_create(svc->daemon, &at, &endpoint, &svc->err), VBD_OK);
	SVC_UNTIL(svc, endpoint->endpoint->state == VBD_ENDPOINT_READY);
	resolver.texts = texts;
	fake_fail_next("rdma_resolve_addr", ENETUNREACH);
	spec.endpoint = endpoint;
	assert_int_equal(vbd_peer_create(svc->daemon, &spec, &peer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_READY);
	/* The endpoint sends from its own address. */
	assert_int_equal(resolver.family, AF_INET);
	fake_fail_next("rdma_resolve_addr", ENETUNREACH);
	spec.dst_port++;
	assert_int_equal(vbd_peer_create(svc->daemon, &spec, &peer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
	assert_int_equal(peer->peer.error.status, VBD_E_REJECTED);
	assert_memory_equal(peer->peer.error.text, "10.0.0.1: nobody listens", 24);
}
