/* SPDX-License-Identifier: Apache-2.0 */
/* Copies from export to export of one daemon, over the loopback of the fake; and peers that lie. */
#include "daemon/copies/copy.h"

#include "tests/unit/scratch.h"
#include "tests/unit/svc.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "0123456789abcdef"

struct copying {
	char folder[SCRATCH_PATH_BYTES];
	struct vbd_export_spec specs[2];
	struct vbd_listener *listener;
};

static void write_text(const char *folder, const char *name, const void *bytes, size_t len)
{
	char path[2 * SCRATCH_PATH_BYTES];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static struct vbd_export_spec export_spec(const char *folder, const char *name, unsigned int access)
{
	struct vbd_export_spec spec;

	memset(&spec, 0, sizeof(spec));
	spec.access = access;
	spec.umask = 022;
	(void)snprintf(spec.name, sizeof(spec.name), "%s", name);
	(void)snprintf(spec.path, sizeof(spec.path), "%s/%s", folder, name);
	(void)snprintf(spec.secret_file, sizeof(spec.secret_file), "%s/secret", folder);
	return spec;
}

static struct vbd_export *export_of(struct svc *svc, const char *name)
{
	return svc_find(svc->daemon->exports, name, &svc->err);
}

static bool is_ready(struct svc *svc, const char *name)
{
	const struct vbd_export *export = export_of(svc, name);

	return export && export->state == VBD_EXPORT_READY;
}

/* Exports "from" and "to" in a folder, and a listener that serves them. */
static struct copying begin(struct svc *svc)
{
	struct vbd_listener_spec listener = svc_listener_spec();
	struct copying copying = {0};
	char path[2 * SCRATCH_PATH_BYTES];

	scratch_make(copying.folder);
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", copying.folder, i ? "to" : "from");
		assert_int_equal(mkdir(path, 0700), 0);
	}
	write_text(copying.folder, "secret", SECRET, strlen(SECRET));
	(void)snprintf(path, sizeof(path), "%s/secret", copying.folder);
	assert_int_equal(chmod(path, 0600), 0);
	copying.specs[0] = export_spec(copying.folder, "from", VBD_EXPORT_READ);
	copying.specs[1] = export_spec(copying.folder, "to", VBD_EXPORT_READ | VBD_EXPORT_WRITE);
	vbd_exports_use(svc->daemon, copying.specs, 2);
	SVC_UNTIL(svc, is_ready(svc, "from") && is_ready(svc, "to"));
	vbd_copy_params(&listener.params);
	copying.listener = svc_listen(svc, &listener);
	return copying;
}

static struct vbd_copy_spec spec_of(struct svc *svc, const struct copying *copying, bool pull)
{
	struct vbd_copy_spec spec = {
		.pull = pull,
		.export = export_of(svc, pull ? "to" : "from"),
		.path = ".",
		.peer_port = vbd_addr_port(&copying->listener->addr),
		.peer_path = ".",
		.options = VBD_COPY_RECURSIVE | VBD_COPY_PRESERVE_MODE | VBD_COPY_PRESERVE_MTIME,
		.overwrite = VBD_COPY_OVERWRITE_IF_DIFFERENT,
	};

	(void)snprintf(spec.peer_addr, sizeof(spec.peer_addr), "%s", "10.0.0.1");
	(void)snprintf(spec.peer_export, sizeof(spec.peer_export), "%s", pull ? "from" : "to");
	return spec;
}

static struct vbd_copy *copy(struct svc *svc, const struct vbd_copy_spec *spec)
{
	struct vbd_copy *copy = NULL;

	assert_int_equal(vbd_copy_create(svc->daemon, spec, &copy, &svc->err), VBD_OK);
	SVC_UNTIL(svc, copy->object.ended);
	return copy;
}

static void fill(const struct copying *copying, size_t len)
{
	char folder[2 * SCRATCH_PATH_BYTES];
	uint8_t *bytes = malloc(len);

	assert_non_null(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 4099);
	(void)snprintf(folder, sizeof(folder), "%s/from", copying->folder);
	write_text(folder, "large", bytes, len);
	write_text(folder, "empty", bytes, 0);
	for (unsigned int i = 0; i < 300; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "small-%u", i);
		write_text(folder, name, bytes + i, i * 13 % 5000);
	}
	free(bytes);
}

static void assert_same(const struct copying *copying)
{
	char command[4 * SCRATCH_PATH_BYTES];

	(void)snprintf(command, sizeof(command), "diff -r '%s/from' '%s/to'", copying->folder,
		copying->folder);
	assert_int_equal(system(command), 0);
}

SVC_TEST(test_services_copies__a_tree_arrives_whole)
{
	for (int pull = 0; pull < 2; pull++) {
		struct copying copying = begin(svc);
		struct vbd_copy_spec spec = spec_of(svc, &copying, pull);
		struct vbd_copy *made;

		fill(&copying, 20000000);
		made = copy(svc, &spec);
		assert_string_equal(made->error.text, "");
		assert_int_equal(made->state, VBD_COPY_DONE);
		assert_int_equal(made->progress.files_done, 303);
		assert_int_equal(made->progress.failed, 0);
		assert_true(made->progress.counted);
		assert_same(&copying);
		/* Once more: nothing moves but the directory. */
		made = copy(svc, &spec);
		assert_int_equal(made->progress.skipped, 302);
		assert_int_equal(made->progress.bytes_done, 0);
		scratch_remove(copying.folder);
		vbd_exports_use(svc->daemon, NULL, 0);
	}
}

/* --- peers that lie -------------------------------------------------------------------------- */

static struct vbd_connection *stranger(struct svc *svc, const struct copying *copying)
{
	struct vbd_connection_spec spec = svc_spec_to(copying->listener);
	struct vbd_connection *connection;

	spec.params.qp.service = VBD_SERVICE_SINK;
	spec.params.qp.recv_size_bytes = VBD_COPY_MESSAGE_BYTES;
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_ESTABLISHED);
	return connection;
}

static struct vbd_copy *newest(struct svc *svc)
{
	return VBD_CONTAINER_OF(
		vbd_registry_before(svc->daemon->copies, UINT64_MAX), struct vbd_copy, object);
}

static void say(struct svc *svc, struct vbd_connection *connection, const void *bytes, size_t len)
{
	struct vbd_transfer_record *record = NULL;

	assert_int_equal(
		svc_send_message(connection, bytes, (uint32_t)len, NULL, 30000, &record, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, record->object.ended);
}

static uint32_t hello_to(uint8_t *to, const char *export, uint32_t options)
{
	struct vbd_copy_message hello = {.type = VBD_COPY_MSG_HELLO,
		.hello = {.version_min = 1,
			.version_max = 1,
			.options = options,
			.path = (const uint8_t *)".",
			.path_bytes = 1}};

	(void)snprintf(hello.hello.export, sizeof(hello.hello.export), "%s", export);
	return vbd_copy_encode(to, &hello);
}

/* The copy of the peer fails so, and its connection is closed. */
static void assert_fails(
	struct svc *svc, struct vbd_connection *connection, enum vbd_copy_fault fault)
{
	struct vbd_copy *copy = newest(svc);

	SVC_UNTIL(svc, copy->object.ended && connection->object.ended);
	assert_true(copy->server);
	assert_int_equal(copy->state, VBD_COPY_FAILED);
	assert_int_equal(copy->fault, fault);
	assert_int_equal(svc->daemon->buffers->open, 0);
}

SVC_TEST(test_services_copies__a_peer_that_breaks_the_protocol_loses_its_connection)
{
	struct copying copying = begin(svc);
	static const struct vbd_copy_message early[] = {{.type = VBD_COPY_MSG_PROOF},
		{.type = VBD_COPY_MSG_START}, {.type = VBD_COPY_MSG_END},
		{.type = VBD_COPY_MSG_END_OK}, {.type = VBD_COPY_MSG_SUM}};
	uint8_t bytes[VBD_COPY_MESSAGE_BYTES] = {0};
	struct vbd_connection *connection;

	for (size_t i = 0; i < VBD_ARRAY_LEN(early); i++) {
		uint32_t len = vbd_copy_encode(bytes, &early[i]);

		connection = stranger(svc, &copying);
		say(svc, connection, bytes, len);
		assert_fails(svc, connection, VBD_COPY_FAULT_PROTOCOL);
	}
	memset(bytes, 0xa5, sizeof(bytes));
	for (uint32_t len = 0; len < 64; len += 21) {
		connection = stranger(svc, &copying);
		say(svc, connection, bytes, len);
		assert_fails(svc, connection, VBD_COPY_FAULT_PROTOCOL);
	}
	connection = stranger(svc, &copying);
	say(svc, connection, bytes, hello_to(bytes, "to", 0));
	say(svc, connection, bytes, hello_to(bytes, "to", 0));
	assert_fails(svc, connection, VBD_COPY_FAULT_PROTOCOL);
	connection = stranger(svc, &copying);
	say(svc, connection, bytes, hello_to(bytes, "to", VBD_COPY_VERIFY_SHA256));
	assert_fails(svc, connection, VBD_COPY_FAULT_PROTOCOL);
	scratch_remove(copying.folder);
}

SVC_TEST(test_services_copies__a_wrong_proof_and_an_unknown_export_are_refused_alike)
{
	static const char *const exports[] = {"to", "from", "none"};
	struct copying copying = begin(svc);
	const struct vbd_copy_message proof = {.type = VBD_COPY_MSG_PROOF};
	uint8_t bytes[VBD_COPY_MESSAGE_BYTES];

	for (size_t i = 0; i < VBD_ARRAY_LEN(exports); i++) {
		struct vbd_connection *connection = stranger(svc, &copying);

		say(svc, connection, bytes, hello_to(bytes, exports[i], 0));
		SVC_UNTIL(svc, newest(svc)->state == VBD_COPY_AWAIT_PROOF);
		say(svc, connection, bytes, vbd_copy_encode(bytes, &proof));
		assert_fails(svc, connection, VBD_COPY_FAULT_REFUSED);
		assert_string_equal(
			newest(svc)->error.text, vbd_copy_fault_text(VBD_COPY_FAULT_REFUSED));
	}
	scratch_remove(copying.folder);
}

SVC_TEST(test_services_copies__a_copy_that_is_cancelled_leaves_nothing)
{
	struct copying copying = begin(svc);
	struct vbd_copy_spec spec = spec_of(svc, &copying, false);
	char command[2 * SCRATCH_PATH_BYTES];
	struct vbd_copy *copy = NULL;

	fill(&copying, 60000000);
	assert_int_equal(vbd_copy_create(svc->daemon, &spec, &copy, &svc->err), VBD_OK);
	SVC_UNTIL(svc, copy->progress.bytes_sent > 0);
	vbd_object_cancel(&copy->object);
	SVC_UNTIL(svc, svc->daemon->copies->open == 0);
	assert_int_equal(copy->state, VBD_COPY_CANCELLED);
	(void)snprintf(command, sizeof(command), "test -z \"$(find '%s/to' -name '*.verbsd-*')\"",
		copying.folder);
	assert_int_equal(system(command), 0);
	scratch_remove(copying.folder);
}
