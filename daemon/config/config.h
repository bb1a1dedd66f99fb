/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: defaults, overridden by a YAML file, overridden by single settings (the
 * command line). Every value is set through one table of keys and one function.
 *
 * Written before any thread starts, read-only afterwards. May block on the file system.
 */
#ifndef VBD_DAEMON_CONFIG_CONFIG_H
#define VBD_DAEMON_CONFIG_CONFIG_H

#include "base/attr.h"
#include "base/cpus.h"
#include "base/error.h"
#include "base/log.h"

#include <sys/socket.h>
#include <sys/types.h>

#define VBD_TOKEN_MIN_CHARS   16
#define VBD_TOKEN_MAX_CHARS   512
#define VBD_ALLOWED_HOSTS_MAX 16
#define VBD_HOST_BYTES	      256
#define VBD_LISTEN_MAX	      8
#define VBD_PATH_MAX_BYTES    1024

#define VBD_TIB (UINT64_C(1) << 40)

/* X(name, default, min, max): how many records are kept; the oldest are dropped first. In a file
 * the names are keys below `records:`. */
#define VBD_RECORDS_MAP(X)                                                                        \
	X(ended, "1000", 0, 1000000) /* ended connections, ended transfers, etc., of each kind */ \
	X(messages_bytes, "67108864", 0,                                                          \
		VBD_TIB)		 /* unread messages of ended connections and endpoints */ \
	X(events, "16384", 16, 16777216) /* their memory is allocated at the start */

/* X(name, default, min, max): upper limits; a request that would exceed one is refused. In
 * a file the names are keys below `limits:`. */
#define VBD_LIMIT_MAP(X)                                                             \
	X(connections, "16384", 1, 1000000)	  /* not ended */                    \
	X(connections_reserved, "64", 0, 1000000) /* not for listeners */            \
	X(listeners, "256", 1, 65536)                                                \
	X(buffers, "4096", 1, 1000000)                                               \
	X(buffers_bytes, "68719476736", 4096, 1024 * VBD_TIB) /* of all buffers */   \
	/* memory of all receives, and thereby of the inboxes of open connections */ \
	X(receives_bytes, "4294967296", 4096, 1024 * VBD_TIB)                        \
	X(transfers, "10000", 1, 1000000) /* not ended */                            \
	X(objects, "10000", 1, 1000000)	  /* of each other kind */                   \
	X(http_connections, "256", 8, 65536)                                         \
	X(http_body_bytes, "262144", 1024, 16777216) /* of a JSON body */

#define VBD_CONFIG_MEMBER(name, text, min, max) uint64_t name;

struct vbd_config_records {
	VBD_RECORDS_MAP(VBD_CONFIG_MEMBER)
};

struct vbd_config_limits {
	VBD_LIMIT_MAP(VBD_CONFIG_MEMBER)
};

#undef VBD_CONFIG_MEMBER

/* The protocol that an address of `listen` names. */
enum vbd_config_scheme {
	VBD_CONFIG_SCHEME_DEFAULT, /* none: http on a loopback, https elsewhere */
	VBD_CONFIG_SCHEME_HTTP,
	VBD_CONFIG_SCHEME_HTTPS,
};

/* An address to serve the API on. */
struct vbd_config_listen {
	char text[80]; /* as configured: "127.0.0.1:7480", "https://[::1]:7480" */
	enum vbd_config_scheme scheme;
	struct sockaddr_storage addr;
	socklen_t addr_bytes;
};

/* Must a client that connects by TLS prove who it is? */
enum vbd_config_client_certificate {
	VBD_CLIENT_CERTIFICATE_NONE,	 /* none is asked for */
	VBD_CLIENT_CERTIFICATE_OPTIONAL, /* the client may have none; a bad one is refused */
	VBD_CLIENT_CERTIFICATE_REQUIRED,
};

/* Files in PEM; "" for none. */
struct vbd_config_tls {
	char certificate[VBD_PATH_MAX_BYTES]; /* the server's, then those of its issuers */
	char key[VBD_PATH_MAX_BYTES];
	char client_ca[VBD_PATH_MAX_BYTES];
	char client_crl[VBD_PATH_MAX_BYTES];
	enum vbd_config_client_certificate client_certificate;
};

struct vbd_config {
	struct vbd_config_listen listen[VBD_LISTEN_MAX];
	size_t listen_count;	    /* 0 for no TCP */
	char unix_socket[108];	    /* path; "" for none */
	char unix_socket_group[64]; /* "" for that of the process */
	uint64_t unix_socket_mode;  /* as of chmod(2) */
	char control_token_file[1024];
	char read_token_file[1024];
	char callers_file[1024];
	char control_group[64]; /* of unix users; "" for none */
	char operate_group[64];
	char read_group[64];
	char allowed_hosts[VBD_ALLOWED_HOSTS_MAX][VBD_HOST_BYTES];
	size_t allowed_hosts_count;
	uint64_t workers;
	struct vbd_cpus cpu_affinity; /* of the workers, one each, in turn; none: any */
	uint64_t default_cqe;	      /* completions in a CQ whose creator does not say how many */
	uint64_t connects_in_flight;  /* at a time, of connections made together */
	enum vbd_log_level log_level;
	enum vbd_log_format log_format;
	char audit_file[VBD_PATH_MAX_BYTES]; /* "" for none */
	char state_dir[VBD_PATH_MAX_BYTES];  /* "" for none */
	uint64_t drain_timeout_ms;	     /* until a QP is flushed */
	uint64_t shutdown_timeout_ms;	     /* from SIGTERM until all objects have ended */
	struct vbd_config_records records;
	struct vbd_config_limits limits;
	struct vbd_config_tls tls;
	bool insecure;	      /* plain HTTP is served to other hosts */
	bool fault_injection; /* clients may have things go wrong, in tests */
	bool peer_reports; /* verbsd and the verbsd of a peer tell each other why connections end */

	/* Found by vbd_config_check(); (gid_t)-1 without unix_socket_group */
	gid_t unix_socket_gid;
	/* Read by vbd_config_check(); "" for none. Never shown. */
	char control_token[VBD_TOKEN_MAX_CHARS + 1];
	char read_token[VBD_TOKEN_MAX_CHARS + 1];
};

/** vbd_config_init - set the defaults */
void vbd_config_init(struct vbd_config *ret_config);

/**
 * vbd_config_set - set one key
 * @key:   as in the file: "log_level", "limits.buffers"
 * @value: as in the file, so "16M" for a key in bytes and "10s" for one in ms; for listen and
 *         allowed_hosts separated by commas
 *
 * Returns VBD_OK; VBD_E_UNKNOWN_FIELD, _WRONG_TYPE, _OUT_OF_RANGE, _BAD_VALUE or _TOO_LONG. The
 * error's pointer is the key, and its text begins with the key.
 */
enum vbd_status vbd_config_set(struct vbd_config *config, const char *key, const char *value,
	struct vbd_error *err) VBD_MUST_CHECK;

struct vbd_config_specs;

/**
 * vbd_config_load - set the keys of a YAML file, and read its lists of objects
 * @path:      64 KiB at most
 * @ret_specs: the caller's, ended by vbd_config_specs_fini(); unchanged after an error, as @config
 *
 * Returns as vbd_config_set(); VBD_E_NOT_FOUND or _PERMISSION_DENIED for the file as a whole;
 * VBD_E_WRONG_TYPE for a list of objects that is no list of mappings; VBD_E_TOO_LONG for more than
 * VBD_SPECS_MAX objects; VBD_E_BAD_VALUE for text that is not YAML, or not of the right shape. The
 * error's text begins with "path:line: ", where line is the first line of the first bad value or
 * key.
 */
enum vbd_status vbd_config_load(struct vbd_config *config, const char *path,
	struct vbd_config_specs *ret_specs, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_config_check - check that the settings are safe and complete, and read the token files
 *
 * Without state_dir it is the directory that systemd gives to the service, if there is one.
 *
 * Refuses, naming the key: (1) an unknown group; (2) processors that this process may not run on;
 * (3) a state_dir that is no absolute path; (4) a TCP address that vbd_config_check_addr() refuses;
 * (5) a token that vbd_secret_file_read() refuses, that is not 16 to 512 printable ASCII characters
 * without spaces, or that is the same for both roles.
 */
enum vbd_status vbd_config_check(struct vbd_config *config, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_config_check_addr - may the API be served on this address, and by TLS?
 * @addr:    the address to listen on, or of an inherited socket; AF_UNIX is always allowed
 * @scheme:  VBD_CONFIG_SCHEME_DEFAULT for an inherited socket
 * @ret_tls: set on success
 *
 * Other hosts are served by TLS only, unless `insecure` is set, and need a way to prove who they
 * are.
 *
 * Returns VBD_OK, or VBD_E_PERMISSION_DENIED, whose text names the keys that are missing.
 */
enum vbd_status vbd_config_check_addr(const struct vbd_config *config, const struct sockaddr *addr,
	enum vbd_config_scheme scheme, bool *ret_tls, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_config_is_loopback - only this host reaches the address, also one of AF_UNIX */
bool vbd_config_is_loopback(const struct sockaddr *addr);

/** vbd_config_dump - write every key with its value as YAML for vbd_config_load(); no tokens */
void vbd_config_dump(const struct vbd_config *config, FILE *out);

/** vbd_descriptors_raise - raise the soft limit to the hard one; warn if the limits of the
 * configuration need more */
void vbd_descriptors_raise(const struct vbd_config *config);

/**
 * vbd_descriptors_for_http - the number of HTTP connections that may be open
 *
 * limits.http_connections, or less, so that RDMA objects have descriptors whatever the clients do.
 */
uint64_t vbd_descriptors_for_http(const struct vbd_config *config);

/* --- the keys that may change while the daemon runs ------------------------------------------ */

/* At least the number of keys. */
#define VBD_CONFIG_CHANGES_MAX 96

/* Keys whose values differ, as static strings. */
struct vbd_config_changes {
	const char *taken[VBD_CONFIG_CHANGES_MAX]; /* the running daemon can apply them */
	size_t n_taken;
	const char *left[VBD_CONFIG_CHANGES_MAX]; /* keys that need a restart */
	size_t n_left;
};

/** vbd_config_compare - find the keys that differ between two configurations; any thread that may
 * read both */
void vbd_config_compare(const struct vbd_config *config, const struct vbd_config *fresh,
	struct vbd_config_changes *ret_changes);

/** vbd_config_take - copy the keys of @fresh that may change while the daemon runs, and its tokens;
 * control thread */
void vbd_config_take(struct vbd_config *config, const struct vbd_config *fresh);

/* --- the lists `listeners`, `buffers` and `connections` of the file: objects that verbsd keeps. An
 * item has the members of the request that makes such an object, in YAML; here it becomes JSON, for
 * the decoder of that request. An item of `exports` is read alike. A number of a member in bytes or
 * in ms may have a unit, as other keys of the file. ---------------------------------------------
 */

/* Items of all lists together. */
#define VBD_SPECS_MAX 1024

/* The keys of the lists. */
#define VBD_SPEC_LISTENERS   "listeners"
#define VBD_SPEC_BUFFERS     "buffers"
#define VBD_SPEC_CONNECTIONS "connections"
#define VBD_SPEC_EXPORTS     "exports" /* is not kept, but there as long as the file lists it */

struct vbd_config_spec {
	const char *list;  /* VBD_SPEC_LISTENERS, etc. */
	char *body;	   /* JSON: an object */
	unsigned int line; /* of the file */
};

/* Zeros: an empty list. */
struct vbd_config_specs {
	struct vbd_config_spec *items;
	size_t count;
	char path[256]; /* of the file, for messages */
};

/** vbd_config_specs_fini - free all; a list of zeros is fine */
void vbd_config_specs_fini(struct vbd_config_specs *specs);

/* --- small files that hold secrets: tokens, keys. Such a file is of use only while nobody else can
 * change it, and no stranger can read it. ----------------------------------------------------- */

/**
 * vbd_secret_file_read - read a whole file that only its owner can change
 * @path:	any length; the error's text has its first 100 characters
 * @text:	filled in with the file's bytes and a terminating 0; all zeros after an error
 * @text_bytes: size of @text; a file of @text_bytes or more is refused
 * @ret_len:	length in bytes, without the 0; the file may contain zeros itself
 *
 * The group may read: a credential of systemd has mode 0440 and an access list that names one user.
 *
 * Returns VBD_OK; VBD_E_NOT_FOUND; VBD_E_PERMISSION_DENIED if (1) the file can't be opened, (2)
 * others can read or change it, (3) the group can change it, or (4) it belongs neither to root nor
 * to the daemon's own user; VBD_E_BAD_VALUE for anything but a regular file; VBD_E_TOO_LONG. The
 * text of @err begins with the path.
 *
 * Any thread. Blocks on the file system, but never on a FIFO or a terminal.
 */
enum vbd_status vbd_secret_file_read(const char *path, char *text, size_t text_bytes,
	size_t *ret_len, struct vbd_error *err) VBD_MUST_CHECK;

#endif
