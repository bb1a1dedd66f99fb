/* SPDX-License-Identifier: Apache-2.0 */
/* A reload does its steps in order, and leaves all as it was when a file has a fault. */
#include "tests/unit/unit.h"

#include "api/http/tls.h"
#include "base/log.h"
#include "cmd/verbsd.h"
#include "daemon/daemon.h"
#include "daemon/observe/audit.h"
#include "daemon/sdnotify.h"
#include "tests/fake/provider_fake.h"

static struct {
	struct vbd_loop *loop;
	struct vbd_daemon *daemon;
	struct vbd_config config;
	struct vbd_reload reload;
	char journal[2048]; /* the calls, each with a space behind it */
	bool has_certificate;
	enum vbd_status read, callers, tls, work; /* results of the calls */
	bool leaves;				  /* keys that need a restart */
	unsigned int tls_unrefs;
	char log[512];
} test;

static void note(const char *call)
{
	size_t used = strlen(test.journal);

	(void)snprintf(test.journal + used, sizeof(test.journal) - used, "%s ", call);
}

static struct vbd_tls *some_tls(void)
{
	return (struct vbd_tls *)&test.tls_unrefs;
}

/* --- what a reload calls --------------------------------------------------------------------- */

enum vbd_status __wrap_vbd_api_use_callers(
	struct vbd_api *api, struct vbd_caller_list *callers, struct vbd_error *err);
void __wrap_vbd_api_use_specs(struct vbd_api *api, const struct vbd_config_specs *specs);
void __wrap_vbd_api_use_tls(struct vbd_api *api, struct vbd_tls *tls);
void __wrap_vbd_api_reloaded(
	struct vbd_api *api, const struct vbd_config_changes *changes, const struct vbd_error *err);
void __wrap_vbd_daemon_use_limits(struct vbd_daemon *daemon);
void __wrap_vbd_audit_reopen(struct vbd_audit *audit);
void __wrap_vbd_hotplug_look(struct vbd_daemon *daemon);
void __wrap_vbd_sdnotify_ready(const char *status);
void __wrap_vbd_sdnotify_reloading(void);
void __wrap_vbd_config_take(struct vbd_config *config, const struct vbd_config *from);
void __wrap_vbd_config_compare(const struct vbd_config *before, const struct vbd_config *now,
	struct vbd_config_changes *ret_changes);
enum vbd_status __wrap_vbd_tls_load(
	const struct vbd_config_tls *config, struct vbd_tls **ret_tls, struct vbd_error *err);
void __wrap_vbd_tls_unref(struct vbd_tls *tls);
enum vbd_status __real_vbd_loop_work(struct vbd_loop *loop, enum vbd_work kind, const void *owner,
	void (*work)(void *arg), void (*done)(void *arg), void *arg, struct vbd_error *err);
enum vbd_status __wrap_vbd_loop_work(struct vbd_loop *loop, enum vbd_work kind, const void *owner,
	void (*work)(void *arg), void (*done)(void *arg), void *arg, struct vbd_error *err);

enum vbd_status __wrap_vbd_api_use_callers(
	struct vbd_api *api, struct vbd_caller_list *callers, struct vbd_error *err)
{
	(void)api;
	(void)callers;
	note("callers");
	return test.callers ? vbd_error_set(err, test.callers, "no callers") : VBD_OK;
}

void __wrap_vbd_api_use_specs(struct vbd_api *api, const struct vbd_config_specs *specs)
{
	(void)api;
	(void)specs;
	note("specs");
}

void __wrap_vbd_api_use_tls(struct vbd_api *api, struct vbd_tls *tls)
{
	(void)api;
	assert_ptr_equal(tls, some_tls());
	note("tls");
}

void __wrap_vbd_api_reloaded(
	struct vbd_api *api, const struct vbd_config_changes *changes, const struct vbd_error *err)
{
	char text[sizeof(err->text) + 80];

	(void)api;
	(void)snprintf(text, sizeof(text), "reloaded(%s%s%s)", changes ? "" : "nothing,",
		err->status ? vbd_status_code(err->status) : "", err->text);
	note(text);
}

void __wrap_vbd_daemon_use_limits(struct vbd_daemon *daemon)
{
	assert_ptr_equal(daemon, test.daemon);
	note("daemon-limits");
}

void __wrap_vbd_audit_reopen(struct vbd_audit *audit)
{
	(void)audit;
	note("reopen");
}

void __wrap_vbd_hotplug_look(struct vbd_daemon *daemon)
{
	(void)daemon;
	note("look");
}

void __wrap_vbd_sdnotify_ready(const char *status)
{
	char text[80];

	(void)snprintf(text, sizeof(text), "ready(%s)", status);
	note(text);
}

void __wrap_vbd_sdnotify_reloading(void)
{
	note("reloading");
}

void __wrap_vbd_config_take(struct vbd_config *config, const struct vbd_config *from)
{
	assert_ptr_equal(config, &test.config);
	(void)from;
	note("take");
}

void __wrap_vbd_config_compare(const struct vbd_config *before, const struct vbd_config *now,
	struct vbd_config_changes *ret_changes)
{
	(void)before;
	(void)now;
	note("compare");
	if (!test.leaves)
		return;
	ret_changes->left[ret_changes->n_left++] = "workers";
	ret_changes->left[ret_changes->n_left++] = "listen";
}

enum vbd_status __wrap_vbd_tls_load(
	const struct vbd_config_tls *config, struct vbd_tls **ret_tls, struct vbd_error *err)
{
	assert_string_equal(config->certificate, "new");
	note("load");
	if (test.tls)
		return vbd_error_set(err, test.tls, "no certificate");
	*ret_tls = some_tls();
	return VBD_OK;
}

void __wrap_vbd_tls_unref(struct vbd_tls *tls)
{
	test.tls_unrefs += tls != NULL;
}

enum vbd_status __wrap_vbd_loop_work(struct vbd_loop *loop, enum vbd_work kind, const void *owner,
	void (*work)(void *arg), void (*done)(void *arg), void *arg, struct vbd_error *err)
{
	if (test.work)
		return vbd_error_set(err, test.work, "no thread");
	return __real_vbd_loop_work(loop, kind, owner, work, done, arg, err);
}

static enum vbd_status read_files(void *arg, struct vbd_config *config,
	struct vbd_caller_list *callers, struct vbd_config_specs *specs, struct vbd_error *err)
{
	(void)callers;
	(void)specs;
	assert_ptr_equal(arg, &test);
	note("read");
	if (test.has_certificate)
		(void)snprintf(config->tls.certificate, sizeof(config->tls.certificate), "new");
	return test.read ? vbd_error_set(err, test.read, "line 3: no") : VBD_OK;
}

/* --- the tests ------------------------------------------------------------------------------- */

static void on_line(enum vbd_log_level level, const char *object, const char *text, void *arg)
{
	size_t used = strlen(test.log);

	(void)object;
	(void)arg;
	if (level == VBD_LOG_WARNING)
		(void)snprintf(test.log + used, sizeof(test.log) - used, "%s\n", text);
}

static int set_up(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	test.daemon = calloc(1, sizeof(*test.daemon));
	if (!test.daemon || vbd_loop_create(&test.loop, NULL) != VBD_OK)
		return -1;
	test.daemon->loop = test.loop;
	test.config.log_level = VBD_LOG_WARNING;
	test.reload = (struct vbd_reload){
		.config = &test.config, .daemon = test.daemon, .read = read_files, .arg = &test};
	vbd_log_set_observer(on_line, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vbd_log_set_observer(NULL, NULL);
	vbd_loop_destroy(test.loop);
	free(test.daemon);
	return 0;
}

#define RELOAD_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

/* Runs the reloads that have begun, and those that they begin. */
static void settle(void)
{
	while (test.reload.running)
		vbd_loop_turn(test.loop, true);
}

static void reloads(const char *journal)
{
	struct vbd_error err = {0};

	test.journal[0] = '\0';
	assert_int_equal(vbd_reload_begin(&test.reload, &err), VBD_OK);
	settle();
	assert_string_equal(test.journal, journal);
}

RELOAD_TEST(test_reload__all_is_read_before_anything_is_in_force)
{
	reloads("reloading read compare callers take daemon-limits specs reopen look "
		"reloaded() ready(serving) ");
	assert_string_equal(test.log, "");
}

RELOAD_TEST(test_reload__a_fault_leaves_all_as_it_was)
{
	test.read = VBD_E_BAD_VALUE;
	reloads("reloading read reopen look reloaded(reload_failedline 3: no) "
		"ready(serving; the last reload failed) ");
	test.read = VBD_OK;
	test.callers = VBD_E_NO_MEMORY;
	reloads("reloading read compare callers reopen look reloaded(reload_failedno callers) "
		"ready(serving; the last reload failed) ");
}

RELOAD_TEST(test_reload__certificates_are_loaded_if_there_were_some)
{
	test.has_certificate = true;
	reloads("reloading read compare callers take daemon-limits specs reopen look "
		"reloaded() ready(serving) ");
	(void)snprintf(test.config.tls.certificate, sizeof(test.config.tls.certificate), "old");
	reloads("reloading read compare load callers take daemon-limits specs tls "
		"reopen look reloaded() ready(serving) ");
	assert_int_equal(test.tls_unrefs, 0); /* the API has it */
	test.callers = VBD_E_NO_MEMORY;
	reloads("reloading read compare load callers reopen look reloaded(reload_failedno callers) "
		"ready(serving; the last reload failed) ");
	assert_int_equal(test.tls_unrefs, 1);
	test.callers = VBD_OK;
	test.tls = VBD_E_BAD_VALUE;
	reloads("reloading read compare load reopen look reloaded(reload_failedno certificate) "
		"ready(serving; the last reload failed) ");
	test.has_certificate = false;
	reloads("reloading read compare callers take daemon-limits specs reopen look "
		"reloaded() ready(serving) ");
}

RELOAD_TEST(test_reload__keys_that_need_a_restart_are_warned_of)
{
	test.leaves = true;
	reloads("reloading read compare callers take daemon-limits specs reopen look "
		"reloaded() ready(serving) ");
	assert_string_equal(test.log, "workers has changed; that needs a restart\n"
				      "listen has changed; that needs a restart\n");
	assert_false(vbd_log_enabled(VBD_LOG_NOTICE));
	assert_true(vbd_log_enabled(VBD_LOG_WARNING));
}

static unsigned int reads(void)
{
	unsigned int count = 0;

	for (const char *at = test.journal; (at = strstr(at, " read ")); at++)
		count++;
	return count;
}

RELOAD_TEST(test_reload__one_runs_at_a_time_and_signals_are_not_lost)
{
	struct vbd_error err = {0};

	vbd_reload_on_signal(&test.reload);
	assert_int_equal(vbd_reload_begin(&test.reload, &err), VBD_E_WRONG_STATE);
	assert_string_equal(err.text, "a reload is under way");
	settle();
	assert_int_equal(reads(), 1);
	vbd_reload_on_signal(&test.reload);
	vbd_reload_on_signal(&test.reload);
	vbd_reload_on_signal(&test.reload);
	settle();
	assert_int_equal(reads(), 3);
}

RELOAD_TEST(test_reload__one_that_can_not_begin_is_told)
{
	struct vbd_error err = {0};

	test.work = VBD_E_NO_MEMORY;
	assert_int_equal(vbd_reload_begin(&test.reload, &err), VBD_E_NO_MEMORY);
	assert_false(test.reload.running);
	assert_string_equal(test.journal, "reloading ready(serving) ");
	test.journal[0] = '\0';
	vbd_reload_on_signal(&test.reload);
	assert_string_equal(
		test.journal, "reloading ready(serving) reloaded(nothing,no_memoryno thread) ");
	test.journal[0] = '\0';
	fake_memory_fail_nth(1);
	vbd_reload_on_signal(&test.reload);
	fake_memory_fail_nth(0);
	assert_string_equal(test.journal, "reloaded(nothing,no_memoryno memory to reload) ");
}
