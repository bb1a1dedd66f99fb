/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/http.h"

#include "base/addr.h"
#include "base/text.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/view.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <unistd.h>

#define DEFAULT_PORT	  "7480"
#define CONNECT_TIMEOUT_S 10L
#define STALLED_AFTER_S	  60L /* a transfer without progress for this long is aborted */
#define ANSWER_WITHIN_S	  30L /* added to the time that the request allows the server */
#define BODY_LIMIT_BYTES  ((size_t)256 * 1024 * 1024)
#define TOKEN_LIMIT_BYTES 4096

/* State of one request, used by libcurl's callbacks. */
struct exchange {
	CURL *curl;
	const struct vbd_ctl_request *request;
	FILE *kept; /* the body, unless the request has a sink */
	size_t kept_len;
	struct vbd_ctl_progress progress;
	bool too_long;
	bool stopped; /* aborted by verbsctl; the error is printed */
};

/*
 * Normalizes the user's URL to "http://127.0.0.1:7480"; NULL if it is malformed, or has a user, a
 * password, a query or a fragment, so that a mistyped address is not sent as another request.
 */
static char *normalize_url(const char *text)
{
	char *full = vbd_ctl_format("%s%s", strstr(text, "://") ? "" : "http://", text);
	CURLU *url = vbd_ctl_must(curl_url());
	char *port = NULL;
	char *base = NULL;
	bool good = !strpbrk(full, "@?#") &&
		    (strncasecmp(full, "http:", 5) == 0 || strncasecmp(full, "https:", 6) == 0) &&
		    curl_url_set(url, CURLUPART_URL, full, 0) == CURLUE_OK;

	if (good && curl_url_get(url, CURLUPART_PORT, &port, 0) == CURLUE_NO_PORT)
		good = curl_url_set(url, CURLUPART_PORT, DEFAULT_PORT, 0) == CURLUE_OK;
	if (good)
		good = curl_url_get(url, CURLUPART_URL, &base, 0) == CURLUE_OK;
	curl_free(port);
	curl_url_cleanup(url);
	if (!good)
		return NULL;
	vbd_ctl_keep(base, curl_free);
	for (size_t len = strlen(base); len && base[len - 1] == '/'; len--)
		base[len - 1] = '\0';
	return base;
}

/* A control character in the token could start another header. */
static void set_token(struct vbd_ctl_http *http, const char *text, const char *source)
{
	size_t len = strcspn(text, "\r\n");

	while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	if (len == 0)
		vbd_ctl_usage("%s: the token is missing", source);
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f)
			vbd_ctl_usage(
				"%s: a token has only printable ASCII characters and no space",
				source);
	}
	http->token = vbd_ctl_format("%.*s", (int)len, text);
}

static void read_token(struct vbd_ctl_http *http, const char *path)
{
	char text[TOKEN_LIMIT_BYTES + 1] = "";
	FILE *file = fopen(path, "re");

	if (!file || (!fgets(text, sizeof(text), file) && ferror(file)))
		vbd_ctl_usage("token file %s: %s", path, strerror(errno));
	(void)fclose(file);
	set_token(http, text, path);
}

static void find_token(struct vbd_ctl_http *http)
{
	const struct vbd_ctl_credentials *source = &http->credentials;
	const char *value = getenv(source->token_variable);
	const char *file = getenv(source->token_file_variable);

	if (source->token_file)
		read_token(http, source->token_file);
	else if (value && *value)
		set_token(http, value, source->token_variable);
	else if (file && *file)
		read_token(http, file);
}

static void check_files(const struct vbd_ctl_credentials *credentials)
{
	const struct {
		const char *what, *path;
	} files[] = {{"CA", credentials->ca}, {"certificate", credentials->cert},
		{"key", credentials->key}};

	if (credentials->key && !credentials->cert)
		vbd_ctl_usage("--key needs --cert, which is its certificate");
	for (size_t i = 0; i < VBD_ARRAY_LEN(files); i++) {
		if (files[i].path && access(files[i].path, R_OK) < 0)
			vbd_ctl_usage(
				"%s file %s: %s", files[i].what, files[i].path, strerror(errno));
	}
}

/* The host in a URL, without the brackets of an IPv6 address. */
static char *host_of_url(const char *url)
{
	const char *scheme_end = strstr(url, "://");
	const char *host = scheme_end ? scheme_end + 3 : url;
	bool brackets = *host == '[';

	host += brackets;
	return vbd_ctl_format("%.*s", (int)strcspn(host, brackets ? "]" : ":/"), host);
}

static bool is_loopback(const char *host)
{
	struct sockaddr_storage addr;

	return strcmp(host, "localhost") == 0 ||
	       (vbd_addr_parse(host, 0, &addr) &&
		       vbd_sockaddr_is_loopback((const struct sockaddr *)&addr));
}

/* Does the request stay on this host, or is it encrypted? */
static bool may_send_token(const struct vbd_ctl_http *http)
{
	return http->unix_path || strncmp(http->base, "https:", 6) == 0 ||
	       is_loopback(host_of_url(http->base));
}

static void set_address(struct vbd_ctl_http *http, const char *url)
{
	if (strncmp(url, "unix:", 5) == 0) {
		if (url[5] != '/')
			vbd_ctl_usage(
				"\"%s\" is not an address of verbsd: a socket is unix:/PATH", url);
		http->unix_path = vbd_ctl_format("%s", url + 5);
		http->base = vbd_ctl_format("http://localhost");
		return;
	}
	/* libcurl reads "10.76.1" as another address than its writer means. */
	http->base = vbd_addr_is_host(host_of_url(url)) ? normalize_url(url) : NULL;
	if (!http->base)
		vbd_ctl_usage("\"%s\" is not an address of verbsd: use https://HOST:PORT, "
			      "http://HOST:PORT or unix:/PATH",
			url);
}

void vbd_ctl_http_init(
	struct vbd_ctl_http *http, const char *url, const struct vbd_ctl_credentials *credentials)
{
	*http = (struct vbd_ctl_http){.shown = vbd_ctl_format("%s", url),
		.patience_s = ANSWER_WITHIN_S,
		.credentials = *credentials};
	http->curl = vbd_ctl_keep(curl_easy_init(), curl_easy_cleanup);
	set_address(http, url);
	check_files(credentials);
	find_token(http);
	if (http->token && !may_send_token(http) && !credentials->insecure)
		vbd_ctl_usage("the token would go to %s in clear, for whoever sees the network: "
			      "use https://, or --insecure if that may be",
			http->shown);
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct exchange *exchange = arg;
	const struct vbd_ctl_request *request = exchange->request;
	size_t len = size * count;
	long status = 0;

	curl_easy_getinfo(exchange->curl, CURLINFO_RESPONSE_CODE, &status);
	if (request->sink && status >= 200 && status < 300) {
		if (request->sink(bytes, len, request->sink_arg))
			return len;
		exchange->stopped = true;
		return 0;
	}
	if (len > BODY_LIMIT_BYTES - exchange->kept_len) {
		exchange->too_long = true;
		return 0;
	}
	exchange->kept_len += len;
	return fwrite(bytes, 1, len, exchange->kept);
}

/*
 * Sends no more bytes than announced if the file grows meanwhile. Aborts if it shrinks: the server
 * would wait for the rest.
 */
static size_t on_read(char *bytes, size_t size, size_t count, void *arg)
{
	struct exchange *exchange = arg;
	struct vbd_ctl_upload *upload = exchange->request->upload;
	size_t wanted = size * count;
	ssize_t n;

	if (upload->bytes >= 0 && (uint64_t)upload->bytes - upload->sent_bytes < wanted)
		wanted = (size_t)((uint64_t)upload->bytes - upload->sent_bytes);
	do {
		n = read(upload->fd, bytes, wanted);
	} while (n < 0 && errno == EINTR);
	if (n > 0 || (n == 0 && (wanted == 0 || upload->bytes < 0))) {
		upload->sent_bytes += (uint64_t)n;
		return (size_t)n;
	}
	exchange->stopped = true;
	vbd_ctl_note(
		"can't read the file: %s", n < 0 ? strerror(errno) : "the file became shorter");
	return CURL_READFUNC_ABORT;
}

/* libcurl restarts the upload if the server closes a kept connection during the request. */
static int on_seek(void *arg, curl_off_t offset, int origin)
{
	struct exchange *exchange = arg;
	struct vbd_ctl_upload *upload = exchange->request->upload;

	if (origin != SEEK_SET || upload->start < 0 ||
		lseek(upload->fd, upload->start + offset, SEEK_SET) < 0)
		return CURL_SEEKFUNC_CANTSEEK;
	upload->sent_bytes = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

/* Whether the command only waits for something to print. */
static bool is_long_poll(const struct vbd_ctl_request *request)
{
	return request->wait_s && strcmp(request->method, "GET") == 0;
}

static int on_progress(
	void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
	struct exchange *exchange = arg;
	const struct vbd_ctl_request *request = exchange->request;
	bool upload = request->upload;

	if (is_long_poll(request))
		vbd_ctl_end_if_unread();
	if (request->progress)
		vbd_ctl_progress_update(&exchange->progress, (uint64_t)(upload ? up : down),
			(uint64_t)(upload ? up_total : down_total));
	if (request->idle && !request->idle(request->idle_arg))
		exchange->stopped = true;
	return exchange->stopped;
}

static struct curl_slist *header_add(struct curl_slist *headers, const char *text)
{
	return vbd_ctl_must(curl_slist_append(headers, text));
}

static struct curl_slist *make_headers(
	const struct vbd_ctl_http *http, const struct vbd_ctl_request *request)
{
	struct curl_slist *headers = header_add(NULL, "Accept: application/json, */*;q=0.5");
	char *line;

	/*
	 * Sent even with a POST that has no body: verbsd requires this type on every POST, because
	 * a page of another site can't set it.
	 */
	if (request->upload)
		headers = header_add(headers, "Content-Type: application/octet-stream");
	else if (strcmp(request->method, "POST") == 0 || strcmp(request->method, "PATCH") == 0)
		headers = header_add(headers, "Content-Type: application/json");
	if (request->prefer_wait) {
		line = vbd_ctl_format("Prefer: wait=%u", request->wait_s);
		headers = header_add(headers, line);
	}
	if (http->token) {
		line = vbd_ctl_format("Authorization: Bearer %s", http->token);
		headers = header_add(headers, line);
		explicit_bzero(line, strlen(line));
	}
	return headers;
}

static void set_server(CURL *curl, const struct vbd_ctl_http *http, const char *url)
{
	const struct vbd_ctl_credentials *files = &http->credentials;

	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	/* The server refuses a name of "." or ".."; libcurl would resolve it as a path. */
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	/* http_proxy is meant for the web. A proxy must not see the token. */
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "verbsctl/" VBD_VERSION);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
	if (http->unix_path)
		curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, http->unix_path);
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2); /* or later */
	if (files->ca)
		curl_easy_setopt(curl, CURLOPT_CAINFO, files->ca);
	if (files->cert) {
		curl_easy_setopt(curl, CURLOPT_SSLCERT, files->cert);
		curl_easy_setopt(curl, CURLOPT_SSLKEY, files->key ? files->key : files->cert);
	}
}

static void set_body(CURL *curl, struct exchange *exchange, const char *json)
{
	const struct vbd_ctl_request *request = exchange->request;

	if (request->upload) {
		curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(
			curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->upload->bytes);
		curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
		curl_easy_setopt(curl, CURLOPT_READDATA, exchange);
		curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, on_seek);
		curl_easy_setopt(curl, CURLOPT_SEEKDATA, exchange);
	} else if (strcmp(request->method, "GET") != 0) {
		if (json || strcmp(request->method, "DELETE") != 0)
			curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json ? json : "");
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
	}
}

static void set_limits(CURL *curl, struct exchange *exchange, long patience_s)
{
	const struct vbd_ctl_request *request = exchange->request;

	if (request->upload || request->sink) {
		curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
		curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, STALLED_AFTER_S);
	} else {
		curl_easy_setopt(curl, CURLOPT_TIMEOUT, patience_s + (long)request->wait_s);
	}
	if (request->progress || request->idle || is_long_poll(request)) {
		curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
		curl_easy_setopt(curl, CURLOPT_XFERINFODATA, exchange);
	}
}

/* Sets outcome and reason from libcurl's result. An error response counts as an answer even if the
 * server then closes the connection, as it does during long uploads. */
static void set_outcome(const struct exchange *exchange, CURLcode code, const char *text,
	struct vbd_ctl_answer *answer)
{
	const char *scheme = NULL;
	long os_errno = 0;

	answer->outcome = exchange->stopped ? VBD_CTL_STOPPED : VBD_CTL_ANSWERED;
	if (exchange->stopped || code == CURLE_OK ||
		(answer->status >= 400 && exchange->request->upload))
		return;
	curl_easy_getinfo(exchange->curl, CURLINFO_OS_ERRNO, &os_errno);
	curl_easy_getinfo(exchange->curl, CURLINFO_SCHEME, &scheme);
	if (exchange->too_long)
		text = "the answer is too long";
	else if (code == CURLE_COULDNT_CONNECT && os_errno)
		text = strerror((int)os_errno);
	else if (!*text)
		text = curl_easy_strerror(code);
	answer->why = vbd_ctl_format("%s%s", text,
		code == CURLE_PEER_FAILED_VERIFICATION
			? "; --ca names the file of the CA of its certificate"
			: "");
	answer->outcome = VBD_CTL_LOST;
	if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
		answer->outcome = VBD_CTL_UNREACHABLE;
	/* TLS ends so too, when the server refuses the certificate. */
	else if (answer->status == 0 && scheme && strcasecmp(scheme, "http") == 0 &&
		 (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR ||
			 code == CURLE_SEND_ERROR))
		answer->outcome = VBD_CTL_CUT;
}

static void read_json(struct vbd_ctl_answer *answer)
{
	json_error_t error;

	if (answer->body_len == 0)
		return;
	answer->json = vbd_ctl_json_keep(json_loadb(answer->body, answer->body_len, 0, &error));
	if (!answer->json)
		answer->why = vbd_ctl_format("%s", error.text);
}

struct vbd_ctl_answer vbd_ctl_http_perform(
	struct vbd_ctl_http *http, const struct vbd_ctl_request *request)
{
	struct exchange exchange = {.curl = http->curl, .request = request};
	char *url = vbd_ctl_format("%s%s", http->base, request->path);
	char *json =
		request->body ? vbd_ctl_keep(json_dumps(request->body, JSON_COMPACT), free) : NULL;
	struct curl_slist *headers = make_headers(http, request);
	char error_text[CURL_ERROR_SIZE] = "";
	struct vbd_ctl_answer answer = {0};
	const char *type = NULL;
	CURLcode code;

	exchange.kept = vbd_ctl_must(open_memstream(&answer.body, &answer.body_len));
	curl_easy_reset(http->curl);
	set_server(http->curl, http, url);
	set_body(http->curl, &exchange, json);
	set_limits(http->curl, &exchange, http->patience_s);
	curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(http->curl, CURLOPT_ERRORBUFFER, error_text);
	curl_easy_setopt(http->curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(http->curl, CURLOPT_WRITEDATA, &exchange);
	vbd_ctl_progress_init(&exchange.progress, request->progress);
	code = curl_easy_perform(http->curl);
	vbd_ctl_progress_fini(&exchange.progress);
	(void)fclose(exchange.kept);
	vbd_ctl_keep(answer.body, free);
	curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &answer.status);
	curl_easy_getinfo(http->curl, CURLINFO_RETRY_AFTER, &answer.retry_after_s);
	curl_easy_getinfo(http->curl, CURLINFO_CONTENT_TYPE, &type);
	answer.content_type = vbd_ctl_format("%s", type ? type : "");
	set_outcome(&exchange, code, error_text, &answer);
	if (answer.outcome == VBD_CTL_ANSWERED)
		read_json(&answer);
	/* error_text is on the stack and the handle lives on. */
	curl_easy_setopt(http->curl, CURLOPT_ERRORBUFFER, NULL);
	curl_slist_free_all(headers);
	return answer;
}

static _Noreturn void fail_answer(
	const struct vbd_ctl_http *http, const struct vbd_ctl_answer *answer)
{
	json_t *problem = answer->json;

	if (http->asked && json_is_object(problem) && !http->json)
		vbd_ctl_json_set(problem, "instance", json_string(http->asked));
	if (!vbd_ctl_json_text(problem, "code") && !vbd_ctl_json_text(problem, "title"))
		vbd_ctl_note(
			"%s answered HTTP %ld, and not as verbsd does: is it verbsd, or a proxy?",
			http->shown, answer->status);
	else if (http->json)
		vbd_ctl_json_put(stderr, problem);
	else
		vbd_ctl_problem_put(http->args, problem);
	if (answer->retry_after_s > 0 && !http->json)
		fprintf(stderr, "  try again in  %lld s\n", (long long)answer->retry_after_s);
	vbd_ctl_end(vbd_ctl_problem_exit(problem));
}

static void report_unreachable(const struct vbd_ctl_http *http, const char *why)
{
	bool refused = !http->unix_path && strcmp(why, strerror(ECONNREFUSED)) == 0;

	if (http->unix_path && access(http->unix_path, F_OK) < 0 && errno == ENOENT)
		vbd_ctl_note(
			"can't reach verbsd: there is no %s; `systemctl status verbsd` says "
			"whether the service runs; if `unix_socket` of its verbsd.yaml is another "
			"path, --server unix:/PATH asks there",
			http->unix_path);
	else if (http->unix_path && access(http->unix_path, W_OK) < 0 && errno == EACCES)
		vbd_ctl_note("can't reach verbsd at %s: you may not open this socket; use sudo, or "
			     "log in as a member of its group (`ls -l %s`)",
			http->shown, http->unix_path);
	else
		vbd_ctl_note("can't reach verbsd at %s: %s; is it running?%s", http->shown, why,
			refused ? " It serves no TCP as installed: set `listen` in its verbsd.yaml"
				: "");
}

void vbd_ctl_http_fail(const struct vbd_ctl_http *http, const struct vbd_ctl_answer *answer)
{
	switch (answer->outcome) {
	case VBD_CTL_ANSWERED:
		fail_answer(http, answer);
	case VBD_CTL_UNREACHABLE:
		report_unreachable(http, answer->why);
		vbd_ctl_end(VBD_CTL_NO_SERVER);
	case VBD_CTL_CUT:
		vbd_ctl_note("no answer from verbsd at %s: %s; if ssh forwards this address, "
			     "verbsd does not run at the other end, or ssh has ended",
			http->shown, answer->why);
		vbd_ctl_end(VBD_CTL_NO_SERVER);
	case VBD_CTL_LOST:
		vbd_ctl_fail("no answer from verbsd at %s: %s", http->shown, answer->why);
	case VBD_CTL_STOPPED:
		break;
	}
	vbd_ctl_end(VBD_CTL_FAILED);
}

json_t *vbd_ctl_http_call(struct vbd_ctl_http *http, const struct vbd_ctl_request *request)
{
	const struct vbd_ctl_answer answer = vbd_ctl_http_perform(http, request);

	if (answer.outcome != VBD_CTL_ANSWERED || answer.status < 200 || answer.status >= 300)
		vbd_ctl_http_fail(http, &answer);
	if (answer.json || answer.status == 204 || request->sink)
		return answer.json;
	if (answer.body_len == 0)
		vbd_ctl_fail("%s answered HTTP %ld with an empty body; is it verbsd?", http->shown,
			answer.status);
	vbd_ctl_fail("%s answered something that is not JSON (%s): %s; is it verbsd?", http->shown,
		*answer.content_type ? answer.content_type : "no Content-Type", answer.why);
}
