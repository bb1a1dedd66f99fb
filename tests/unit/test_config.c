/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config.h"

#include "base/text.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct fixture {
	struct vbd_config config;
	struct vbd_config_specs specs; /* none */
	struct vbd_error err;
	char path[256];
	char second_path[256];
	int warnings;
	char warning[256];
};

static void on_log(enum vbd_log_level level, const char *object, const char *text, void *arg)
{
	struct fixture *f = arg;

	(void)object;
	if (level == VBD_LOG_WARNING)
		f->warnings++;
	strncpy(f->warning, text, sizeof(f->warning) - 1);
}

static void make_file(char *path, size_t size)
{
	int fd;

	(void)snprintf(path, size, "%s/test_config_XXXXXX", unit_tmpdir());
	fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	vbd_config_init(&f->config);
	make_file(f->path, sizeof(f->path));
	make_file(f->second_path, sizeof(f->second_path));
	vbd_log_set_observer(on_log, f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vbd_log_set_observer(NULL, NULL);
	(void)unlink(f->path);
	(void)unlink(f->second_path);
	free(f);
	return 0;
}

#define CONFIG_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static void write_bytes(const char *path, const char *bytes, size_t len)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void write_text(const char *path, const char *text)
{
	write_bytes(path, text, strlen(text));
}

static enum vbd_status load(struct fixture *f, const char *yaml)
{
	memset(&f->err, 0, sizeof(f->err));
	write_text(f->path, yaml);
	return vbd_config_load(&f->config, f->path, &f->specs, &f->err);
}

/* Asserts that the error is "PATH:LINE: " followed by @rest. */
static void assert_complaint(struct fixture *f, unsigned int line, const char *rest)
{
	char head[sizeof(f->path) + 16];

	(void)snprintf(head, sizeof(head), "%s:%u: ", vbd_text_path(f->path).text, line);
	if (strncmp(f->err.text, head, strlen(head)) != 0)
		fail_msg("'%s' does not begin with '%s'", f->err.text, head);
	if (!strstr(f->err.text + strlen(head), rest))
		fail_msg("'%s' does not say '%s'", f->err.text, rest);
}

static void set(struct fixture *f, const char *key, const char *value)
{
	assert_int_equal(vbd_config_set(&f->config, key, value, &f->err), VBD_OK);
}

static void assert_refused(
	struct fixture *f, const char *key, const char *value, enum vbd_status status)
{
	struct vbd_config before = f->config;
	struct vbd_error err = {0};

	assert_int_equal(vbd_config_set(&f->config, key, value, &err), status);
	assert_string_equal(err.pointer, key);
	assert_memory_equal(err.text, key, strlen(key));
	assert_memory_equal(&f->config, &before, sizeof(before));
}

CONFIG_TEST(test_config__the_defaults_are_safe_and_pass_the_check)
{
	const struct sockaddr_in *addr = (const struct sockaddr_in *)&f->config.listen[0].addr;

	assert_int_equal(f->config.listen_count, 1);
	assert_string_equal(f->config.listen[0].text, "127.0.0.1:7480");
	assert_int_equal(f->config.listen[0].addr_bytes, sizeof(*addr));
	assert_false(f->config.insecure);
	assert_int_equal(addr->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_int_equal(addr->sin_port, htons(7480));
	assert_string_equal(f->config.unix_socket, "");
	assert_int_equal(f->config.workers, 1);
	assert_int_equal(f->config.default_cqe, 4096);
	assert_int_equal(f->config.log_level, VBD_LOG_INFO);
	assert_int_equal(f->config.log_format, VBD_LOG_TEXT);
	assert_int_equal(f->config.records.events, 16384);
	assert_int_equal(f->config.limits.connections, 16384);
	assert_int_equal(f->config.limits.buffers_bytes, 68719476736);
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_OK);
	assert_int_equal(f->warnings, 0);
}

CONFIG_TEST(test_config__a_setting_takes_the_place_of_the_default)
{
	set(f, "workers", "64");
	set(f, "cpu_affinity", "7,0-2");
	assert_int_equal(f->config.cpu_affinity.count, 4);
	assert_int_equal(f->config.cpu_affinity.numbers[0], 7);
	assert_int_equal(f->config.cpu_affinity.numbers[3], 2);
	set(f, "cpu_affinity", "");
	assert_int_equal(f->config.cpu_affinity.count, 0);
	set(f, "limits.buffers", "12");
	set(f, "log_level", "debug");
	set(f, "log_format", "journal");
	set(f, "unix_socket", "/run/verbsd/verbsd.sock");
	set(f, "unix_socket_group", "rdma");
	set(f, "unix_socket_mode", "0600");
	set(f, "allowed_hosts", "storage-1,storage-1.example:7480,[::1]");
	assert_int_equal(f->config.workers, 64);
	assert_int_equal(f->config.limits.buffers, 12);
	assert_int_equal(f->config.log_level, VBD_LOG_DEBUG);
	assert_int_equal(f->config.log_format, VBD_LOG_JOURNAL);
	assert_string_equal(f->config.unix_socket, "/run/verbsd/verbsd.sock");
	assert_string_equal(f->config.unix_socket_group, "rdma");
	assert_int_equal(f->config.unix_socket_mode, 0600);
	set(f, "unix_socket_mode", "666");
	assert_int_equal(f->config.unix_socket_mode, 0666);
	assert_int_equal(f->config.allowed_hosts_count, 3);
	assert_string_equal(f->config.allowed_hosts[1], "storage-1.example:7480");
	set(f, "allowed_hosts", "");
	assert_int_equal(f->config.allowed_hosts_count, 0);
}

CONFIG_TEST(test_config__each_level_of_the_log_has_its_name)
{
	static const char *const names[] = {"error", "warning", "notice", "info", "debug"};

	assert_int_equal(VBD_ARRAY_LEN(names), VBD_LOG_LEVEL_COUNT);
	for (unsigned int i = 0; i < VBD_LOG_LEVEL_COUNT; i++) {
		set(f, "log_level", names[i]);
		assert_int_equal(f->config.log_level, i);
	}
	assert_refused(f, "log_level", "", VBD_E_BAD_VALUE);
}

CONFIG_TEST(test_config__a_bad_setting_names_its_key_and_changes_nothing)
{
	char longest[2000];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_refused(f, "worker", "1", VBD_E_UNKNOWN_FIELD);
	assert_refused(f, "limits", "1", VBD_E_UNKNOWN_FIELD);
	assert_refused(f, "buffers", "1", VBD_E_UNKNOWN_FIELD);
	assert_refused(f, "records.buffers", "1", VBD_E_UNKNOWN_FIELD);
	assert_refused(f, "cpu_affinity", "all", VBD_E_BAD_VALUE);
	assert_refused(f, "cpu_affinity", "1,", VBD_E_BAD_VALUE);
	assert_refused(f, "cpu_affinity", ",1", VBD_E_BAD_VALUE);
	assert_refused(f, "cpu_affinity", "5-2", VBD_E_BAD_VALUE);
	assert_refused(f, "cpu_affinity", "1024", VBD_E_BAD_VALUE);
	assert_refused(f, "cpu_affinity", "0-64", VBD_E_BAD_VALUE);
	assert_refused(f, "cpu_affinity", "99999999999999999999", VBD_E_BAD_VALUE);
	assert_refused(f, "workers", "0", VBD_E_OUT_OF_RANGE);
	assert_refused(f, "workers", "65", VBD_E_OUT_OF_RANGE);
	assert_refused(f, "workers", "99999999999999999999", VBD_E_OUT_OF_RANGE);
	assert_refused(f, "workers", "", VBD_E_WRONG_TYPE);
	assert_refused(f, "workers", "-1", VBD_E_WRONG_TYPE);
	assert_refused(f, "workers", "1.5", VBD_E_WRONG_TYPE);
	assert_refused(f, "workers", "0x10", VBD_E_WRONG_TYPE);
	assert_refused(f, "workers", " 1", VBD_E_WRONG_TYPE);
	assert_refused(f, "log_level", "loud", VBD_E_BAD_VALUE);
	assert_refused(f, "log_format", "xml", VBD_E_BAD_VALUE);
	assert_refused(f, "unix_socket", longest, VBD_E_TOO_LONG);
	assert_refused(f, "unix_socket_mode", "", VBD_E_WRONG_TYPE);
	assert_refused(f, "unix_socket_mode", "0o660", VBD_E_WRONG_TYPE);
	assert_refused(f, "unix_socket_mode", "rw-rw----", VBD_E_WRONG_TYPE);
	assert_refused(f, "unix_socket_mode", "0668", VBD_E_WRONG_TYPE);
	assert_refused(f, "unix_socket_mode", "0777", VBD_E_OUT_OF_RANGE);
	assert_refused(f, "unix_socket_mode", "2660", VBD_E_OUT_OF_RANGE);
	assert_refused(f, "control_token_file", longest, VBD_E_TOO_LONG);
	assert_refused(f, "read_token_file", "a\nb", VBD_E_BAD_VALUE);
	assert_refused(f, "allowed_hosts", "good,b@d", VBD_E_BAD_VALUE);
	assert_refused(f, "allowed_hosts", "a,,b", VBD_E_BAD_VALUE);
	assert_refused(f, "allowed_hosts", longest, VBD_E_BAD_VALUE);
	assert_refused(f, "allowed_hosts", "1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h", VBD_E_TOO_LONG);
}

CONFIG_TEST(test_config__a_size_and_a_time_may_have_a_unit)
{
	set(f, "limits.buffers_bytes", "2T");
	assert_int_equal(f->config.limits.buffers_bytes, 2 * VBD_TIB);
	set(f, "limits.receives_bytes", "64KiB");
	assert_int_equal(f->config.limits.receives_bytes, 65536);
	set(f, "drain_timeout_ms", "1.5s");
	assert_int_equal(f->config.drain_timeout_ms, 1500);
	set(f, "shutdown_timeout_ms", "2m");
	assert_int_equal(f->config.shutdown_timeout_ms, 120000);
	set(f, "shutdown_timeout_ms", "900");
	assert_int_equal(f->config.shutdown_timeout_ms, 900);
	assert_refused(f, "drain_timeout_ms", "2h", VBD_E_OUT_OF_RANGE);
	assert_refused(f, "drain_timeout_ms", "0.1ms", VBD_E_OUT_OF_RANGE);
	assert_refused(f, "drain_timeout_ms", "1K", VBD_E_WRONG_TYPE);
	assert_refused(f, "limits.buffers_bytes", "1s", VBD_E_WRONG_TYPE);
	assert_refused(f, "limits.buffers_bytes", "1.5G", VBD_E_WRONG_TYPE);
	assert_refused(f, "limits.buffers_bytes", "2048T", VBD_E_OUT_OF_RANGE);
	assert_refused(f, "limits.buffers", "4K", VBD_E_WRONG_TYPE);
	assert_refused(f, "workers", "1s", VBD_E_WRONG_TYPE);
}

CONFIG_TEST(test_config__an_unknown_key_is_told_which_one_may_be_meant)
{
	static const char *const cases[][2] = {
		{"worker", "worker: unknown key; did you mean workers?"},
		{"log-level", "log-level: unknown key; did you mean log_level?"},
		{"http_connections",
			"http_connections: unknown key; did you mean limits.http_connections?"},
		{"records.end", "records.end: unknown key; did you mean records.ended?"},
		{"colour", "colour: unknown key"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		memset(&f->err, 0, sizeof(f->err));
		assert_int_equal(
			vbd_config_set(&f->config, cases[i][0], "1", &f->err), VBD_E_UNKNOWN_FIELD);
		assert_string_equal(f->err.text, cases[i][1]);
	}
}

CONFIG_TEST(test_config__an_address_has_a_port_and_needs_no_resolver)
{
	static const char *const bad[] = {"127.0.0.1", ":7480", "localhost:7480", "::1:7480",
		"[::1]", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:65536", "127.0.0.1:-1", "[]:1",
		"[::1]x:1", "127.0.0.1:7480 ", "a:b:1", ":", "127.1:7480", "0x7f.0.0.1:7480",
		"0177.0.0.1:7480", "1:7480", "224.0.0.1:7480"};
	const struct sockaddr_in6 *addr = (const struct sockaddr_in6 *)&f->config.listen[0].addr;

	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++)
		assert_refused(f, "listen", bad[i], VBD_E_BAD_VALUE);
	set(f, "listen", "[::ffff:127.0.0.1]:7480");
	assert_int_equal(addr->sin6_family, AF_INET);
	set(f, "listen", "[::1]:0");
	assert_int_equal(addr->sin6_family, AF_INET6);
	assert_int_equal(addr->sin6_port, 0);
	set(f, "listen", "");
	assert_int_equal(f->config.listen_count, 0);
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_OK);
}

CONFIG_TEST(test_config__a_file_sets_what_it_names_and_nothing_else)
{
	assert_int_equal(load(f, "listen: '[::1]:9'\n"
				 "allowed_hosts:\n"
				 "  - a.example\n"
				 "  - b.example\n"
				 "workers: 2 # each one a core\n"
				 "records: {ended: 0}\n"
				 "limits: {buffers: 5, http_connections: 9}\n"),
		VBD_OK);
	assert_string_equal(f->config.listen[0].text, "[::1]:9");
	assert_int_equal(f->config.allowed_hosts_count, 2);
	assert_string_equal(f->config.allowed_hosts[1], "b.example");
	assert_int_equal(f->config.workers, 2);
	assert_int_equal(f->config.records.ended, 0);
	assert_int_equal(f->config.records.events, 16384);
	assert_int_equal(f->config.limits.buffers, 5);
	assert_int_equal(f->config.limits.http_connections, 9);
	assert_int_equal(f->config.limits.listeners, 256);
	assert_int_equal(f->config.default_cqe, 4096);
}

CONFIG_TEST(test_config__an_empty_value_is_not_an_absent_one)
{
	assert_int_equal(load(f, "listen: ''\nunix_socket: /tmp/a\n"), VBD_OK);
	assert_int_equal(f->config.listen_count, 0);
}

CONFIG_TEST(test_config__a_file_with_nothing_in_it_is_fine)
{
	static const char *const empty[] = {"", "\n", "# nothing\n", "{}", "limits:\nrecords:\n",
		"---\n", "{}\n...\n", "limits: {}\nallowed_hosts:\n", "allowed_hosts: []"};
	struct vbd_config defaults;

	vbd_config_init(&defaults);
	for (size_t i = 0; i < VBD_ARRAY_LEN(empty); i++) {
		if (load(f, empty[i]) != VBD_OK)
			fail_msg("'%s': %s", empty[i], f->err.text);
		assert_memory_equal(&f->config, &defaults, sizeof(defaults));
	}
}

CONFIG_TEST(test_config__a_bad_file_is_refused_with_file_line_and_key)
{
	static const struct {
		const char *yaml;
		unsigned int line;
		enum vbd_status status;
		const char *text;
	} cases[] = {
		{"worker: 1\n", 1, VBD_E_UNKNOWN_FIELD,
			"worker: unknown key; did you mean workers?"},
		{"workers: 1\n\n# x\nfoo: 1\nlog_level: info\n", 4, VBD_E_UNKNOWN_FIELD,
			"foo: unknown key"},
		{"limits:\n  buffers: 1\n  bufers: 1\n  listeners: 2\n", 3, VBD_E_UNKNOWN_FIELD,
			"limits.bufers: unknown key; did you mean limits.buffers?"},
		{"limits:\n  # none\n  bufers: 1\n", 3, VBD_E_UNKNOWN_FIELD,
			"limits.bufers: unknown key"},
		{"limits:\n  a_key_of_so_many_letters_is_told_whole: 1\n", 2, VBD_E_UNKNOWN_FIELD,
			"limits.a_key_of_so_many_letters_is_told_whole: unknown key"},
		{"limits: {buffers: 1, bufers: 1}\n", 1, VBD_E_UNKNOWN_FIELD, "limits.bufers"},
		{"log_level: info\nworkers: 65\nlog_format: text\n", 2, VBD_E_OUT_OF_RANGE,
			"workers: 65 is not between 1 and 64"},
		{"records: {events: 99}\nlimits:\n  buffers: many\n", 3, VBD_E_WRONG_TYPE,
			"limits.buffers: 'many' is not a whole number"},
		{"workers:\n", 1, VBD_E_BAD_VALUE, "workers: has no value; \"\" is the empty one"},
		{"log_level: info\nlisten:\n", 2, VBD_E_BAD_VALUE, "listen: has no value"},
		{"unix_socket: ~\n", 1, VBD_E_BAD_VALUE, "unix_socket: has no value"},
		{"audit_file: Null\n", 1, VBD_E_BAD_VALUE, "audit_file: has no value"},
		{"tls:\n  key: null\n", 2, VBD_E_BAD_VALUE, "tls.key: has no value"},
		{"workers: 1\n---\nworkers: 2\n", 2, VBD_E_BAD_VALUE,
			"a second document is not allowed"},
		{"---\n---\nworkers: 2\n", 2, VBD_E_BAD_VALUE, "a second document is not allowed"},
		{"workers: 1\n...\n# x\nworkers: [\n", 4, VBD_E_BAD_VALUE, "did not find expected"},
		{"workers: 1\nunix_socket: !include other.yaml\n", 2, VBD_E_BAD_VALUE,
			"tags are not allowed"},
		{"workers: !!int 1\n", 1, VBD_E_BAD_VALUE, "tags are not allowed"},
		{"log_level: info\nlimits: !x {buffers: 1}\n", 2, VBD_E_BAD_VALUE,
			"tags are not allowed"},
		{"limits:\n  <<: {buffers: 1}\n", 2, VBD_E_BAD_VALUE, "limits.<<: "},
		{"buffers:\n  - {name: a, size_bytes: !!float 5}\n", 2, VBD_E_BAD_VALUE,
			"tags are not allowed"},
		{"listen: [1]\n", 1, VBD_E_BAD_VALUE, "listen: '1' is not ADDRESS:PORT"},
		{"listen:\n  - 127.0.0.1:1\n  - here:1\n", 3, VBD_E_BAD_VALUE,
			"listen: 'here:1' is not ADDRESS:PORT"},
		{"listen: {a: 1}\n", 1, VBD_E_BAD_VALUE,
			"listen: needs a list, not a mapping of keys"},
		{"workers: {a: 1}\n", 1, VBD_E_BAD_VALUE,
			"workers: needs one value, not a mapping of keys"},
		{"workers: [1]\n", 1, VBD_E_BAD_VALUE, "workers: needs one value, not a list"},
		{"insecure: yes\n", 1, VBD_E_WRONG_TYPE, "insecure: 'yes' is not true or false"},
		{"tls:\n  client_certificate: maybe\n", 2, VBD_E_BAD_VALUE,
			"tls.client_certificate: 'maybe' is not none, optional or required"},
		{"tls:\n  cert: a\n", 2, VBD_E_UNKNOWN_FIELD, "tls.cert: unknown key"},
		{"workers: 1\nworkers: 2\n", 2, VBD_E_BAD_VALUE, "workers: is there already"},
		{"limits: 5\n", 1, VBD_E_BAD_VALUE,
			"limits: needs a mapping of keys, not one value"},
		{"records:\n  events: 15\n", 2, VBD_E_OUT_OF_RANGE,
			"records.events: 15 is not between 16 and 16777216"},
		{"allowed_hosts: one\n", 1, VBD_E_BAD_VALUE, "allowed_hosts: "},
		{"allowed_hosts:\n  - a\n  - b c\n", 3, VBD_E_BAD_VALUE, "allowed_hosts: 'b c'"},
		{"- listen\n", 1, VBD_E_BAD_VALUE, "the file: needs a mapping of keys, not a list"},
		{"drain_timeout_ms: 99\nworkers: 1\n\tlisten: 1\n", 3, VBD_E_BAD_VALUE,
			"found a tab character"},
		{"drain_timeout_ms: 99\nlisten: \"abc\nworkers: 1\n", 2, VBD_E_BAD_VALUE,
			"found unexpected end of stream"},
		{"drain_timeout_ms: 99\n\xff\xfe: 1\n", 2, VBD_E_BAD_VALUE,
			"invalid leading UTF-8 octet"},
		{"a: &x 1\n", 1, VBD_E_UNKNOWN_FIELD, "a: unknown key"},
		{"log_level: &x info\nlog_format: *x\n", 2, VBD_E_BAD_VALUE,
			"log_format: aliases are not allowed"},
		{"allowed_hosts: &x [a]\nlisten: *x\n", 2, VBD_E_BAD_VALUE,
			"listen: aliases are not allowed"},
		{"unix_socket: &x /a\nlisten: [*x]\n", 2, VBD_E_BAD_VALUE,
			"listen: needs a list of texts"},
		{"limits:\n  buffers: 1\n  buffers: 2\n", 3, VBD_E_BAD_VALUE,
			"limits.buffers: is there already"},
		{"listen: [[1]]\n", 1, VBD_E_BAD_VALUE, "listen: needs a list of texts"},
		{"limits: ''\n", 1, VBD_E_BAD_VALUE,
			"limits: needs a mapping of keys, not one value"},
		{"log_level: \"a\\0b\"\n", 1, VBD_E_BAD_VALUE, "log_level: has a NUL"},
		{"[a]: 1\n", 1, VBD_E_BAD_VALUE, "the file: a key is one text"},
		{"limits:\n  ? [a]\n  : 1\n", 2, VBD_E_BAD_VALUE, "limits: a key is one text"},
	};
	struct vbd_config before = f->config;

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		enum vbd_status status = load(f, cases[i].yaml);

		if (status != cases[i].status)
			fail_msg("'%s' gives %s: %s", cases[i].yaml, vbd_status_code(status),
				f->err.text);
		assert_complaint(f, cases[i].line, cases[i].text);
		assert_memory_equal(&f->config, &before, sizeof(before));
	}
}

CONFIG_TEST(test_config__a_bad_file_with_a_long_path_is_told_by_its_end)
{
	const char *name = strrchr(f->path, '/') + 1;
	char path[1024], end[64];

	write_text(f->path, "workers: 1\nworkers: many\n");
	(void)snprintf(path, sizeof(path), "%.*s", (int)(name - f->path), f->path);
	for (int i = 0; i < 100; i++)
		strcat(path, "./");
	strcat(path, name);
	assert_int_equal(vbd_config_load(&f->config, path, &f->specs, &f->err), VBD_E_BAD_VALUE);
	(void)snprintf(end, sizeof(end), "/%s:2: workers", name);
	if (!strstr(f->err.text, end))
		fail_msg("'%s' does not have '%s'", f->err.text, end);
}

CONFIG_TEST(test_config__a_file_that_cannot_be_read_says_why)
{
	assert_int_equal(
		vbd_config_load(&f->config, "/nonexistent/verbsd.yaml", &f->specs, &f->err),
		VBD_E_NOT_FOUND);
	assert_non_null(strstr(f->err.text, "/nonexistent/verbsd.yaml"));
	assert_non_null(strstr(f->err.text, "ENOENT"));
	memset(&f->err, 0, sizeof(f->err));
	assert_int_equal(vbd_config_load(&f->config, "/", &f->specs, &f->err), VBD_E_BAD_VALUE);
	assert_non_null(strstr(f->err.text, "not a regular file"));
}

CONFIG_TEST(test_config__a_file_that_is_too_long_is_refused)
{
	size_t len = 70000;
	char *text = malloc(len);

	assert_non_null(text);
	memset(text, '#', len);
	write_bytes(f->path, text, len);
	assert_int_equal(vbd_config_load(&f->config, f->path, &f->specs, &f->err), VBD_E_TOO_LONG);
	free(text);
}

CONFIG_TEST(test_config__a_list_that_is_too_long_is_refused)
{
	char text[8192] = "allowed_hosts:\n";
	char item[5000];

	for (int i = 0; i < 17; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "- h%d\n", i);
	assert_int_equal(load(f, text), VBD_E_TOO_LONG);
	assert_string_equal(f->err.pointer, "allowed_hosts");
	assert_complaint(f, 18, "allowed_hosts: more than 16 hosts");
	memset(item, 'h', sizeof(item));
	item[sizeof(item) - 1] = '\0';
	(void)snprintf(text, sizeof(text), "listen: [%s]\n", item);
	memset(&f->err, 0, sizeof(f->err));
	assert_int_equal(load(f, text), VBD_E_TOO_LONG);
	assert_complaint(f, 1, "listen: too long");
}

static void set_key(struct vbd_config *config, const char *key, const char *value)
{
	struct vbd_error err = {0};

	if (vbd_config_set(config, key, value, &err) != VBD_OK)
		fail_msg("%s: %s", key, err.text);
}

/* Whether a running daemon takes up the change of one key, and what its configuration then is. */
CONFIG_TEST(test_config__a_reload_takes_what_may_change)
{
	static const struct {
		const char *key, *value;
		bool taken;
	} rows[] = {
		{"control_group", "rdma", true},
		{"operate_group", "rdma", true},
		{"read_group", "rdma", true},
		{"log_level", "debug", true},
		{"drain_timeout_ms", "77", true},
		{"shutdown_timeout_ms", "7777", true},
		{"limits.buffers", "7", true},
		{"limits.connections", "7", true},
		{"limits.http_connections", "77", false},
		{"workers", "7", false},
		{"listen", "127.0.0.1:7", false},
		{"allowed_hosts", "a.example", false},
		{"log_format", "json", false},
		{"state_dir", "/var/lib/other", false},
		{"fault_injection", "true", false},
		{"records.ended", "7", false},
	};
	static struct vbd_config config, fresh, before;
	static struct vbd_config_changes changes;

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		vbd_config_init(&config);
		vbd_config_init(&fresh);
		vbd_config_compare(&config, &fresh, &changes);
		assert_int_equal(changes.n_taken + changes.n_left, 0);
		set_key(&fresh, rows[i].key, rows[i].value);
		vbd_config_compare(&config, &fresh, &changes);
		if (changes.n_taken != rows[i].taken || changes.n_left != !rows[i].taken)
			fail_msg("%s: %zu taken, %zu left", rows[i].key, changes.n_taken,
				changes.n_left);
		assert_string_equal(
			rows[i].taken ? changes.taken[0] : changes.left[0], rows[i].key);
		before = config;
		vbd_config_take(&config, &fresh);
		vbd_config_compare(&config, &fresh, &changes);
		assert_int_equal(changes.n_left, !rows[i].taken);
		assert_int_equal(changes.n_taken, 0);
		vbd_config_compare(&config, &before, &changes);
		assert_int_equal(changes.n_taken, rows[i].taken);
		assert_int_equal(changes.n_left, 0);
	}
}

CONFIG_TEST(test_config__several_addresses_are_a_list_and_one_is_a_text)
{
	const struct sockaddr_in *addr = (const struct sockaddr_in *)&f->config.listen[1].addr;

	assert_int_equal(load(f, "listen:\n  - http://[::1]:1\n  - https://127.0.0.2:2\n"
				 "workers: 2\n"),
		VBD_OK);
	assert_int_equal(f->config.listen_count, 2);
	assert_int_equal(f->config.listen[0].scheme, VBD_CONFIG_SCHEME_HTTP);
	assert_int_equal(f->config.listen[1].scheme, VBD_CONFIG_SCHEME_HTTPS);
	assert_int_equal(addr->sin_port, htons(2));
	assert_int_equal(f->config.workers, 2);
	assert_int_equal(load(f, "listen: 127.0.0.1:3\n"), VBD_OK);
	assert_int_equal(f->config.listen_count, 1);
	assert_int_equal(f->config.listen[0].scheme, VBD_CONFIG_SCHEME_DEFAULT);
	assert_int_equal(load(f, "listen: []\n"), VBD_OK);
	assert_int_equal(f->config.listen_count, 0);
	assert_refused(f, "listen",
		"127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:4,127.0.0.1:5,127.0.0.1:6,"
		"127.0.0.1:7,127.0.0.1:8,127.0.0.1:9",
		VBD_E_TOO_LONG);
	assert_refused(f, "listen", "ftp://127.0.0.1:1", VBD_E_BAD_VALUE);
}

CONFIG_TEST(test_config__processors_that_the_process_may_not_run_on_are_refused)
{
	cpu_set_t before, after;
	char first[8];
	size_t cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	(void)snprintf(first, sizeof(first), "%zu", cpu);
	set(f, "cpu_affinity", first);
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_OK);
	set(f, "cpu_affinity", "1023");
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_BAD_VALUE);
	assert_string_equal(f->err.pointer, "cpu_affinity");
	assert_non_null(strstr(f->err.text, "processor 1023"));
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
}

static void assert_unsafe(struct fixture *f, const char *listen, const char *missing)
{
	set(f, "listen", listen);
	memset(&f->err, 0, sizeof(f->err));
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_PERMISSION_DENIED);
	assert_string_equal(f->err.pointer, "listen");
	if (!strstr(f->err.text, missing))
		fail_msg("%s: '%s' does not name %s", listen, f->err.text, missing);
}

static void assert_safe(struct fixture *f, const char *listen)
{
	set(f, "listen", listen);
	memset(&f->err, 0, sizeof(f->err));
	if (vbd_config_check(&f->config, &f->err) != VBD_OK)
		fail_msg("%s: %s", listen, f->err.text);
}

static const char *const reached_by_others[] = {"0.0.0.0:7480", "192.0.2.1:1", "[::]:1",
	"[2001:db8::1]:1", "[::ffff:192.0.2.1]:1", "128.0.0.1:1", "127.0.0.1:1,192.0.2.1:1"};

CONFIG_TEST(test_config__an_address_that_others_reach_needs_tls_and_credentials)
{
	static const char *const closed[] = {"127.8.9.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(closed); i++)
		assert_safe(f, closed[i]);
	write_text(f->path, "0123456789abcdef\n");
	set(f, "control_token_file", f->path);
	for (size_t i = 0; i < VBD_ARRAY_LEN(reached_by_others); i++)
		assert_unsafe(f, reached_by_others[i], "tls.certificate");
	assert_unsafe(f, "https://127.0.0.1:1", "tls.certificate");
	set(f, "tls.certificate", "cert.pem");
	set(f, "tls.key", "key.pem");
	for (size_t i = 0; i < VBD_ARRAY_LEN(reached_by_others); i++)
		assert_safe(f, reached_by_others[i]);
	assert_safe(f, "https://127.0.0.1:1");
	assert_unsafe(f, "http://192.0.2.1:1", "insecure");
	set(f, "control_token_file", "");
	for (size_t i = 0; i < VBD_ARRAY_LEN(reached_by_others); i++)
		assert_unsafe(f, reached_by_others[i], "control_token_file");
	set(f, "tls.client_ca", "ca.pem");
	assert_safe(f, "192.0.2.1:1");
	set(f, "tls.client_certificate", "none");
	assert_unsafe(f, "192.0.2.1:1", "control_token_file");
}

CONFIG_TEST(test_config__insecure_gives_up_tls_but_not_the_token)
{
	set(f, "insecure", "true");
	assert_unsafe(f, "192.0.2.1:1", "control_token_file");
	write_text(f->path, "0123456789abcdef\n");
	set(f, "control_token_file", f->path);
	assert_safe(f, "192.0.2.1:1");
	assert_safe(f, "http://192.0.2.1:1");
	assert_unsafe(f, "https://192.0.2.1:1", "tls.certificate");
}

static bool is_tls(struct fixture *f, const char *listen)
{
	bool tls = false;

	set(f, "listen", listen);
	assert_int_equal(vbd_config_check_addr(&f->config,
				 (const struct sockaddr *)&f->config.listen[0].addr,
				 f->config.listen[0].scheme, &tls, &f->err),
		VBD_OK);
	return tls;
}

CONFIG_TEST(test_config__tls_is_for_other_hosts_unless_the_address_says_more)
{
	set(f, "tls.certificate", "cert.pem");
	set(f, "tls.key", "key.pem");
	set(f, "tls.client_ca", "ca.pem");
	set(f, "insecure", "true");
	set(f, "control_token_file", "token");
	assert_true(is_tls(f, "192.0.2.1:1"));
	assert_false(is_tls(f, "127.0.0.1:1"));
	assert_true(is_tls(f, "https://[::1]:1"));
	assert_false(is_tls(f, "http://192.0.2.1:1"));
}

CONFIG_TEST(test_config__files_for_tls_come_together)
{
	static const struct {
		const char *key;
		const char *value;
		const char *pointer;
	} cases[] = {
		{"tls.certificate", "cert.pem", "tls.key"},
		{"tls.key", "key.pem", "tls.certificate"},
		{"tls.client_ca", "ca.pem", "tls.certificate"},
		{"tls.client_certificate", "required", "tls.client_ca"},
		{"tls.client_crl", "crl.pem", "tls.client_ca"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		vbd_config_init(&f->config);
		set(f, cases[i].key, cases[i].value);
		memset(&f->err, 0, sizeof(f->err));
		assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_BAD_VALUE);
		assert_string_equal(f->err.pointer, cases[i].pointer);
	}
}

CONFIG_TEST(test_config__a_unix_socket_that_was_handed_over_needs_no_token)
{
	const struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const struct sockaddr unknown = {.sa_family = AF_UNSPEC};
	bool tls = true;

	assert_int_equal(vbd_config_check_addr(&f->config, (const struct sockaddr *)&addr,
				 VBD_CONFIG_SCHEME_DEFAULT, &tls, &f->err),
		VBD_OK);
	assert_false(tls);
	assert_int_equal(vbd_config_check_addr(
				 &f->config, &unknown, VBD_CONFIG_SCHEME_DEFAULT, &tls, &f->err),
		VBD_E_PERMISSION_DENIED);
}

CONFIG_TEST(test_config__a_token_is_the_first_line_of_its_file)
{
	write_text(f->path, "0123456789abcdef\r\nand a comment\n");
	write_text(f->second_path, "fedcba9876543210");
	set(f, "control_token_file", f->path);
	set(f, "read_token_file", f->second_path);
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_OK);
	assert_string_equal(f->config.control_token, "0123456789abcdef");
	assert_string_equal(f->config.read_token, "fedcba9876543210");
	assert_int_equal(f->warnings, 0);
}

CONFIG_TEST(test_config__a_bad_token_is_refused_and_not_shown)
{
	char longest[600];
	const char *const bad[] = {"", "\n0123456789abcdef\n", "0123456789abcde", longest,
		"0123456789 abcdef", "0123456789abcde\xc3\xa4", "0123456789\tabcdef"};

	memset(longest, 'a', 513);
	longest[513] = '\0';
	set(f, "read_token_file", f->path);
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		write_text(f->path, bad[i]);
		memset(&f->err, 0, sizeof(f->err));
		assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_BAD_VALUE);
		assert_string_equal(f->err.pointer, "read_token_file");
		assert_null(strstr(f->err.text, "0123456789"));
	}
	set(f, "read_token_file", "/nonexistent/token");
	memset(&f->err, 0, sizeof(f->err));
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_NOT_FOUND);
	assert_non_null(strstr(f->err.text, "read_token_file: /nonexistent/token"));
}

CONFIG_TEST(test_config__nothing_behind_a_nul_is_left_out_of_a_token)
{
	static const char text[] = "0123456789abcdef\0more\n";

	set(f, "read_token_file", f->path);
	write_bytes(f->path, text, sizeof(text) - 1);
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_BAD_VALUE);
	assert_non_null(strstr(f->err.text, "not printable"));
}

CONFIG_TEST(test_config__one_token_for_both_roles_is_refused)
{
	write_text(f->path, "0123456789abcdef\n");
	set(f, "control_token_file", f->path);
	set(f, "read_token_file", f->path);
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_BAD_VALUE);
	assert_string_equal(f->err.pointer, "read_token_file");
}

CONFIG_TEST(test_config__a_token_file_that_others_can_read_or_change_is_refused)
{
	static const mode_t bad[] = {0604, 0602, 0620, 0666, 0644};
	static const mode_t good[] = {0400, 0600, 0440, 0640};

	write_text(f->path, "0123456789abcdef\n");
	set(f, "control_token_file", f->path);
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		assert_int_equal(chmod(f->path, bad[i]), 0);
		memset(&f->err, 0, sizeof(f->err));
		assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_PERMISSION_DENIED);
		assert_string_equal(f->err.pointer, "control_token_file");
		assert_non_null(strstr(f->err.text, f->path));
		assert_null(strstr(f->err.text, "0123456789"));
		assert_string_equal(f->config.control_token, "");
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++) {
		assert_int_equal(chmod(f->path, good[i]), 0);
		assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_OK);
	}
}

CONFIG_TEST(test_config__a_token_file_of_another_user_is_refused)
{
	if (geteuid() != 0)
		skip();
	write_text(f->path, "0123456789abcdef\n");
	assert_int_equal(chown(f->path, 12345, (gid_t)-1), 0);
	set(f, "control_token_file", f->path);
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_PERMISSION_DENIED);
	assert_non_null(strstr(f->err.text, "12345"));
}

/* A FIFO without a writer would keep open(2) waiting for one. */
CONFIG_TEST(test_config__what_is_not_a_regular_file_is_refused_at_once)
{
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	set(f, "control_token_file", f->path);
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_BAD_VALUE);
	assert_non_null(strstr(f->err.text, "not a regular file"));
	memset(&f->err, 0, sizeof(f->err));
	assert_int_equal(vbd_config_load(&f->config, f->path, &f->specs, &f->err), VBD_E_BAD_VALUE);
}

CONFIG_TEST(test_config__the_group_of_the_socket_must_be_there)
{
	struct group *own = getgrgid(getgid());

	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_OK);
	assert_true(f->config.unix_socket_gid == (gid_t)-1);
	assert_non_null(own);
	set(f, "unix_socket_group", own->gr_name);
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_OK);
	assert_true(f->config.unix_socket_gid == getgid());
	set(f, "unix_socket_group", "no-such-group");
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_BAD_VALUE);
	assert_string_equal(f->err.pointer, "unix_socket_group");
	assert_non_null(strstr(f->err.text, "no-such-group"));
}

CONFIG_TEST(test_config__values_that_contradict_each_other_are_refused)
{
	set(f, "shutdown_timeout_ms", "100");
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_E_OUT_OF_RANGE);
	assert_string_equal(f->err.pointer, "shutdown_timeout_ms");
}

static void dump(const struct vbd_config *config, const char *path)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	vbd_config_dump(config, out);
	assert_int_equal(fclose(out), 0);
}

CONFIG_TEST(test_config__what_is_dumped_loads_as_what_it_was)
{
	struct vbd_config loaded;

	set(f, "listen", "");
	set(f, "unix_socket", "/tmp/a \"quoted\\path\": #1");
	set(f, "allowed_hosts", "a,[::1]");
	set(f, "log_format", "json");
	set(f, "log_level", "error");
	set(f, "workers", "3");
	set(f, "records.ended", "7");
	set(f, "limits.buffers_bytes", "4096");
	dump(&f->config, f->path);
	vbd_config_init(&loaded);
	assert_int_equal(vbd_config_load(&loaded, f->path, &f->specs, &f->err), VBD_OK);
	assert_memory_equal(&loaded, &f->config, sizeof(loaded));
}

static char *read_all(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = calloc(1, 65536);

	assert_non_null(in);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, in) > 0);
	(void)fclose(in);
	return text;
}

/* Removes the comment sign of "#key: value" and "  #key: value". */
static void uncomment(char *text)
{
	char *line = text;

	while (*line) {
		char *mark = line + strspn(line, " ");

		/* A setting of the service stands below the default. */
		if (mark == line && line[strspn(line, "abcdefghijklmnopqrstuvwxyz_")] == ':' &&
			line[strcspn(line, ": \n") + 1] == ' ')
			*line = '#';
		else if (mark[0] == '#' && mark[1] >= 'a' && mark[1] <= 'z')
			memmove(mark, mark + 1, strlen(mark));
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t split_lines(char *text, char *lines[200])
{
	size_t count = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (line[strspn(line, " ")] != '#')
			lines[count++] = line;
	}
	qsort(lines, count, sizeof(lines[0]), compare_lines);
	return count;
}

/* The installed file: local users come by the socket, whose uid rule TCP on a loopback would void.
 */
CONFIG_TEST(test_config__the_example_file_serves_the_unix_socket_only)
{
	char *example = read_all(VBD_SOURCE_DIR "/cmd/verbsd.yaml");

	if (load(f, example) != VBD_OK)
		fail_msg("%s", f->err.text);
	assert_int_equal(vbd_config_check(&f->config, &f->err), VBD_OK);
	assert_int_equal(f->config.listen_count, 0);
	assert_string_equal(f->config.unix_socket, "/run/verbsd/verbsd.sock");
	assert_int_equal(f->config.log_format, VBD_LOG_JOURNAL);
	free(example);
}

CONFIG_TEST(test_config__the_example_file_shows_every_key_with_its_default)
{
	char *example = read_all(VBD_SOURCE_DIR "/cmd/verbsd.yaml");
	char *dumped;
	char *example_lines[200];
	char *dumped_lines[200];
	size_t count;

	uncomment(example);
	if (load(f, example) != VBD_OK)
		fail_msg("%s", f->err.text);
	vbd_config_init(&f->config);
	dump(&f->config, f->path);
	dumped = read_all(f->path);
	/* dump quotes more words than the example does */
	count = split_lines(example, example_lines);
	assert_int_equal(split_lines(dumped, dumped_lines), count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(example_lines[i], dumped_lines[i]);
	free(dumped);
	free(example);
}
