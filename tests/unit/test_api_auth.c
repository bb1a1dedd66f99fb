/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/auth.h"

#include "tests/unit/credentials.h"
#include "tests/unit/unit.h"

#include <unistd.h>

static struct vbd_callers callers;
static struct vbd_auth_rules open_rules, token_rules;

static const struct vbd_auth_peer local = {.loopback = true, .local_addr = "127.0.0.1"};
static const struct vbd_auth_peer remote = {.local_addr = "192.0.2.1"};

static int set_up(void **state)
{
	(void)state;
	open_rules.credentials = unit_credentials(&callers, NULL, NULL);
	token_rules.credentials =
		unit_credentials(&callers, "control-control-control", "read-read-read-read");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vbd_credentials_destroy((struct vbd_credentials *)open_rules.credentials);
	vbd_credentials_destroy((struct vbd_credentials *)token_rules.credentials);
	return callers.by_name ? -1 : 0;
}

static enum vbd_auth_means g_means; /* of the last role_is() */

static void role_is(const struct vbd_auth_rules *rules, const struct vbd_auth_peer *peer,
	const char *authorization, enum vbd_role want)
{
	struct vbd_identity identity = {0};
	struct vbd_caller *caller;

	assert_int_equal(vbd_auth_caller(rules, peer, authorization, 1, &identity, NULL), VBD_OK);
	caller = identity.caller;
	assert_int_equal(caller ? caller->role : VBD_ROLE_NONE, want);
	if (caller)
		assert_string_equal(caller->name, vbd_role_name(want));
	g_means = identity.means;
	vbd_caller_unref(caller);
}

TEST(test_auth__what_tells_who_a_client_is_is_known)
{
	struct vbd_auth_peer user = {.unix_socket = true, .uid = 0};

	role_is(&open_rules, &local, NULL, VBD_ROLE_CONTROL);
	assert_string_equal(vbd_auth_means_name(g_means), "loopback");
	role_is(&token_rules, &user, NULL, VBD_ROLE_CONTROL);
	assert_string_equal(vbd_auth_means_name(g_means), "unix_socket");
	role_is(&token_rules, &user, "Bearer read-read-read-read", VBD_ROLE_READ);
	assert_string_equal(vbd_auth_means_name(g_means), "token");
}

TEST(test_auth__without_tokens_the_loopback_is_in_control)
{
	role_is(&open_rules, &local, NULL, VBD_ROLE_CONTROL);
	role_is(&open_rules, &local, "Bearer whatever", VBD_ROLE_CONTROL);
	role_is(&open_rules, &remote, NULL, VBD_ROLE_NONE);
}

TEST(test_auth__with_tokens_everybody_shows_one)
{
	role_is(&token_rules, &local, NULL, VBD_ROLE_NONE);
	role_is(&token_rules, &local, "Bearer control-control-control", VBD_ROLE_CONTROL);
	role_is(&token_rules, &remote, "bearer  read-read-read-read", VBD_ROLE_READ);
}

TEST(test_auth__wrong_credentials_are_unauthorized)
{
	static const char *const wrong[] = {"", "Bearer", "Bearer ", "Basic eDp5", "Bearer control",
		"Bearer control-control-controlx", "Bearer control-control-control ",
		"Bearer read-read-read-rea", "control-control-control"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(wrong); i++) {
		struct vbd_identity identity = {0};

		assert_int_equal(
			vbd_auth_caller(&token_rules, &local, wrong[i], 1, &identity, NULL),
			VBD_E_UNAUTHORIZED);
		assert_null(identity.caller);
	}
}

TEST(test_auth__the_unix_socket_knows_its_callers)
{
	struct vbd_auth_peer peer = {.unix_socket = true, .uid = 0};

	role_is(&token_rules, &peer, NULL, VBD_ROLE_CONTROL);
	peer.uid = geteuid();
	role_is(&open_rules, &peer, NULL, VBD_ROLE_CONTROL);
	peer.uid = geteuid() + 4711;
	role_is(&open_rules, &peer, NULL, VBD_ROLE_READ);
	role_is(&token_rules, &peer, NULL, VBD_ROLE_READ);
	role_is(&token_rules, &peer, "Bearer control-control-control", VBD_ROLE_CONTROL);
	peer.uid = (uid_t)-1;
	role_is(&open_rules, &peer, NULL, VBD_ROLE_READ);
}

TEST(test_auth__the_host_must_be_this_server)
{
	static const char *const names[] = {"rdma1.example.net"};
	const struct vbd_auth_rules rules = {.allowed_hosts = names, .n_allowed_hosts = 1};
	static const char *const good[] = {"localhost", "LOCALHOST:7480", "127.0.0.1",
		"127.1.2.3:1", "[::1]:7480", "[0:0::1]", "192.0.2.1:7480", "rdma1.example.net:80",
		"RDMA1.example.NET", "localhost.", "localhost.:7480", "rdma1.example.net."};
	static const char *const bad[] = {"evil.test", "localhost.evil.test", "192.0.2.2",
		"127.0.0.1.evil.test", "a%20b", "[::2]", "localhost..", "."};
	static const char *const none[] = {"", ":80", "[::1", "[::1]x", "127.0.0.1:80:80",
		"127.0.0.1:x", "::1", "[]", "localhost, evil.test", "a b", "a@b", "a/b",
		"http://localhost", "[127.0.0.1]", "a\"b"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++)
		assert_int_equal(vbd_auth_host(&rules, &remote, good[i], NULL), VBD_OK);
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		if (vbd_auth_host(&rules, &remote, bad[i], NULL) != VBD_E_BAD_HOST)
			fail_msg("'%s' passes", bad[i]);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(none); i++) {
		if (vbd_auth_host(&rules, &remote, none[i], NULL) != VBD_E_MALFORMED_REQUEST)
			fail_msg("'%s' passes", none[i]);
	}
	assert_int_equal(vbd_auth_host(&rules, &remote, NULL, NULL), VBD_OK);
}

TEST(test_auth__any_host_will_do_on_a_unix_socket)
{
	const struct vbd_auth_peer peer = {.unix_socket = true};

	assert_int_equal(vbd_auth_host(&open_rules, &peer, "x", NULL), VBD_OK);
	assert_int_equal(vbd_auth_host(&open_rules, &peer, "", NULL), VBD_OK);
	assert_int_equal(vbd_auth_host(&open_rules, &peer, "a b", NULL), VBD_E_MALFORMED_REQUEST);
}

TEST(test_auth__a_foreign_origin_is_refused)
{
	static const char *const bad[] = {"null", "", "http://evil.test", "http://127.0.0.1",
		"http://127.0.0.1:7481", "ftp://127.0.0.1:7480", "127.0.0.1:7480",
		"http://127.0.0.1:7480/", "http://127.0.0.1:7480@evil.test"};

	assert_int_equal(vbd_auth_origin(&open_rules, false, NULL, "x", NULL), VBD_OK);
	assert_int_equal(vbd_auth_origin(&open_rules, false, "http://127.0.0.1:7480",
				 "127.0.0.1:7480", NULL),
		VBD_OK);
	assert_int_equal(
		vbd_auth_origin(&open_rules, false, "https://Rdma1:7480", "rdma1:7480", NULL),
		VBD_OK);
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		if (vbd_auth_origin(&open_rules, false, bad[i], "127.0.0.1:7480", NULL) !=
			VBD_E_BAD_ORIGIN)
			fail_msg("'%s' passes", bad[i]);
	}
	assert_int_equal(
		vbd_auth_origin(&open_rules, false, "http://x", NULL, NULL), VBD_E_BAD_ORIGIN);
	assert_int_equal(vbd_auth_origin(&open_rules, true, "https://x", "x", NULL), VBD_OK);
	assert_int_equal(
		vbd_auth_origin(&open_rules, true, "http://x", "x", NULL), VBD_E_BAD_ORIGIN);
}

TEST(test_auth__a_page_of_an_allowed_host_may_come_by_a_proxy)
{
	static const char *const names[] = {"rdma1.example.net"};
	const struct vbd_auth_rules rules = {.allowed_hosts = names, .n_allowed_hosts = 1};
	static const char *const bad[] = {"https://rdma1.example.net:8443",
		"https://rdma1.example.net.evil.test", "rdma1.example.net", "https://"};

	assert_int_equal(
		vbd_auth_origin(&rules, false, "https://RDMA1.example.net", "127.0.0.1:7480", NULL),
		VBD_OK);
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		if (vbd_auth_origin(&rules, false, bad[i], "127.0.0.1:7480", NULL) !=
			VBD_E_BAD_ORIGIN)
			fail_msg("'%s' passes", bad[i]);
	}
}

TEST(test_auth__the_scheme_is_that_of_the_connection)
{
	struct vbd_auth_peer peer = {0};

	assert_int_equal(vbd_auth_scheme(&peer, "http", NULL), VBD_OK);
	assert_int_equal(vbd_auth_scheme(&peer, "https", NULL), VBD_E_BAD_HOST);
	peer.tls = true;
	assert_int_equal(vbd_auth_scheme(&peer, "https", NULL), VBD_OK);
	assert_int_equal(vbd_auth_scheme(&peer, "http", NULL), VBD_E_BAD_HOST);
}

int main(int argc, char **argv)
{
	return unit_run(argc, argv, set_up, tear_down);
}
