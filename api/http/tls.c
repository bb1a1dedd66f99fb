/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/tls.h"

#include "base/text.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <sys/stat.h>
#include <time.h>

#define KEY_MAX_BYTES  16384
#define FILE_MAX_BYTES ((off_t)1 << 20)
#define NAME_MAX_BYTES 256

/* X.680, 8.4 */
#define ASN1_UTF8_STRING      12
#define ASN1_PRINTABLE_STRING 19

struct vbd_tls {
	unsigned int refs;
	gnutls_certificate_credentials_t credentials;
	enum vbd_config_client_certificate clients;
};

/* --- files ----------------------------------------------------------------------------------- */

static enum vbd_status refuse_file(
	const char *key, const char *path, const char *why, struct vbd_error *err)
{
	return vbd_error_input(
		err, VBD_E_BAD_VALUE, key, "%s: %s: %.80s", key, vbd_text_path(path).text, why);
}

/* GnuTLS would wait for ever for the end of a FIFO. */
static enum vbd_status check_file(const char *key, const char *path, struct vbd_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return refuse_file(key, path, strerror(errno), err);
	if (!S_ISREG(st.st_mode))
		return refuse_file(key, path, "it is no regular file", err);
	return st.st_size <= FILE_MAX_BYTES ? VBD_OK
					    : refuse_file(key, path, "it has more than 1 MiB", err);
}

static enum vbd_status load_file(
	const char *key, const char *path, gnutls_datum_t *ret_pem, struct vbd_error *err)
{
	enum vbd_status status = check_file(key, path, err);
	int rc;

	if (status != VBD_OK)
		return status;
	rc = gnutls_load_file(path, ret_pem);
	return rc < 0 ? refuse_file(key, path, gnutls_strerror(rc), err) : VBD_OK;
}

/* Look at the first certificate of the file, which is the server's; false if there is none. */
static bool check_certificate(const char *path, const gnutls_datum_t *pem)
{
	gnutls_x509_crt_t crt;
	time_t now = time(NULL);
	const char *how = NULL;
	bool found;

	if (gnutls_x509_crt_init(&crt) < 0)
		return false;
	found = gnutls_x509_crt_import(crt, pem, GNUTLS_X509_FMT_PEM) == 0;
	if (found && gnutls_x509_crt_get_expiration_time(crt) < now)
		how = "has expired";
	else if (found && gnutls_x509_crt_get_activation_time(crt) > now)
		how = "is not valid yet";
	if (how)
		vbd_log(VBD_LOG_WARNING, NULL,
			"tls.certificate: %s: the certificate %s; clients will refuse it",
			vbd_text_path(path).text, how);
	gnutls_x509_crt_deinit(crt);
	return found;
}

static enum vbd_status load_key(struct vbd_tls *tls, const struct vbd_config_tls *config,
	const gnutls_datum_t *certificate, struct vbd_error *err)
{
	gnutls_datum_t key = {0};
	struct vbd_error cause = {0};
	char text[KEY_MAX_BYTES];
	size_t len = 0;
	int rc;
	enum vbd_status status =
		vbd_secret_file_read(config->key, text, sizeof(text), &len, &cause);

	if (status != VBD_OK)
		return vbd_error_input(err, status, "tls.key", "tls.key: %s", cause.text);
	key.data = (unsigned char *)text;
	key.size = (unsigned int)len;
	rc = gnutls_certificate_set_x509_key_mem2(
		tls->credentials, certificate, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
	explicit_bzero(text, sizeof(text));
	return rc < 0 ? refuse_file("tls.key", config->key, gnutls_strerror(rc), err) : VBD_OK;
}

static enum vbd_status load_identity(
	struct vbd_tls *tls, const struct vbd_config_tls *config, struct vbd_error *err)
{
	gnutls_datum_t certificate = {0};
	enum vbd_status status =
		load_file("tls.certificate", config->certificate, &certificate, err);

	if (status != VBD_OK)
		return status;
	if (check_certificate(config->certificate, &certificate))
		status = load_key(tls, config, &certificate, err);
	else
		status = refuse_file("tls.certificate", config->certificate,
			"it has no certificate in PEM", err);
	gnutls_free(certificate.data);
	return status;
}

typedef int (*add_list)(
	gnutls_certificate_credentials_t, const gnutls_datum_t *, gnutls_x509_crt_fmt_t);

/* Add the CAs or CRLs of a file; "" for none. */
static enum vbd_status load_list(
	struct vbd_tls *tls, const char *key, const char *path, add_list add, struct vbd_error *err)
{
	gnutls_datum_t pem = {0};
	enum vbd_status status;
	int rc;

	if (!path[0])
		return VBD_OK;
	status = load_file(key, path, &pem, err);
	if (status != VBD_OK)
		return status;
	rc = add(tls->credentials, &pem, GNUTLS_X509_FMT_PEM);
	gnutls_free(pem.data);
	if (rc > 0)
		return VBD_OK;
	return refuse_file(key, path, rc ? gnutls_strerror(rc) : "it has none in PEM", err);
}

enum vbd_status vbd_tls_load(
	const struct vbd_config_tls *config, struct vbd_tls **ret_tls, struct vbd_error *err)
{
	struct vbd_tls *tls = calloc(1, sizeof(*tls));
	enum vbd_status status;

	if (!tls || gnutls_certificate_allocate_credentials(&tls->credentials) < 0) {
		free(tls);
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for TLS");
	}
	tls->refs = 1;
	tls->clients =
		config->client_ca[0] ? config->client_certificate : VBD_CLIENT_CERTIFICATE_NONE;
	status = load_identity(tls, config, err);
	if (status == VBD_OK)
		status = load_list(tls, "tls.client_ca", config->client_ca,
			gnutls_certificate_set_x509_trust_mem, err);
	if (status == VBD_OK)
		status = load_list(tls, "tls.client_crl", config->client_crl,
			gnutls_certificate_set_x509_crl_mem, err);
	if (status != VBD_OK) {
		vbd_tls_unref(tls);
		return status;
	}
	*ret_tls = tls;
	return VBD_OK;
}

void vbd_tls_unref(struct vbd_tls *tls)
{
	if (!tls || --tls->refs)
		return;
	gnutls_certificate_free_credentials(tls->credentials);
	free(tls);
}

/* --- the certificate of a client ------------------------------------------------------------- */

/* Names go to the log and are compared as texts: one with a NUL or another control character is no
 * name. */
static void add_name(
	struct vbd_tls_peer *peer, const char *kind, const char *value, size_t len_bytes)
{
	char **name = &peer->names[peer->n_names];

	if (peer->n_names == VBD_TLS_NAMES_MAX || !len_bytes || !vbd_utf8_line(value, len_bytes))
		return;
	if (asprintf(name, "%s:%.*s", kind, (int)len_bytes, value) >= 0)
		peer->n_names++;
}

/* Add the common name, unless there are several. gnutls_x509_crt_get_dn_by_oid() would escape the
 * name as RFC 4514 does. Returns the number of common names, also of those in one RDN. */
static int take_common_name(struct vbd_tls_peer *peer, gnutls_x509_crt_t crt)
{
	gnutls_x509_ava_st ava, name = {0};
	gnutls_x509_dn_t dn;
	int found = 0;

	if (gnutls_x509_crt_get_subject(crt, &dn) < 0)
		return 0;
	for (int i = 0; gnutls_x509_dn_get_rdn_ava(dn, i, 0, &ava) == 0; i++) {
		for (int j = 0; gnutls_x509_dn_get_rdn_ava(dn, i, j, &ava) == 0; j++) {
			if (strcmp((const char *)ava.oid.data, GNUTLS_OID_X520_COMMON_NAME) != 0)
				continue;
			name = ava;
			found++;
		}
	}
	if (found == 1 &&
		(name.value_tag == ASN1_UTF8_STRING || name.value_tag == ASN1_PRINTABLE_STRING))
		add_name(peer, "CN", (const char *)name.value.data, name.value.size);
	return found;
}

static void take_other_names(struct vbd_tls_peer *peer, gnutls_x509_crt_t crt)
{
	static const char *const kinds[] = {[GNUTLS_SAN_DNSNAME] = "DNS",
		[GNUTLS_SAN_RFC822NAME] = "email",
		[GNUTLS_SAN_URI] = "URI"};
	char text[NAME_MAX_BYTES];
	size_t size;
	int type;

	for (unsigned int i = 0;; i++) {
		size = sizeof(text);
		type = gnutls_x509_crt_get_subject_alt_name(crt, i, text, &size, NULL);
		if (type == GNUTLS_E_SHORT_MEMORY_BUFFER)
			continue;
		if (type < 0)
			return;
		if ((size_t)type < VBD_ARRAY_LEN(kinds) && kinds[type])
			add_name(peer, kinds[type], text, size);
	}
}

/* A certificate without an end, which RFC 5280 writes as the year 9999, has none here. */
static void take_expiry(struct vbd_tls_peer *peer, gnutls_x509_crt_t crt)
{
	time_t expires = gnutls_x509_crt_get_expiration_time(crt);

	if (expires != (time_t)-1 && expires != GNUTLS_X509_NO_WELL_DEFINED_EXPIRATION)
		peer->expires_wall_s = (uint64_t)expires;
}

static int refuse_cert(gnutls_session_t session, struct vbd_tls_peer *peer, const char *why,
	gnutls_alert_description_t alert)
{
	(void)snprintf(peer->refusal, sizeof(peer->refusal), "%s", why);
	/* libmicrohttpd sends none when a handshake fails. */
	(void)gnutls_alert_send(session, GNUTLS_AL_FATAL, alert);
	return GNUTLS_E_CERTIFICATE_ERROR;
}

static int refuse_status(gnutls_session_t session, struct vbd_tls_peer *peer, unsigned int status)
{
	gnutls_alert_description_t alert = GNUTLS_A_BAD_CERTIFICATE;
	gnutls_datum_t text = {0};
	int rc;

	if (status & GNUTLS_CERT_REVOKED)
		alert = GNUTLS_A_CERTIFICATE_REVOKED;
	else if (status & (GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA))
		alert = GNUTLS_A_UNKNOWN_CA;
	else if (status & (GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED))
		alert = GNUTLS_A_CERTIFICATE_EXPIRED;
	else if (status & GNUTLS_CERT_PURPOSE_MISMATCH)
		alert = GNUTLS_A_UNSUPPORTED_CERTIFICATE;
	rc = gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0);
	rc = refuse_cert(
		session, peer, rc < 0 ? "it is not valid" : (const char *)text.data, alert);
	gnutls_free(text.data);
	return rc;
}

/* GnuTLS calls this in the handshake, also for a client without certificate. */
static int verify_client_cert(gnutls_session_t session)
{
	struct vbd_tls_peer *peer = gnutls_session_get_ptr(session);
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (void *)GNUTLS_KP_TLS_WWW_CLIENT};
	unsigned int count = 0;
	unsigned int status = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
	gnutls_x509_crt_t crt;
	int common_names = 0;

	if (!chain || !count) {
		if (peer->tls->clients != VBD_CLIENT_CERTIFICATE_REQUIRED)
			return 0;
		return refuse_cert(session, peer, "there is none, and one is required",
			gnutls_protocol_get_version(session) == GNUTLS_TLS1_3
				? GNUTLS_A_CERTIFICATE_REQUIRED
				: GNUTLS_A_HANDSHAKE_FAILURE);
	}
	if (gnutls_certificate_verify_peers(session, &purpose, 1, &status) < 0)
		return refuse_cert(session, peer, "it can't be checked", GNUTLS_A_BAD_CERTIFICATE);
	if (status)
		return refuse_status(session, peer, status);
	if (gnutls_x509_crt_init(&crt) < 0)
		return GNUTLS_E_MEMORY_ERROR;
	if (gnutls_x509_crt_import(crt, &chain[0], GNUTLS_X509_FMT_DER) == 0) {
		common_names = take_common_name(peer, crt);
		if (common_names <= 1)
			take_other_names(peer, crt);
		take_expiry(peer, crt);
	}
	gnutls_x509_crt_deinit(crt);
	/* Other programs may take another one of them for the client's name. */
	if (common_names > 1)
		return refuse_cert(
			session, peer, "it has several common names", GNUTLS_A_BAD_CERTIFICATE);
	return 0;
}

void vbd_tls_peer_begin(
	struct vbd_tls_peer *peer, struct vbd_tls *tls, struct gnutls_session_int *session)
{
	peer->tls = tls;
	tls->refs++;
	gnutls_session_set_ptr(session, peer);
	(void)gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->credentials);
	if (tls->clients == VBD_CLIENT_CERTIFICATE_NONE)
		return;
	/* verify_client_cert() refuses a client without certificate: GnuTLS would send no alert. */
	gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
	gnutls_session_set_verify_function(session, verify_client_cert);
}

void vbd_tls_peer_end(struct vbd_tls_peer *peer)
{
	for (size_t i = 0; i < peer->n_names; i++)
		free(peer->names[i]);
	peer->n_names = 0;
	vbd_tls_unref(peer->tls);
	peer->tls = NULL;
}
