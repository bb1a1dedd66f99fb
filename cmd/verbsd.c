/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbsd: reads the configuration, creates the daemon and the API, and runs the loop until a
 * signal.
 */
#include "api/api.h"

#include "base/clock.h"
#include "base/std_fds.h"
#include "cmd/verbsd.h"
#include "daemon/observe/audit.h"
#include "daemon/observe/health.h"
#include "daemon/sdnotify.h"
#include "daemon/store/keeper.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

/* Random bytes of a token. */
#define TOKEN_BYTES 32

/* Time that clients have to receive their last answers. */
#define API_GRACE_MS 1000

/* Time that the store has to write what the last answers promise. */
#define STORE_GRACE_MS 1000

/* Time after shutdown_timeout_ms for the kernel to release what the process has. */
#define EXIT_MS 20000

struct options {
	const char *config_path;
	bool check;
	bool dump;
};

struct program {
	int argc;
	char **argv;
	const char *config_path;
	struct vbd_config config;
	struct vbd_reload reload;
	struct vbd_caller_list callers;
	struct vbd_config_specs specs;
	struct vbd_daemon *daemon;
	struct vbd_api *api;
	struct vbd_sockets sockets;
	struct vbd_timer *watchdog;
	uint64_t watchdog_ms;
	uint64_t deadline_ns; /* of the stop; 0 before */
	int exit_status;
};

enum {
	OPT_KEY, /* sets a key of the configuration */
	OPT_CONFIG,
	OPT_SET,
	OPT_INSECURE,
	OPT_CHECK,
	OPT_DUMP,
	OPT_MAKE_TOKEN,
	OPT_HELP,
	OPT_VERSION
};

static const struct {
	int what;
	const char *option;
	const char *argument; /* "" for none */
	const char *help;
	const char *key; /* of the configuration */
} settings[] = {
	{OPT_CONFIG, "config", "FILE", "read the configuration from a YAML file", NULL},
	{OPT_KEY, "listen", "ADDR:PORT,...",
		"addresses to serve on, by commas (127.0.0.1:7480; empty: no TCP)", "listen"},
	{OPT_KEY, "unix-socket", "PATH", "unix socket to serve HTTP on", "unix_socket"},
	{OPT_KEY, "control-token-file", "FILE", "file with the token for the control role",
		"control_token_file"},
	{OPT_KEY, "read-token-file", "FILE", "file with the token for the read role",
		"read_token_file"},
	{OPT_KEY, "workers", "N", "number of data worker threads", "workers"},
	{OPT_KEY, "log-level", "LEVEL",
		"log messages of this level and above: error, warning, notice, info or debug",
		"log_level"},
	{OPT_KEY, "log-format", "FORMAT", "format of the log: text, json or journal", "log_format"},
	{OPT_INSECURE, "insecure", "", "serve other hosts without TLS, in clear", NULL},
	{OPT_SET, "set", "KEY=VALUE", "set any key of the configuration file", NULL},
	{OPT_CHECK, "check-config", "", "check the configuration and exit", NULL},
	{OPT_DUMP, "dump-config", "", "print the configuration in force and exit", NULL},
	{OPT_MAKE_TOKEN, "make-token", "", "print a random token and its hash for callers_file",
		NULL},
	{OPT_HELP, "help", "", "print this and exit", NULL},
	{OPT_VERSION, "version", "", "print the version and exit", NULL},
};

static void print_help(void)
{
	(void)printf("Usage: verbsd [OPTION]...\n"
		     "Own RDMA connections and serve them as JSON over HTTP.\n\n");
	for (size_t i = 0; i < VBD_ARRAY_LEN(settings); i++)
		(void)printf("  --%s %-*s %s\n", settings[i].option,
			26 - (int)strlen(settings[i].option), settings[i].argument,
			settings[i].help);
	(void)printf("\nOptions override the file. See verbsd(8) and verbsd.yaml(5).\n");
}

static int make_token(void)
{
	uint8_t random[TOKEN_BYTES], sha256[VBD_SHA256_BYTES];
	char token[2 * TOKEN_BYTES + 1];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return EXIT_FAILURE;
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(token + 2 * i, 3, "%02x", random[i]);
	if (!vbd_token_hash(token, sha256))
		return EXIT_FAILURE;
	(void)printf("token: %s\n", token);
	(void)fputs("token_sha256: ", stdout);
	for (size_t i = 0; i < sizeof(sha256); i++)
		(void)printf("%02x", sha256[i]);
	(void)putchar('\n');
	return EXIT_SUCCESS;
}

/* Returns the exit status after an error that has been printed. */
static int usage_hint(void)
{
	(void)fputs("Try 'verbsd --help'.\n", stderr);
	return EXIT_USAGE;
}

static int usage_error(const char *text)
{
	(void)fprintf(stderr, "verbsd: %s\n", text);
	return usage_hint();
}

/* Returns @status, or that of a failure if not all that was printed was written. */
static int status_of_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	(void)fprintf(stderr, "verbsd: standard output: %s\n", strerror(errno));
	return status ? status : EXIT_FAILURE;
}

static bool is_print_option(int option)
{
	return option == OPT_HELP || option == OPT_VERSION || option == OPT_MAKE_TOKEN;
}

static int print_for_option(int option)
{
	if (option == OPT_MAKE_TOKEN)
		return make_token();
	if (option == OPT_HELP)
		print_help();
	else
		(void)puts("verbsd " VBD_VERSION);
	return EXIT_SUCCESS;
}

static enum vbd_status set_pair(struct vbd_config *config, const char *pair, struct vbd_error *err)
{
	const char *equals = strchr(pair, '=');
	char key[64];

	if (!equals || (size_t)(equals - pair) >= sizeof(key))
		return vbd_error_set(
			err, VBD_E_BAD_VALUE, "--set takes KEY=VALUE, not '%.80s'", pair);
	(void)snprintf(key, sizeof(key), "%.*s", (int)(equals - pair), pair);
	return vbd_config_set(config, key, equals + 1, err);
}

/* Called once for --config and once for all other options, so that the command line overrides the
 * file in any order. */
static int parse_options(
	int argc, char **argv, struct vbd_config *config, struct options *options, bool only_config)
{
	struct option long_options[VBD_ARRAY_LEN(settings) + 1] = {{0}};
	struct vbd_error error = {0};
	enum vbd_status status = VBD_OK;
	int result, row = 0;

	for (size_t i = 0; i < VBD_ARRAY_LEN(settings); i++)
		long_options[i] = (struct option){settings[i].option,
			*settings[i].argument ? required_argument : no_argument, NULL, 0};
	optind = 1;
	while ((result = getopt_long(argc, argv, "", long_options, &row)) != -1) {
		int option = settings[row].what;

		if (result == '?') /* getopt_long(3) has printed the error */
			return usage_hint();
		if (is_print_option(option))
			exit(status_of_output(print_for_option(option)));
		if (option == OPT_CONFIG)
			options->config_path = optarg;
		else if (option == OPT_CHECK)
			options->check = true;
		else if (option == OPT_DUMP)
			options->dump = true;
		else if (option == OPT_INSECURE)
			config->insecure = true;
		else if (!only_config && option == OPT_SET)
			status = set_pair(config, optarg, &error);
		else if (!only_config)
			status = vbd_config_set(config, settings[row].key, optarg, &error);
		if (status)
			return usage_error(error.text);
	}
	return optind < argc ? usage_error("it takes no arguments, only options") : 0;
}

/* The options were parsed before without a fault. */
static enum vbd_status read_config(void *arg, struct vbd_config *config,
	struct vbd_caller_list *callers, struct vbd_config_specs *specs, struct vbd_error *err)
{
	const struct program *program = arg;
	struct options options = {0};
	enum vbd_status status = VBD_OK;

	vbd_config_init(config);
	if (program->config_path)
		status = vbd_config_load(config, program->config_path, specs, err);
	if (!status && parse_options(program->argc, program->argv, config, &options, false))
		status = vbd_error_set(err, VBD_E_INTERNAL, "the options can't be parsed again");
	if (!status)
		status = vbd_config_check(config, err);
	if (!status)
		status = vbd_api_check_specs(specs, err);
	return status ? status : vbd_caller_list_load(config, callers, err);
}

static int read_settings(int argc, char **argv, struct program *program, struct options *options)
{
	struct vbd_error error = {0};
	int rc;

	program->argc = argc;
	program->argv = argv;
	vbd_config_init(&program->config);
	rc = parse_options(argc, argv, &program->config, options, true);
	if (!rc)
		rc = parse_options(argc, argv, &program->config, options, false);
	if (rc)
		return rc;
	program->config_path = options->config_path;
	if (read_config(program, &program->config, &program->callers, &program->specs, &error) ==
		VBD_OK)
		return 0;
	(void)fprintf(stderr, "verbsd: %s\n", error.text);
	vbd_config_specs_fini(&program->specs);
	return EXIT_USAGE;
}

static void on_api_stopped(void *arg)
{
	struct program *program = arg;

	vbd_loop_stop(program->daemon->loop);
}

/* The kernel releases the resources of the process. */
static _Noreturn void leave_at_once(int status)
{
	vbd_log_stop(VBD_LOG_GRACE_MS);
	_exit(status);
}

static unsigned int left_ms(const struct program *program, unsigned int most_ms)
{
	uint64_t now_ns = vbd_clock_mono_ns();
	uint64_t left = 0;

	if (program->deadline_ns > now_ns)
		left = (program->deadline_ns - now_ns) / VBD_NS_PER_MS;
	return left < most_ms ? (unsigned int)left : most_ms;
}

static void on_daemon_stopped(void *arg)
{
	struct program *program = arg;

	if (!vbd_daemon_is_drained(program->daemon))
		program->exit_status = EXIT_FAILURE;
	/* The last answers may promise that something is kept. */
	vbd_keeper_settle(program->daemon, left_ms(program, STORE_GRACE_MS));
	vbd_sockets_remove(&program->sockets);
	vbd_api_stop(program->api, left_ms(program, API_GRACE_MS), on_api_stopped, program);
}

static void on_stop_signal(int signum, void *arg)
{
	struct program *program = arg;

	vbd_log(VBD_LOG_NOTICE, NULL, "signal %d: stopping; a second one stops at once", signum);
	vbd_sdnotify_stopping(program->config.shutdown_timeout_ms + EXIT_MS);
	vbd_daemon_exits(program->daemon);
	program->deadline_ns =
		vbd_clock_mono_ns() + vbd_daemon_stop_time_ms(program->daemon) * VBD_NS_PER_MS;
	vbd_daemon_stop(program->daemon, on_daemon_stopped, program);
}

static void on_reload_signal(void *arg)
{
	struct program *program = arg;

	vbd_reload_on_signal(&program->reload);
}

static enum vbd_status on_reload_request(void *arg, struct vbd_error *err)
{
	struct program *program = arg;

	return vbd_reload_begin(&program->reload, err);
}

static void start_reload(struct program *program)
{
	program->reload = (struct vbd_reload){.config = &program->config,
		.daemon = program->daemon,
		.api = program->api,
		.read = read_config,
		.arg = program};
	vbd_api_on_reload(program->api, on_reload_request, program);
}

static void on_watchdog(void *arg)
{
	struct program *program = arg;
	char detail[80];

	if (vbd_health_workers(program->daemon, detail, sizeof(detail)))
		vbd_sdnotify_alive();
	vbd_timer_set(program->watchdog, program->watchdog_ms);
}

static enum vbd_status start_watchdog(struct program *program, struct vbd_error *err)
{
	enum vbd_status status;

	program->watchdog_ms = vbd_sdnotify_watchdog_ms();
	if (!program->watchdog_ms)
		return VBD_OK;
	status = vbd_timer_create(
		program->daemon->loop, on_watchdog, program, &program->watchdog, err);
	if (!status)
		vbd_timer_set(program->watchdog, program->watchdog_ms);
	return status;
}

static enum vbd_status start_api(struct program *program, struct vbd_error *err)
{
	struct vbd_sockets *sockets = &program->sockets;
	enum vbd_status status = vbd_sockets_open(&program->config, sockets, err);

	if (status != VBD_OK)
		return status;
	status = vbd_api_create(program->daemon, &program->callers, sockets->items, sockets->count,
		&program->api, err);
	if (status != VBD_OK)
		vbd_sockets_close(sockets);
	return status;
}

static enum vbd_status start_daemon(struct program *program, struct vbd_error *err)
{
	enum vbd_status status;

	status = vbd_daemon_create(&program->config, &program->daemon, err);
	if (!status)
		status = start_api(program, err);
	if (!status)
		status = vbd_signals_watch(
			program->daemon->loop, on_stop_signal, on_reload_signal, program, err);
	if (!status)
		status = start_watchdog(program, err);
	if (status)
		return status;
	start_reload(program);
	vbd_daemon_take_held(program->daemon);
	vbd_api_keep(program->api, &program->specs);
	return VBD_OK;
}

/* With EXIT_USAGE systemd does not start verbsd again: the next start would fail alike. */
static int exit_status_of_start(enum vbd_status status)
{
	bool refused = status == VBD_E_PERMISSION_DENIED || status == VBD_E_BAD_VALUE ||
		       status == VBD_E_NOT_FOUND;

	return refused ? EXIT_USAGE : EXIT_FAILURE;
}

/* Returns an exit status. */
static int run_daemon(struct program *program)
{
	struct vbd_error error = {0};
	enum vbd_status status = vbd_log_start(&error);

	if (!status)
		status = vbd_signals_start(&error);
	vbd_signals_use_timeout(program->config.shutdown_timeout_ms);
	if (!status)
		status = start_daemon(program, &error);
	if (status) {
		vbd_log(VBD_LOG_ERROR, NULL, "can't start: %s", error.text);
		return exit_status_of_start(status);
	}
	vbd_daemon_announce(program->daemon);
	vbd_sdnotify_ready("serving");
	vbd_loop_run(program->daemon->loop);
	return program->exit_status;
}

/* A name that is being resolved can't be cancelled, and nobody waits for it. The kernel frees what
 * is left to it. */
static bool may_destroy(const struct vbd_daemon *daemon)
{
	return vbd_daemon_is_drained(daemon) && !vbd_daemon_leaves(daemon) &&
	       !vbd_loop_has_work(daemon->loop);
}

/* Returns an exit status. */
static int run_and_clean_up(struct program *program)
{
	int status;

	vbd_log_setup(program->config.log_level, program->config.log_format);
	vbd_descriptors_raise(&program->config);
	status = run_daemon(program);
	vbd_signals_unwatch();
	vbd_sockets_remove(&program->sockets);
	if (program->daemon && !may_destroy(program->daemon)) {
		vbd_audit_destroy(program->daemon->audit);
		vbd_keeper_destroy(program->daemon);
		leave_at_once(status);
	}
	vbd_api_destroy(program->api);
	vbd_caller_list_fini(&program->callers);
	vbd_config_specs_fini(&program->specs);
	vbd_timer_destroy(program->watchdog);
	vbd_daemon_destroy(program->daemon);
	vbd_signals_ignore();
	vbd_log_stop(VBD_LOG_GRACE_MS);
	return status;
}

int main(int argc, char **argv)
{
	struct program program = {0};
	struct options options = {0};
	int rc;

	vbd_signals_hold();
	vbd_std_fds_open();
	/* A client, or a reader of the log, that leaves during a write must not end the daemon. */
	(void)signal(SIGPIPE, SIG_IGN);
	/* Nor must a file that has reached its limit. */
	(void)signal(SIGXFSZ, SIG_IGN);
	/* Else the library of mlx5 copies small results into buffers by plain accesses: mlx5dv(7).
	 * See vbd_mem_read(). */
	(void)setenv("MLX5_SCATTER_TO_CQE", "0", 1);
	rc = read_settings(argc, argv, &program, &options);
	if (rc)
		return rc;
	if (options.dump)
		vbd_config_dump(&program.config, stdout);
	if (options.check || options.dump) {
		vbd_caller_list_fini(&program.callers);
		vbd_config_specs_fini(&program.specs);
	}
	if (options.check)
		return status_of_output(vbd_check_start(&program.config));
	if (options.dump)
		return status_of_output(EXIT_SUCCESS);
	return run_and_clean_up(&program);
}
