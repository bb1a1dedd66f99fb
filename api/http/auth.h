/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access control of a request: role, token, Host and Origin.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_AUTH_H
#define VBD_API_HTTP_AUTH_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/core/caller.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The configured tokens and trusted hosts. All strings outlive the server. */
struct vbd_auth_rules {
	struct vbd_callers *callers;	  /* NULL: requests have no caller, in tests */
	const char *control_token;	  /* NULL: none */
	const char *read_token;		  /* NULL: none */
	const char *const *allowed_hosts; /* besides those of the loopback, without port */
	size_t n_allowed_hosts;
};

/* The client that sent a request. */
struct vbd_auth_peer {
	bool unix_socket;
	uid_t uid;		/* unix_socket */
	bool loopback;		/* TCP: the client has a loopback address */
	const char *local_addr; /* TCP: numeric address that the client connected to */
	bool tls;
	/* TLS: names in the client's certificate, which was verified, as in "CN:alice",
	 * "DNS:a.example", "email:alice@a.example", "URI:spiffe://a.example/alice". */
	const char *const *cert_names;
	size_t n_cert_names; /* 0 without a certificate */
};

/**
 * vbd_auth_role - the role of a request
 * @authorization: the header's value; NULL if there is none
 * @ret_role:      VBD_ROLE_NONE for a client that needs a token and sent none
 *
 * A loopback client has the role "control" if no token is configured; else the token decides. On
 * the unix socket root and the daemon's own uid have the role "control", other uids "read" unless
 * their token gives more.
 *
 * Returns VBD_E_UNAUTHORIZED for wrong credentials.
 */
enum vbd_status vbd_auth_role(const struct vbd_auth_rules *rules, const struct vbd_auth_peer *peer,
	const char *authorization, enum vbd_role *ret_role, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_auth_host - refuse the requests of a page whose name resolves to this host (DNS rebinding)
 * @host: the Host header; NULL only for HTTP/1.0
 *
 * The port is ignored. Any host is allowed on a unix socket, which browsers can't connect to.
 * Returns VBD_E_BAD_HOST.
 */
enum vbd_status vbd_auth_host(const struct vbd_auth_rules *rules, const struct vbd_auth_peer *peer,
	const char *host, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_auth_origin - VBD_E_BAD_ORIGIN unless the Origin is absent or names the same host as Host */
enum vbd_status vbd_auth_origin(
	const char *origin, const char *host, struct vbd_error *err) VBD_MUST_CHECK;

#endif
