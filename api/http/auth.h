/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access control of a request: role, token, Host and Origin.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_AUTH_H
#define VBD_API_HTTP_AUTH_H

#include "daemon/core/caller.h"

#include <sys/types.h>

struct vbd_credentials;

/* The callers and the trusted hosts. All of it outlives the server. */
struct vbd_auth_rules {
	const struct vbd_credentials *credentials;
	const char *const *allowed_hosts; /* besides those of the loopback, without port */
	size_t n_allowed_hosts;
};

/* The client that sent a request. */
struct vbd_auth_peer {
	bool unix_socket;
	uid_t uid;	   /* unix_socket */
	const gid_t *gids; /* unix_socket: of the client's process, the primary one first */
	size_t n_gids;
	bool loopback;		/* TCP: the client has a loopback address */
	const char *local_addr; /* TCP: numeric address that the client connected to */
	bool tls;
	/* TLS: names in the client's certificate, which was verified, as in "CN:alice",
	 * "DNS:a.example", "email:alice@a.example", "URI:spiffe://a.example/alice". */
	const char *const *cert_names;
	size_t n_cert_names;	      /* 0 without a certificate */
	uint64_t cert_expires_wall_s; /* in seconds since 1970; 0 if that is not known */
};

/* X(SYMBOL, name): the means by which a client has shown who it is */
#define VBD_AUTH_MAP(X)                                                     \
	X(VBD_AUTH_TOKEN, "token")                                          \
	X(VBD_AUTH_CERTIFICATE, "certificate")                              \
	X(VBD_AUTH_UNIX_SOCKET, "unix_socket") /* the uid of its process */ \
	X(VBD_AUTH_LOOPBACK, "loopback")       /* nothing: everybody there is one */

enum vbd_auth_means { VBD_AUTH_MAP(VBD_ENUM_ROW) VBD_AUTH_COUNT };

/** vbd_auth_means_name - "certificate" */
const char *vbd_auth_means_name(enum vbd_auth_means means);

/* The caller that a client stands for, and the means by which it is known. */
struct vbd_identity {
	struct vbd_caller *caller; /* a reference; NULL: nobody, and the rest is unset */
	enum vbd_auth_means means;
	const char *cert_name;	 /* of VBD_AUTH_CERTIFICATE: the peer's name that counts */
	uint64_t expires_wall_s; /* of the token or certificate; 0: it does not, or there is none */
};

/**
 * vbd_auth_caller - find the caller of a request
 * @authorization: the header's value; NULL if there is none
 * @now_wall_s:    seconds since 1970, for tokens and certificates that expire
 * @ret_identity:  of nobody for a client that needs a token and sent none
 *
 * A token decides, if there are tokens; else the user on a unix socket, or a name in the client's
 * certificate. A client by loopback is "control" if neither tokens nor certificates stand for
 * callers.
 *
 * Returns VBD_E_UNAUTHORIZED for wrong credentials.
 */
enum vbd_status vbd_auth_caller(const struct vbd_auth_rules *rules,
	const struct vbd_auth_peer *peer, const char *authorization, uint64_t now_wall_s,
	struct vbd_identity *ret_identity, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_auth_host_form - VBD_E_MALFORMED_REQUEST for a Host that is no host, with or without a port
 * @host: as below; it may be empty on a unix socket
 */
enum vbd_status vbd_auth_host_form(
	const struct vbd_auth_peer *peer, const char *host, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_auth_scheme - VBD_E_BAD_HOST unless the scheme of a target, "http" or "https", is that of
 * the connection (RFC 9110, 7.4) */
enum vbd_status vbd_auth_scheme(
	const struct vbd_auth_peer *peer, const char *scheme, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_auth_host - refuse the requests of a page whose name resolves to this host (DNS rebinding)
 * @host: the Host header; NULL only for HTTP/1.0
 *
 * The port is ignored. Any host is allowed on a unix socket, which browsers can't connect to.
 * Returns VBD_E_BAD_HOST, and as vbd_auth_host_form().
 */
enum vbd_status vbd_auth_host(const struct vbd_auth_rules *rules, const struct vbd_auth_peer *peer,
	const char *host, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_auth_origin - VBD_E_BAD_ORIGIN for a page of another site
 *
 * A page of this site has the same host and port in Origin as in Host, and over TLS the scheme
 * https; or, since a proxy may send a Host of its own, a host of `allowed_hosts` without a port.
 */
enum vbd_status vbd_auth_origin(const struct vbd_auth_rules *rules, bool tls, const char *origin,
	const char *host, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_credentials_create - the credentials of a list
 * @callers: where the callers live; must outlive the credentials
 * @list:    taken over on success, and zeroed
 *
 * The callers have their roles and quotas by vbd_credentials_use() only.
 */
enum vbd_status vbd_credentials_create(struct vbd_callers *callers, struct vbd_caller_list *list,
	struct vbd_credentials **ret_credentials, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_credentials_use - give the callers their roles and quotas; those of @before that are not in
 * @credentials lose their roles. @before may be NULL. Each caller of both tells its change. */
void vbd_credentials_use(
	const struct vbd_credentials *credentials, const struct vbd_credentials *before);

/** vbd_credentials_at - the caller of an entry, in the order of the list; NULL behind the last */
const struct vbd_caller *vbd_credentials_at(const struct vbd_credentials *credentials, size_t at);

/** vbd_credentials_destroy - @credentials may be NULL */
void vbd_credentials_destroy(struct vbd_credentials *credentials);

#endif
