/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsd.h"

#include "daemon/config/config.h"
#include "daemon/observe/audit.h"
#include "daemon/sdnotify.h"

/* All that a reload reads, before any of it is in force. */
struct job {
	struct vbd_reload *reload;
	struct vbd_config before; /* a copy, since the thread pool must not read the one in force */
	struct vbd_config config;
	struct vbd_caller_list callers;
	struct vbd_config_specs specs;
	struct vbd_tls *tls;
	struct vbd_config_changes changes;
	struct vbd_error err;
};

/* Pool thread. */
static void read_files(void *arg)
{
	struct job *job = arg;
	const struct vbd_reload *reload = job->reload;

	if (reload->read(reload->arg, &job->config, &job->callers, &job->specs, &job->err) !=
		VBD_OK)
		return;
	vbd_config_compare(&job->before, &job->config, &job->changes);
	if (job->before.tls.certificate[0] && job->config.tls.certificate[0])
		(void)!vbd_tls_load(&job->config.tls, &job->tls, &job->err);
}

/* Nothing here fails once the callers are in force. */
static void put_in_force(struct job *job)
{
	struct vbd_reload *reload = job->reload;

	if (vbd_api_use_callers(reload->api, &job->callers, &job->err) != VBD_OK)
		return;
	vbd_config_take(reload->config, &job->config);
	vbd_log_set_level(reload->config->log_level);
	vbd_signals_use_timeout(reload->config->shutdown_timeout_ms);
	vbd_daemon_use_limits(reload->daemon);
	vbd_api_use_specs(reload->api, &job->specs);
	if (job->tls)
		vbd_api_use_tls(reload->api, job->tls);
	job->tls = NULL;
	for (size_t i = 0; i < job->changes.n_left; i++)
		vbd_log(VBD_LOG_WARNING, NULL, "%s has changed; that needs a restart",
			job->changes.left[i]);
}

static void on_files_read(void *arg)
{
	struct job *job = arg;
	struct vbd_reload *reload = job->reload;
	struct vbd_error failed = {0};

	if (!job->err.status)
		put_in_force(job);
	/* A rotation does not wait for a file of settings without a fault. */
	vbd_audit_reopen(reload->daemon->audit);
	/* A device file may have another mode now, and a module be loaded. */
	vbd_hotplug_look(reload->daemon);
	/* The fault is one of a file, and not of the request that asked for the reload. */
	if (job->err.status)
		(void)vbd_error_set(&failed, VBD_E_RELOAD_FAILED, "%s", job->err.text);
	vbd_api_reloaded(reload->api, &job->changes, &failed);
	vbd_sdnotify_ready(failed.status ? "serving; the last reload failed" : "serving");
	vbd_tls_unref(job->tls);
	vbd_caller_list_fini(&job->callers);
	vbd_config_specs_fini(&job->specs);
	free(job);
	reload->running = false;
	if (reload->again)
		vbd_reload_on_signal(reload);
}

enum vbd_status vbd_reload_begin(struct vbd_reload *reload, struct vbd_error *err)
{
	struct job *job;
	enum vbd_status status;

	if (reload->running)
		return vbd_error_set(err, VBD_E_WRONG_STATE, "a reload is under way");
	job = calloc(1, sizeof(*job));
	if (!job)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to reload");
	job->reload = reload;
	job->before = *reload->config;
	vbd_sdnotify_reloading();
	status = vbd_loop_work(
		reload->daemon->loop, VBD_WORK_CONTROL, NULL, read_files, on_files_read, job, err);
	if (status) {
		vbd_sdnotify_ready("serving");
		free(job);
		return status;
	}
	reload->running = true;
	reload->again = false;
	return VBD_OK;
}

void vbd_reload_on_signal(struct vbd_reload *reload)
{
	struct vbd_error err = {0};

	reload->again = reload->running;
	if (!reload->running && vbd_reload_begin(reload, &err) != VBD_OK)
		vbd_api_reloaded(reload->api, NULL, &err);
}
