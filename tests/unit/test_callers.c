/* SPDX-License-Identifier: Apache-2.0 */
/* callers_file, and who a token, a certificate and a local user stand for. */
#include "api/http/auth.h"
#include "daemon/config/callers.h"
#include "daemon/config/config.h"

#include "tests/unit/unit.h"

#include <sys/stat.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef0123456789abcdef"

struct fixture {
	char path[128];
	struct vbd_config config;
	struct vbd_caller_list list;
	struct vbd_callers callers;
	struct vbd_credentials *credentials;
	struct vbd_error err;
	struct vbd_identity identity; /* of the last who(), without its reference */
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd;

	if (!f)
		return -1;
	vbd_config_init(&f->config);
	(void)snprintf(f->path, sizeof(f->path), "%s/callers-XXXXXX", unit_tmpdir());
	fd = mkstemp(f->path);
	if (fd < 0)
		return -1;
	(void)close(fd);
	(void)snprintf(f->config.callers_file, sizeof(f->config.callers_file), "%s", f->path);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	bool empty;

	vbd_credentials_destroy(f->credentials);
	vbd_caller_list_fini(&f->list);
	empty = f->callers.by_name == NULL;
	(void)unlink(f->path);
	free(f);
	return empty ? 0 : -1;
}

#define CALLERS_TEST(name) TEST_WITH(name, struct fixture *f, set_up, tear_down)

static enum vbd_status load(struct fixture *f, const char *text)
{
	FILE *file = fopen(f->path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	vbd_caller_list_fini(&f->list);
	memset(&f->err, 0, sizeof(f->err));
	return vbd_caller_list_load(&f->config, &f->list, &f->err);
}

static void digest_of(const char *token, char text[2 * VBD_SHA256_BYTES + 1])
{
	uint8_t sha256[VBD_SHA256_BYTES];

	assert_true(vbd_token_hash(token, sha256));
	for (size_t i = 0; i < sizeof(sha256); i++)
		(void)snprintf(text + 2 * i, 3, "%02x", sha256[i]);
}

static void use(struct fixture *f, const char *text)
{
	assert_int_equal(load(f, text), VBD_OK);
	assert_int_equal(
		vbd_credentials_create(&f->callers, &f->list, &f->credentials, &f->err), VBD_OK);
	vbd_credentials_use(f->credentials, NULL);
}

static void use_token(struct fixture *f, const char *token, const char *more)
{
	char digest[2 * VBD_SHA256_BYTES + 1];
	char text[1024];

	digest_of(token, digest);
	(void)snprintf(text, sizeof(text),
		"- name: backup\n  role: operate\n  token_sha256: %s\n%s", digest, more);
	use(f, text);
}

/* Returns role and name of the caller; NULL for nobody and for a refusal. */
static const char *who(
	struct fixture *f, const struct vbd_auth_peer *peer, const char *token, uint64_t now_wall_s)
{
	const struct vbd_auth_rules rules = {.credentials = f->credentials};
	static char name[VBD_NAME_BYTES + 16];
	char header[600];

	(void)snprintf(header, sizeof(header), "Bearer %s", token ? token : "");
	memset(&f->err, 0, sizeof(f->err));
	memset(&f->identity, 0, sizeof(f->identity));
	if (vbd_auth_caller(&rules, peer, token ? header : NULL, now_wall_s, &f->identity,
		    &f->err) != VBD_OK ||
		!f->identity.caller)
		return NULL;
	(void)snprintf(name, sizeof(name), "%s %s", vbd_role_name(f->identity.caller->role),
		f->identity.caller->name);
	vbd_caller_unref(f->identity.caller);
	return name;
}

static const struct vbd_auth_peer remote = {.local_addr = "192.0.2.1"};
static const struct vbd_auth_peer local = {.loopback = true, .local_addr = "127.0.0.1"};

CALLERS_TEST(test_callers__a_file_has_names_roles_and_quotas)
{
	const struct vbd_caller_entry *entry;

	assert_int_equal(
		load(f, "- name: backup\n  role: operate\n  uids: [4711, 4712]\n"
			"  quotas:\n    connections: 16\n    pinned_bytes: 1G\n"
			"- {name: eve@example.com, role: read, certificates: ['CN:eve']}\n"),
		VBD_OK);
	assert_int_equal(f->list.n_entries, 4); /* with control and read */
	entry = &f->list.entries[2];
	assert_string_equal(entry->name, "backup");
	assert_int_equal(entry->role, VBD_ROLE_OPERATE);
	assert_int_equal(entry->quotas.connections, 16);
	assert_int_equal(entry->quotas.pinned_bytes, 1073741824);
	assert_int_equal(entry->quotas.transfers, 0);
	assert_int_equal(f->list.n_credentials, 3);
	assert_int_equal(f->list.credentials[1].id, 4712);
	assert_string_equal(f->list.credentials[2].cert_name, "CN:eve");
}

CALLERS_TEST(test_callers__a_list_takes_so_many)
{
	struct vbd_caller_list list = {0};
	char name[32];

	for (size_t i = 0; i < VBD_CALLERS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "caller-%zu", i);
		assert_non_null(vbd_caller_list_add(&list, name, VBD_ROLE_READ));
	}
	assert_null(vbd_caller_list_add(&list, "more", VBD_ROLE_READ));
	assert_int_equal(list.n_entries, VBD_CALLERS_MAX);
	assert_string_equal(list.entries[VBD_CALLERS_MAX - 1].name, name);
	vbd_caller_list_fini(&list);
}

CALLERS_TEST(test_callers__an_empty_file_has_none)
{
	assert_int_equal(load(f, "# nobody yet\n"), VBD_OK);
	assert_int_equal(f->list.n_entries, 2);
}

CALLERS_TEST(test_callers__a_token_of_the_beginning_of_time_has_expired)
{
	static const char *const times[] = {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00+01:00"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(times); i++) {
		char more[64];

		(void)snprintf(more, sizeof(more), "  expires: %s\n", times[i]);
		use_token(f, TOKEN, more);
		assert_null(who(f, &remote, TOKEN, 2));
		assert_non_null(strstr(f->err.text, "expired"));
		vbd_credentials_destroy(f->credentials);
		f->credentials = NULL;
	}
}

CALLERS_TEST(test_callers__a_bad_value_is_told_with_its_line)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *says;
	} rows[] = {
		{"name: x\n", 1, "list"},
		{"- name: a\n  role: read\n- name: a\n  role: read\n", 3, "already"},
		{"- name: control\n  role: read\n", 1, "already"},
		{"- name: uid-7\n  role: read\n", 1, "uid-"},
		{"- name: a b\n  role: read\n", 1, "name has"},
		{"- name: a\n  role: root\n", 2, "not read, operate or control"},
		{"- name: a\n  role: none\n", 2, "not read, operate or control"},
		{"- name: a\n  role: read\n\n- role: read\n", 4, "a name and a role"},
		{"- name: a\n  role: read\n  token: secret\n", 3, "no 'token'"},
		{"- name: a\n  role: read\n  token_sha256: secret\n", 3, "64 characters"},
		{"- name: a\n  role: read\n  expires: tomorrow\n", 3, "expires"},
		{"- name: a\n  role: read\n  expires: 2027-02-29T00:00:00Z\n", 3, "expires"},
		{"- name: a\n  role: read\n  expires: 2027-02-28T00:00:00\n", 3, "expires"},
		{"- name: a\n  role: read\n  expires: 2027-2-28T00:00:00Z\n", 3, "expires"},
		{"- name: a\n  role: read\n  expires: 2027-02-28T24:00:00Z\n", 3, "expires"},
		{"- name: a\n  role: read\n  expires: 2027-02-28T00:00:61Z\n", 3, "expires"},
		{"- name: a\n  role: read\n  expires: 1969-12-31T23:59:59Z\n", 3, "expires"},
		{"- name: a\n  role: read\n  expires: 2027-02-28T00:00:00+24:00\n", 3, "expires"},
		{"- name: a\n  role: read\n  uids:\n    - 1\n    - -2\n", 5, "number of a user"},
		{"- name: a\n  role: read\n  uids: [7]\n- name: b\n  role: read\n  uids: [7]\n", 6,
			"'a' has the same"},
		{"- name: a\n  role: read\n  users: [nobody-has-this-name]\n", 3, "no user"},
		{"- name: a\n  role: read\n  groups: [nobody-has-this-name]\n", 3, "no group"},
		{"- name: a\n  role: read\n  quotas:\n    lambs: 3\n", 4, "no quota"},
		{"- name: a\n  role: read\n  quotas:\n    streams: 0\n", 4, "from 1"},
		{"- name: a\n  role: read\n  quotas: 5\n", 3, "quotas"},
		{"- name: [a]\n  role: read\n", 1, "a text"},
		{"- name: \"a\\0b\"\n  role: read\n", 1, "a text"},
		{"- name: a\n  role: read\n  uids: 5\n", 3, "a list"},
		{"- name: a\n  role: read\n  certificates: [eve]\n", 3, "CN:NAME"},
		{"- name: \"a\n", 1, "end of stream"},
		{"- name: a\n  role: read\n---\n- name: b\n  role: control\n", 3,
			"second document"},
		{"- name: a\n  role: read\n  role: control\n", 3, "role: is there already"},
		{"- name: a\n  role: read\n  quotas: {streams: 1,\n    streams: 2}\n", 4,
			"quotas.streams: is there already"},
		{"- name: a\n  role: !x read\n", 2, "tags"},
		{"- &a\n  name: a\n  role: read\n- <<: *a\n  name: b\n", 4, "no '<<'"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		char place[160];

		(void)snprintf(place, sizeof(place), "%s:%u: ", f->path, rows[i].line);
		assert_int_not_equal(load(f, rows[i].text), VBD_OK);
		if (!strstr(f->err.text, place) || !strstr(f->err.text, rows[i].says))
			fail_msg("row %zu: %s", i, f->err.text);
		assert_null(strstr(f->err.text, "secret"));
		assert_int_equal(f->list.n_entries, 0);
	}
}

CALLERS_TEST(test_callers__a_file_that_others_can_read_is_refused)
{
	assert_int_equal(chmod(f->path, 0644), 0);
	assert_int_equal(load(f, "- name: a\n  role: read\n"), VBD_E_PERMISSION_DENIED);
	assert_string_equal(f->err.pointer, "callers_file");
}

CALLERS_TEST(test_callers__a_token_is_its_caller)
{
	use_token(f, TOKEN, "- name: other\n  role: control\n  uids: [4711]\n");
	assert_string_equal(who(f, &remote, TOKEN, 1), "operate backup");
	assert_null(who(f, &remote, TOKEN "0", 1));
	assert_int_equal(f->err.status, VBD_E_UNAUTHORIZED);
	assert_null(who(f, &remote, "", 1));
	assert_null(who(f, &local, NULL, 1));
}

/* The digest stands in the file, which more people may see than the token. */
CALLERS_TEST(test_callers__the_hash_of_a_token_is_no_token)
{
	char digest[2 * VBD_SHA256_BYTES + 1];

	digest_of(TOKEN, digest);
	use_token(f, TOKEN, "");
	assert_null(who(f, &remote, digest, 1));
	assert_int_equal(f->err.status, VBD_E_UNAUTHORIZED);
}

CALLERS_TEST(test_callers__a_token_ends_at_its_time)
{
	/* 2001-09-09T01:46:40Z */
	use_token(f, TOKEN, "  expires: 2001-09-09T03:46:40+02:00\n");
	assert_string_equal(who(f, &remote, TOKEN, 999999999), "operate backup");
	assert_null(who(f, &remote, TOKEN, 1000000000));
	assert_int_equal(f->err.status, VBD_E_UNAUTHORIZED);
}

CALLERS_TEST(test_callers__a_name_in_a_certificate_is_its_caller)
{
	static const char *const names[] = {"CN:nobody", "DNS:backup.example.com"};
	const struct vbd_auth_peer known = {.cert_names = names, .n_cert_names = 2};
	const struct vbd_auth_peer unknown = {
		.loopback = true, .cert_names = names, .n_cert_names = 1};

	use(f, "- name: backup\n  role: operate\n  certificates: ['DNS:backup.example.com']\n");
	assert_string_equal(who(f, &known, NULL, 1), "operate backup");
	assert_null(who(f, &unknown, NULL, 1));
	assert_null(who(f, &local, NULL, 1));
}

CALLERS_TEST(test_callers__a_certificate_ends_at_its_time)
{
	static const char *const names[] = {"CN:backup"};
	const struct vbd_auth_peer peer = {
		.cert_names = names, .n_cert_names = 1, .cert_expires_wall_s = 1000000000};

	use(f, "- name: backup\n  role: operate\n  certificates: ['CN:backup']\n");
	assert_string_equal(who(f, &peer, NULL, 999999999), "operate backup");
	assert_null(who(f, &peer, NULL, 1000000000));
	assert_int_equal(f->err.status, VBD_E_UNAUTHORIZED);
}

CALLERS_TEST(test_callers__a_local_user_is_found_by_uid_before_group)
{
	static const gid_t gids[] = {100, 0};
	struct vbd_auth_peer peer = {
		.unix_socket = true, .uid = 4711, .gids = gids, .n_gids = VBD_ARRAY_LEN(gids)};

	use(f, "- name: admins\n  role: control\n  groups: [root]\n"
	       "- name: eve\n  role: read\n  uids: [4711]\n");
	assert_string_equal(who(f, &peer, NULL, 1), "read eve");
	peer.uid = 4712;
	assert_string_equal(who(f, &peer, NULL, 1), "control admins");
	peer.n_gids = 1;
	assert_string_equal(who(f, &peer, NULL, 1), "read read");
}

CALLERS_TEST(test_callers__members_of_operate_group_are_callers_each)
{
	static const gid_t gids[] = {0};
	struct vbd_auth_peer peer = {.unix_socket = true, .uid = 4711, .gids = gids, .n_gids = 1};

	(void)snprintf(f->config.operate_group, sizeof(f->config.operate_group), "root");
	use(f, "");
	assert_string_equal(who(f, &peer, NULL, 1), "operate uid-4711");
	peer.uid = 4712;
	assert_string_equal(who(f, &peer, NULL, 1), "operate uid-4712");
	peer.n_gids = 0;
	assert_string_equal(who(f, &peer, NULL, 1), "read read");
}

CALLERS_TEST(test_callers__members_of_control_group_are_in_control)
{
	static const gid_t gids[] = {100, 0};
	struct vbd_auth_peer peer = {.unix_socket = true, .uid = 4711, .gids = gids, .n_gids = 2};

	(void)snprintf(f->config.control_group, sizeof(f->config.control_group), "root");
	(void)snprintf(f->config.operate_group, sizeof(f->config.operate_group), "root");
	use(f, "");
	assert_string_equal(who(f, &peer, NULL, 1), "control control");
	peer.n_gids = 1;
	assert_string_equal(who(f, &peer, NULL, 1), "read read");
}

CALLERS_TEST(test_callers__with_a_read_group_other_users_have_no_role)
{
	static const gid_t gids[] = {0};
	struct vbd_auth_peer peer = {.unix_socket = true, .uid = 4711, .gids = gids, .n_gids = 1};

	(void)snprintf(f->config.read_group, sizeof(f->config.read_group), "root");
	use(f, "");
	assert_string_equal(who(f, &peer, NULL, 1), "read read");
	peer.n_gids = 0;
	assert_null(who(f, &peer, NULL, 1));
	peer.uid = 0;
	assert_string_equal(who(f, &peer, NULL, 1), "control control");
}

CALLERS_TEST(test_callers__a_group_that_is_not_there_is_told_with_its_key)
{
	(void)snprintf(f->config.control_group, sizeof(f->config.control_group), "no-such-group");
	assert_int_equal(load(f, ""), VBD_E_BAD_VALUE);
	assert_string_equal(f->err.pointer, "control_group");
	assert_non_null(strstr(f->err.text, "no-such-group"));
}

CALLERS_TEST(test_callers__who_leaves_the_file_has_no_role)
{
	struct vbd_credentials *before;
	struct vbd_caller *backup;

	use_token(f, TOKEN, "");
	backup = vbd_callers_get(&f->callers, "backup");
	assert_int_equal(backup->role, VBD_ROLE_OPERATE);
	before = f->credentials;
	assert_int_equal(load(f, ""), VBD_OK);
	assert_int_equal(
		vbd_credentials_create(&f->callers, &f->list, &f->credentials, &f->err), VBD_OK);
	vbd_credentials_use(f->credentials, before);
	vbd_credentials_destroy(before);
	assert_int_equal(backup->role, VBD_ROLE_NONE);
	vbd_caller_unref(backup);
}

/* A new list of callers; the changes that it makes to those of both lists, in their order. */
static const char *changes_by(struct fixture *f, const char *text)
{
	static const char letters[] = {'=', '+', '~', '-'};
	static char changes[16];
	struct vbd_credentials *before = f->credentials;
	const struct vbd_credentials *lists[2];
	size_t n = 0;

	assert_int_equal(load(f, text), VBD_OK);
	assert_int_equal(
		vbd_credentials_create(&f->callers, &f->list, &f->credentials, &f->err), VBD_OK);
	vbd_credentials_use(f->credentials, before);
	lists[0] = before;
	lists[1] = f->credentials;
	for (size_t k = 0; k < 2; k++) {
		const struct vbd_caller *caller;

		/* Behind "control" and "read", which each list begins with. */
		for (size_t i = 2; (caller = vbd_credentials_at(lists[k], i)); i++)
			if (k == 1 || caller->change == VBD_CALLER_REMOVED)
				changes[n++] = letters[caller->change];
	}
	changes[n] = '\0';
	vbd_credentials_destroy(before);
	return changes;
}

CALLERS_TEST(test_callers__a_reload_tells_what_it_changes)
{
	static const char a[] = "- {name: a, role: read, uids: [71]}\n";
	static const char b[] = "- {name: b, role: read, uids: [72, 73]}\n";
	char both[160], turned[160];

	(void)snprintf(both, sizeof(both), "%s%s", a, b);
	(void)snprintf(turned, sizeof(turned), "%s%s", b, a);
	use(f, a);
	assert_string_equal(changes_by(f, both), "=+");
	assert_string_equal(changes_by(f, turned), "==");
	assert_string_equal(changes_by(f, "- {name: a, role: operate, uids: [71]}\n"), "-~");
	assert_string_equal(changes_by(f, "- {name: a, role: operate, uids: [74]}\n"), "~");
	assert_string_equal(
		changes_by(f, "- {name: a, role: operate, uids: [74], quotas: {buffers: 1}}\n"),
		"~");
	assert_string_equal(changes_by(f, ""), "-");
	assert_string_equal(changes_by(f, a), "+");
}

CALLERS_TEST(test_callers__a_name_that_is_too_long_is_no_caller)
{
	char name[VBD_NAME_BYTES + 1];

	memset(name, 'x', VBD_NAME_BYTES);
	name[VBD_NAME_BYTES] = '\0';
	assert_null(vbd_callers_get(&f->callers, name));
	name[VBD_NAME_BYTES - 1] = '\0';
	vbd_caller_unref(vbd_callers_get(&f->callers, name));
}

CALLERS_TEST(test_callers__an_operator_sees_what_is_its_own)
{
	struct vbd_caller a = {.role = VBD_ROLE_OPERATE}, b = {.role = VBD_ROLE_OPERATE};
	struct vbd_caller reader = {.role = VBD_ROLE_READ}, control = {.role = VBD_ROLE_CONTROL};

	assert_true(vbd_caller_sees(&a, &a));
	assert_false(vbd_caller_sees(&a, &b));
	assert_false(vbd_caller_sees(&a, &control));
	assert_true(vbd_caller_sees(&a, NULL));
	assert_true(vbd_caller_sees(&reader, &a));
	assert_true(vbd_caller_sees(&control, &a));
	assert_true(vbd_caller_sees(NULL, &a));
	a.role = VBD_ROLE_NONE; /* its requests are still open when a reload revokes it */
	assert_false(vbd_caller_sees(&a, &b));
}
