/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies/exports.h"

#include "tests/unit/scratch.h"
#include "tests/unit/svc.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

static char folder[SCRATCH_PATH_BYTES];
static struct vbd_export_spec spec;

static void write_secret(const char *text)
{
	int fd = open(spec.secret_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static int setup(void **state)
{
	scratch_make(folder);
	memset(&spec, 0, sizeof(spec));
	(void)snprintf(spec.name, sizeof(spec.name), "models");
	(void)snprintf(spec.path, sizeof(spec.path), "%s/models", folder);
	(void)snprintf(spec.secret_file, sizeof(spec.secret_file), "%s/secret", folder);
	spec.access = VBD_EXPORT_READ;
	write_secret("0123456789abcdef\n");
	assert_int_equal(mkdir(spec.path, 0700), 0);
	return svc_setup(state);
}

static int teardown(void **state)
{
	int rc = svc_teardown(state);

	scratch_remove(folder);
	return rc;
}

#define EXPORTS_TEST(name) TEST_WITH(name, struct svc *svc, setup, teardown)

static struct vbd_export *find(struct svc *svc)
{
	return svc_find(svc->daemon->exports, "models", &svc->err);
}

static struct vbd_export *use(struct svc *svc)
{
	vbd_exports_use(svc->daemon, &spec, 1);
	SVC_UNTIL(svc, !find(svc)->opening);
	return find(svc);
}

static struct vbd_export *for_peer(struct svc *svc, const char *addr, unsigned int access)
{
	struct sockaddr_storage peer;

	assert_true(vbd_addr_parse(addr, 1, &peer));
	return vbd_export_for_peer(svc->daemon, "models", (const struct sockaddr *)&peer, access);
}

EXPORTS_TEST(test_exports__a_peer_may_use_what_its_address_and_the_access_allow)
{
	struct vbd_export *export;

	assert_true(vbd_gate_net_parse("192.0.2.0/24", &spec.gate.allow[0]));
	spec.gate.allow_count = 1;
	export = use(svc);
	assert_int_equal(export->state, VBD_EXPORT_READY);
	assert_int_equal(export->secret_bytes, 16);
	assert_ptr_equal(for_peer(svc, "192.0.2.7", VBD_EXPORT_READ), export);
	assert_null(for_peer(svc, "192.0.3.7", VBD_EXPORT_READ));
	assert_null(for_peer(svc, "::1", VBD_EXPORT_READ));
	assert_null(for_peer(svc, "192.0.2.7", VBD_EXPORT_WRITE));
	assert_int_equal(vbd_export_root(export, "x").max_bytes, UINT64_MAX);
}

EXPORTS_TEST(test_exports__a_missing_directory_is_tried_again)
{
	struct vbd_export *export;

	assert_int_equal(rmdir(spec.path), 0);
	export = use(svc);
	assert_int_equal(export->state, VBD_EXPORT_FAILED);
	assert_int_equal(export->error.status, VBD_E_NOT_FOUND);
	assert_null(for_peer(svc, "192.0.2.7", VBD_EXPORT_READ));
	assert_ptr_equal(use(svc), export);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_EXPORT_FAILED), 1);
	assert_int_equal(mkdir(spec.path, 0700), 0);
	assert_ptr_equal(use(svc), export);
	assert_int_equal(export->state, VBD_EXPORT_READY);
	assert_int_equal(export->error.status, VBD_OK);
}

EXPORTS_TEST(test_exports__what_has_not_changed_stays)
{
	struct vbd_export *export = use(svc);
	int fd = export->dir_fd;

	assert_ptr_equal(use(svc), export);
	assert_int_equal(export->dir_fd, fd);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_EXPORT_READY), 1);
	vbd_exports_use(svc->daemon, NULL, 0);
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->exports), 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_EXPORT_DELETED), 1);
}

EXPORTS_TEST(test_exports__a_copy_keeps_the_directory_that_it_began_with)
{
	struct vbd_export *export = use(svc), *after;
	uint64_t id;

	export->users = 1;
	write_secret("another secret of a peer");
	after = use(svc);
	assert_ptr_not_equal(after, export);
	assert_int_equal(after->secret_bytes, 24);
	id = after->object.id;
	spec.max_files = 7;
	assert_int_not_equal(use(svc)->object.id, id);
	assert_int_not_equal(fcntl(export->dir_fd, F_GETFD), -1);
	assert_int_equal(export->secret_bytes, 16);
	export->users = 0;
	assert_true(vbd_object_settle(&export->object));
	assert_int_equal(vbd_registry_count(svc->daemon->exports), 1);
}

EXPORTS_TEST(test_exports__an_export_may_go_while_it_is_opened)
{
	vbd_exports_use(svc->daemon, &spec, 1);
	vbd_exports_use(svc->daemon, &spec, 1);
	assert_true(find(svc)->opening);
	vbd_exports_use(svc->daemon, NULL, 0);
	SVC_UNTIL(svc, !vbd_loop_has_work(svc->daemon->loop));
	vbd_exports_use(svc->daemon, &spec, 1);
}

EXPORTS_TEST(test_exports__some_items_are_refused)
{
	assert_int_equal(vbd_export_check(&spec, &svc->err), VBD_OK);
	write_secret("too short\n");
	assert_int_equal(vbd_export_check(&spec, NULL), VBD_E_BAD_VALUE);
	assert_int_equal(chmod(spec.secret_file, 0644), 0);
	assert_int_equal(vbd_export_check(&spec, NULL), VBD_E_PERMISSION_DENIED);
	spec.secret_file[0] = '\0';
	assert_int_equal(vbd_export_check(&spec, NULL), VBD_E_MISSING_FIELD);
	spec.gate.allow_count = 1;
	assert_int_equal(vbd_export_check(&spec, NULL), VBD_OK);
	spec.access = 0;
	assert_int_equal(vbd_export_check(&spec, NULL), VBD_E_BAD_VALUE);
}
