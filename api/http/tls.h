/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTPS needs this besides HTTP: the credentials of the server, and the certificate of a client.
 *
 * Credentials are loaded together and never change. New files make new credentials, for the
 * handshakes that begin afterwards; a session keeps those that it began with. References are
 * counted, so the last session of old credentials frees them.
 *
 * Control thread, except vbd_tls_load().
 */
#ifndef VBD_API_HTTP_TLS_H
#define VBD_API_HTTP_TLS_H

#include "daemon/config/config.h"

struct gnutls_session_int;
struct vbd_tls;

/* TLS 1.2 and 1.3; GnuTLS itself would allow 1.0 and 1.1 as well. */
#define VBD_TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#define VBD_TLS_NAMES_MAX 16

/* A client in a handshake, and what its certificate says. */
struct vbd_tls_peer {
	struct vbd_tls *tls;
	char *names[VBD_TLS_NAMES_MAX]; /* see struct vbd_auth_peer */
	size_t n_names;
	uint64_t expires_wall_s; /* of the certificate, in seconds since 1970; 0: none */
	char refusal[200];	 /* why the certificate was refused; "" if it was not */
};

/**
 * vbd_tls_load - read certificate, key, CA and CRL
 * @config:  its certificate and key are set
 * @ret_tls: with one reference, which the caller owns
 *
 * Returns VBD_OK; else an error whose pointer is the key ("tls.certificate") and whose text says
 * what is wrong with the file: as vbd_secret_file_read() for the key, VBD_E_BAD_VALUE for the
 * others. Warns of a certificate that is not valid now.
 *
 * Any thread. Blocks on the file system.
 */
enum vbd_status vbd_tls_load(const struct vbd_config_tls *config, struct vbd_tls **ret_tls,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_tls_unref - give a reference back; @tls may be NULL */
void vbd_tls_unref(struct vbd_tls *tls);

/**
 * vbd_tls_peer_begin - set up a session before its handshake
 * @peer: zeroed; lives as long as @session, whose pointer it becomes
 *
 * In the handshake a bad certificate is refused with the alert that fits. Takes a reference.
 */
void vbd_tls_peer_begin(
	struct vbd_tls_peer *peer, struct vbd_tls *tls, struct gnutls_session_int *session);

/** vbd_tls_peer_end - free the names and give the reference back; does nothing if not begun */
void vbd_tls_peer_end(struct vbd_tls_peer *peer);

#endif
