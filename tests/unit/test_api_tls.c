/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials and certificates, by handshakes in memory. tests/api_http/tls.mjs has the server. */
#include "api/http/tls.h"

#include "base/log.h"
#include "tests/unit/unit.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct pair {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
};

struct fixture {
	struct pair ca, server;
	char folder[256];
	struct vbd_config_tls config;
	struct vbd_error err;
};

/* --- certificates ---------------------------------------------------------------------------- */

static void must(int rc)
{
	if (rc < 0)
		fail_msg("%s", gnutls_strerror(rc));
}

static time_t expires; /* of certificates to come; 0: in an hour */

/* Begin a certificate; the test adds names, and sign() ends it. */
static struct pair begin(const char *purpose)
{
	static unsigned char serial;
	struct pair pair;

	serial++;
	must(gnutls_x509_privkey_init(&pair.key));
	must(gnutls_x509_privkey_generate(
		pair.key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
	must(gnutls_x509_crt_init(&pair.crt));
	must(gnutls_x509_crt_set_version(pair.crt, 3));
	must(gnutls_x509_crt_set_serial(pair.crt, &serial, 1));
	must(gnutls_x509_crt_set_activation_time(pair.crt, time(NULL) - 60));
	must(gnutls_x509_crt_set_expiration_time(pair.crt, expires ? expires : time(NULL) + 3600));
	must(gnutls_x509_crt_set_key(pair.crt, pair.key));
	must(gnutls_x509_crt_set_basic_constraints(pair.crt, purpose == NULL, -1));
	if (purpose)
		must(gnutls_x509_crt_set_key_purpose_oid(pair.crt, purpose, 0));
	return pair;
}

static void add_cn(struct pair *pair, const char *name, size_t len)
{
	must(gnutls_x509_crt_set_dn_by_oid(
		pair->crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned int)len));
}

static void add_san(struct pair *pair, gnutls_x509_subject_alt_name_t type, const char *name)
{
	must(gnutls_x509_crt_set_subject_alt_name(
		pair->crt, type, name, (unsigned int)strlen(name), GNUTLS_FSAN_APPEND));
}

static void sign(struct pair *pair, const struct pair *issuer)
{
	must(gnutls_x509_crt_sign2(pair->crt, issuer->crt, issuer->key, GNUTLS_DIG_SHA256, 0));
}

static void free_pair(struct pair *pair)
{
	gnutls_x509_crt_deinit(pair->crt);
	gnutls_x509_privkey_deinit(pair->key);
}

static void put_file(struct fixture *f, char *path, const char *name, const gnutls_datum_t *bytes)
{
	FILE *file;

	(void)snprintf(path, VBD_PATH_MAX_BYTES, "%s/%s", f->folder, name);
	(void)unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
	assert_int_equal(fchmod(fileno(file), 0600), 0);
	(void)fclose(file);
}

static void put_pair(struct fixture *f, const struct pair *pair, const char *name)
{
	gnutls_datum_t crt, key;

	must(gnutls_x509_crt_export2(pair->crt, GNUTLS_X509_FMT_PEM, &crt));
	must(gnutls_x509_privkey_export2(pair->key, GNUTLS_X509_FMT_PEM, &key));
	if (strcmp(name, "ca") == 0) {
		put_file(f, f->config.client_ca, "ca.pem", &crt);
	} else {
		put_file(f, f->config.certificate, "server.pem", &crt);
		put_file(f, f->config.key, "server.key", &key);
	}
	gnutls_free(crt.data);
	gnutls_free(key.data);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	(void)snprintf(f->folder, sizeof(f->folder), "%s/test_api_tls_XXXXXX", unit_tmpdir());
	assert_non_null(mkdtemp(f->folder));
	f->ca = begin(NULL);
	add_cn(&f->ca, "ca", 2);
	sign(&f->ca, &f->ca);
	f->server = begin(GNUTLS_KP_TLS_WWW_SERVER);
	sign(&f->server, &f->ca);
	put_pair(f, &f->ca, "ca");
	put_pair(f, &f->server, "server");
	f->config.client_certificate = VBD_CLIENT_CERTIFICATE_OPTIONAL;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)unlink(f->config.client_ca);
	(void)unlink(f->config.certificate);
	(void)unlink(f->config.key);
	(void)rmdir(f->folder);
	free_pair(&f->ca);
	free_pair(&f->server);
	free(f);
	return 0;
}

#define TLS_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

/* --- handshakes ------------------------------------------------------------------------------ */

struct ends {
	gnutls_session_t client, server;
	gnutls_certificate_credentials_t trusting; /* the client's */
	struct vbd_tls_peer peer;
	int fds[2];
};

static void connect_ends(struct ends *ends, struct vbd_tls *tls, const struct pair *shown)
{
	memset(ends, 0, sizeof(*ends));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends->fds), 0);
	must(gnutls_certificate_allocate_credentials(&ends->trusting));
	if (shown)
		must(gnutls_certificate_set_x509_key(
			ends->trusting, (gnutls_x509_crt_t *)&shown->crt, 1, shown->key));
	must(gnutls_init(
		&ends->client, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_FORCE_CLIENT_CERT));
	must(gnutls_init(&ends->server, GNUTLS_SERVER | GNUTLS_NONBLOCK));
	must(gnutls_set_default_priority(ends->client));
	must(gnutls_priority_set_direct(ends->server, VBD_TLS_PRIORITIES, NULL));
	must(gnutls_credentials_set(ends->client, GNUTLS_CRD_CERTIFICATE, ends->trusting));
	gnutls_transport_set_int(ends->client, ends->fds[0]);
	gnutls_transport_set_int(ends->server, ends->fds[1]);
	vbd_tls_peer_begin(&ends->peer, tls, ends->server);
}

/* Returns the server's result. */
static int shake_hands(struct ends *ends)
{
	int client = GNUTLS_E_AGAIN;
	int server = GNUTLS_E_AGAIN;

	while (server == GNUTLS_E_AGAIN) {
		if (client == GNUTLS_E_AGAIN)
			client = gnutls_handshake(ends->client);
		server = gnutls_handshake(ends->server);
	}
	return server;
}

static void close_ends(struct ends *ends)
{
	gnutls_deinit(ends->client);
	gnutls_deinit(ends->server);
	vbd_tls_peer_end(&ends->peer);
	gnutls_certificate_free_credentials(ends->trusting);
	(void)close(ends->fds[0]);
	(void)close(ends->fds[1]);
}

static struct vbd_tls *load(struct fixture *f)
{
	struct vbd_tls *tls = NULL;

	if (vbd_tls_load(&f->config, &tls, &f->err) != VBD_OK)
		fail_msg("%s", f->err.text);
	return tls;
}

/* --- tests ----------------------------------------------------------------------------------- */

TLS_TEST(test_tls__the_names_of_a_verified_certificate_are_the_peers)
{
	static const char *const want[] = {"CN:alice, of #7", "DNS:a.example",
		"email:alice@a.example", "URI:spiffe://a.example/alice"};
	struct pair alice = begin(GNUTLS_KP_TLS_WWW_CLIENT);
	struct vbd_tls *tls = load(f);
	struct ends ends;

	add_cn(&alice, "alice, of #7", 12);
	add_san(&alice, GNUTLS_SAN_DNSNAME, "a.example");
	add_san(&alice, GNUTLS_SAN_RFC822NAME, "alice@a.example");
	add_san(&alice, GNUTLS_SAN_URI, "spiffe://a.example/alice");
	sign(&alice, &f->ca);
	connect_ends(&ends, tls, &alice);
	assert_int_equal(shake_hands(&ends), 0);
	assert_int_equal(ends.peer.n_names, VBD_ARRAY_LEN(want));
	for (size_t i = 0; i < VBD_ARRAY_LEN(want); i++)
		assert_string_equal(ends.peer.names[i], want[i]);
	close_ends(&ends);
	vbd_tls_unref(tls);
	free_pair(&alice);
}

/* "root\0.evil.example" would compare as "root". */
TLS_TEST(test_tls__a_name_with_a_control_character_is_no_name)
{
	static const char with_zero[] = "root\0.evil.example";
	struct pair evil = begin(GNUTLS_KP_TLS_WWW_CLIENT);
	struct vbd_tls *tls = load(f);
	struct ends ends;

	add_cn(&evil, with_zero, sizeof(with_zero) - 1);
	add_san(&evil, GNUTLS_SAN_DNSNAME, "evil.example");
	sign(&evil, &f->ca);
	connect_ends(&ends, tls, &evil);
	assert_int_equal(shake_hands(&ends), 0);
	assert_int_equal(ends.peer.n_names, 1);
	assert_string_equal(ends.peer.names[0], "DNS:evil.example");
	close_ends(&ends);
	vbd_tls_unref(tls);
	free_pair(&evil);
}

TLS_TEST(test_tls__a_refused_certificate_names_nobody_and_says_why)
{
	struct pair mallory = begin(GNUTLS_KP_TLS_WWW_CLIENT);
	struct vbd_tls *tls = load(f);
	struct ends ends;

	add_cn(&mallory, "alice", 5);
	sign(&mallory, &mallory);
	connect_ends(&ends, tls, &mallory);
	assert_int_not_equal(shake_hands(&ends), 0);
	assert_int_equal(ends.peer.n_names, 0);
	assert_string_not_equal(ends.peer.refusal, "");
	close_ends(&ends);
	vbd_tls_unref(tls);
	free_pair(&mallory);
}

/* The alert that the client gets. */
static gnutls_alert_description_t alert_of(struct ends *ends)
{
	int rc = GNUTLS_E_AGAIN;
	char byte;

	for (int tries = 0; rc != GNUTLS_E_FATAL_ALERT_RECEIVED && tries < 10; tries++) {
		rc = gnutls_handshake(ends->client);
		if (rc == 0)
			rc = (int)gnutls_record_recv(ends->client, &byte, 1);
	}
	assert_int_equal(rc, GNUTLS_E_FATAL_ALERT_RECEIVED);
	return gnutls_alert_get(ends->client);
}

/* A client with this certificate is refused. */
static void is_refused(struct fixture *f, const struct pair *shown, const char *priorities,
	gnutls_alert_description_t alert, const char *why)
{
	struct vbd_tls *tls = load(f);
	struct ends ends;

	connect_ends(&ends, tls, shown);
	if (priorities)
		must(gnutls_priority_set_direct(ends.client, priorities, NULL));
	assert_int_equal(shake_hands(&ends), GNUTLS_E_CERTIFICATE_ERROR);
	assert_int_equal(alert_of(&ends), alert);
	if (!strstr(ends.peer.refusal, why))
		fail_msg("%s", ends.peer.refusal);
	assert_int_equal(ends.peer.n_names, 0);
	close_ends(&ends);
	vbd_tls_unref(tls);
}

TLS_TEST(test_tls__each_refusal_has_its_alert)
{
	struct pair pair = begin(GNUTLS_KP_TLS_WWW_CLIENT);

	sign(&pair, &pair);
	is_refused(f, &pair, NULL, GNUTLS_A_UNKNOWN_CA, "issuer is unknown");
	free_pair(&pair);
	pair = begin(GNUTLS_KP_TLS_WWW_CLIENT);
	must(gnutls_x509_crt_set_activation_time(pair.crt, time(NULL) - 7200));
	must(gnutls_x509_crt_set_expiration_time(pair.crt, time(NULL) - 3600));
	sign(&pair, &f->ca);
	is_refused(f, &pair, NULL, GNUTLS_A_CERTIFICATE_EXPIRED, "expired");
	free_pair(&pair);
	pair = begin(GNUTLS_KP_TLS_WWW_CLIENT);
	must(gnutls_x509_crt_set_activation_time(pair.crt, time(NULL) + 1800));
	sign(&pair, &f->ca);
	is_refused(f, &pair, NULL, GNUTLS_A_CERTIFICATE_EXPIRED, "not yet valid");
	free_pair(&pair);
	pair = begin(GNUTLS_KP_TLS_WWW_CLIENT);
	add_cn(&pair, "alice", 5);
	add_cn(&pair, "control", 7);
	sign(&pair, &f->ca);
	is_refused(f, &pair, NULL, GNUTLS_A_BAD_CERTIFICATE, "several common names");
	free_pair(&pair);
	pair = begin(GNUTLS_KP_TLS_WWW_SERVER);
	sign(&pair, &f->ca);
	is_refused(f, &pair, NULL, GNUTLS_A_UNSUPPORTED_CERTIFICATE, "purpose");
	free_pair(&pair);
	f->config.client_certificate = VBD_CLIENT_CERTIFICATE_REQUIRED;
	is_refused(f, NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.3", GNUTLS_A_CERTIFICATE_REQUIRED,
		"there is none, and one is required");
	is_refused(f, NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.2", GNUTLS_A_HANDSHAKE_FAILURE,
		"there is none, and one is required");
}

TLS_TEST(test_tls__a_certificate_tells_when_it_expires)
{
	const time_t times[] = {time(NULL) + 3600, GNUTLS_X509_NO_WELL_DEFINED_EXPIRATION};

	for (size_t i = 0; i < VBD_ARRAY_LEN(times); i++) {
		struct vbd_tls *tls = load(f);
		struct ends ends;
		struct pair alice;

		expires = times[i];
		alice = begin(GNUTLS_KP_TLS_WWW_CLIENT);
		expires = 0;
		sign(&alice, &f->ca);
		connect_ends(&ends, tls, &alice);
		assert_int_equal(shake_hands(&ends), 0);
		assert_int_equal(ends.peer.expires_wall_s, i == 0 ? times[0] : 0);
		close_ends(&ends);
		vbd_tls_unref(tls);
		free_pair(&alice);
	}
}

/* Names beyond those that have room, and a name that is too long, are left out. */
TLS_TEST(test_tls__a_certificate_may_have_too_many_names)
{
	struct pair alice = begin(GNUTLS_KP_TLS_WWW_CLIENT);
	struct vbd_tls *tls = load(f);
	struct ends ends;
	char name[400], want[32];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	add_san(&alice, GNUTLS_SAN_DNSNAME, name);
	for (int i = 0; i < VBD_TLS_NAMES_MAX + 1; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		add_san(&alice, GNUTLS_SAN_DNSNAME, name);
	}
	sign(&alice, &f->ca);
	connect_ends(&ends, tls, &alice);
	assert_int_equal(shake_hands(&ends), 0);
	assert_int_equal(ends.peer.n_names, VBD_TLS_NAMES_MAX);
	for (int i = 0; i < VBD_TLS_NAMES_MAX; i++) {
		(void)snprintf(want, sizeof(want), "DNS:n%d", i);
		assert_string_equal(ends.peer.names[i], want);
	}
	close_ends(&ends);
	vbd_tls_unref(tls);
	free_pair(&alice);
}

static char warning[512];

static void on_line(enum vbd_log_level level, const char *object, const char *text, void *arg)
{
	(void)object;
	(void)arg;
	if (level == VBD_LOG_WARNING)
		(void)snprintf(warning, sizeof(warning), "%s", text);
}

TLS_TEST(test_tls__a_certificate_of_its_own_that_is_not_valid_now_is_warned_of)
{
	static const struct {
		int from_s, to_s;
		const char *how;
	} cases[] = {{-60, 60, NULL}, {-120, -60, "has expired"}, {60, 120, "is not valid yet"}};

	vbd_log_set_observer(on_line, NULL);
	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		struct pair pair = begin(GNUTLS_KP_TLS_WWW_SERVER);
		char text[400] = "";

		warning[0] = '\0';
		must(gnutls_x509_crt_set_activation_time(pair.crt, time(NULL) + cases[i].from_s));
		must(gnutls_x509_crt_set_expiration_time(pair.crt, time(NULL) + cases[i].to_s));
		sign(&pair, &f->ca);
		put_pair(f, &pair, "server");
		vbd_tls_unref(load(f));
		if (cases[i].how)
			(void)snprintf(text, sizeof(text),
				"tls.certificate: %.100s: the certificate %s; clients will refuse "
				"it",
				f->config.certificate, cases[i].how);
		assert_string_equal(warning, text);
		free_pair(&pair);
	}
	vbd_log_set_observer(NULL, NULL);
}

/* The sanitizers see it if the credentials are freed early, or never. */
TLS_TEST(test_tls__a_session_keeps_the_credentials_that_it_began_with)
{
	struct vbd_tls *tls = load(f);
	struct ends first, second;

	connect_ends(&first, tls, NULL);
	connect_ends(&second, tls, NULL);
	vbd_tls_unref(tls); /* as after a reload */
	assert_int_equal(shake_hands(&first), 0);
	close_ends(&first);
	assert_int_equal(shake_hands(&second), 0);
	assert_int_equal(second.peer.n_names, 0);
	close_ends(&second);
}

static void assert_not_loaded(struct fixture *f, const char *key)
{
	struct vbd_tls *tls = NULL;

	memset(&f->err, 0, sizeof(f->err));
	assert_int_not_equal(vbd_tls_load(&f->config, &tls, &f->err), VBD_OK);
	assert_null(tls);
	assert_string_equal(f->err.pointer, key);
	assert_memory_equal(f->err.text, key, strlen(key));
}

TLS_TEST(test_tls__a_bad_file_is_named)
{
	const struct vbd_config_tls good = f->config;
	gnutls_datum_t rubbish = {.data = (unsigned char *)"no PEM\n", .size = 7};
	char folder_text[VBD_PATH_MAX_BYTES];

	(void)snprintf(folder_text, sizeof(folder_text), "%s", f->folder);
	memcpy(f->config.certificate, folder_text, sizeof(folder_text)); /* no regular file */
	assert_not_loaded(f, "tls.certificate");
	f->config = good;
	(void)snprintf(f->config.client_crl, sizeof(f->config.client_crl), "%s", good.client_ca);
	assert_not_loaded(f, "tls.client_crl");
	f->config = good;
	assert_int_equal(chmod(f->config.key, 0644), 0);
	assert_not_loaded(f, "tls.key");
	put_file(f, f->config.key, "server.key", &rubbish);
	assert_not_loaded(f, "tls.key");
	put_file(f, f->config.client_ca, "ca.pem", &rubbish);
	put_pair(f, &f->server, "server");
	assert_not_loaded(f, "tls.client_ca");
	put_file(f, f->config.certificate, "server.pem", &rubbish);
	assert_not_loaded(f, "tls.certificate");
}
