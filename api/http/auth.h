/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks, and may they: roles, tokens, Host and Origin.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_AUTH_H
#define VBD_API_HTTP_AUTH_H

#include "api/http/role.h"
#include "base/attr.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What is asked for, and what is trusted. All strings outlive the server. */
struct vbd_auth_rules {
	const char *control_token;	  /* NULL: none */
	const char *read_token;		  /* NULL: none */
	const char *const *allowed_hosts; /* names besides the loopback's, without port */
	size_t n_allowed_hosts;
};

/* Where a request came from. */
struct vbd_auth_peer {
	bool unix_socket;
	uid_t uid;		/* unix_socket */
	bool loopback;		/* TCP: the client's address is one of the loopback's */
	const char *local_addr; /* TCP: numeric address that the client connected to */
};

/**
 * vbd_auth_role - the role of a request
 * @authorization: the header's value; NULL if there is none
 * @ret_role:      VBD_ROLE_NONE for a client that shows nothing but should
 *
 * Without tokens a loopback client is in control. With tokens it shows one. On the unix socket root
 * and the daemon's own uid are in control and the others read; a token raises a reader there.
 *
 * Returns VBD_E_UNAUTHORIZED for credentials that are wrong.
 */
enum vbd_status vbd_auth_role(const struct vbd_auth_rules *rules, const struct vbd_auth_peer *peer,
	const char *authorization, enum vbd_role *ret_role, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_auth_host - is this server meant?
 * @host: the Host header; NULL only for HTTP/1.0
 *
 * A page on the net can make its own name point here (DNS rebinding); its requests carry that name.
 * The port does not matter. Returns VBD_E_BAD_HOST. Any host is fine on a unix socket, where no
 * browser comes.
 */
enum vbd_status vbd_auth_host(const struct vbd_auth_rules *rules, const struct vbd_auth_peer *peer,
	const char *host, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_auth_origin - VBD_E_BAD_ORIGIN unless the Origin is absent or says the same as the Host */
enum vbd_status vbd_auth_origin(
	const char *origin, const char *host, struct vbd_error *err) VBD_MUST_CHECK;

#endif
