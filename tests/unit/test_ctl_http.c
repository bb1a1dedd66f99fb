/* SPDX-License-Identifier: Apache-2.0 */
/* How verbsctl asks: what it tells libcurl, and what becomes of what libcurl says. */
#include "tests/unit/unit.h"

#include "cmd/verbsctl/common/http.h"
#include "cmd/verbsctl/common/call.h"

#include <curl/curl.h>

#include <unistd.h>

static struct vbd_ctl_answer answer;

/* --- a libcurl that asks nobody -------------------------------------------------------------- */

#define OPTIONS_MAX 64

struct option {
	CURLoption option;
	bool is_text;
	long number;
	char text[256];
	void *pointer;
};

static struct {
	struct option options[OPTIONS_MAX];
	size_t n_options;
	char headers[1024];
	/* The answer of the server. */
	CURLcode code;
	const char *error;
	long status, os_errno;
	curl_off_t retry_after;
	const char *type, *body;
	size_t body_bytes; /* 0: as long as `body` */
	size_t written;	   /* returned by the function for bodies */
	void (*during)(void);
	/* The output and the pauses of verbsctl. */
	unsigned int pauses_ms[16];
	size_t n_pauses;
	FILE *printed;
	int stderr_fd;
} test;

#undef curl_easy_setopt
#undef curl_easy_getinfo

CURLcode __real_curl_easy_setopt(CURL *curl, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *curl, CURLoption option, ...);
CURLcode __wrap_curl_easy_perform(CURL *curl);
CURLcode __wrap_curl_easy_getinfo(CURL *curl, CURLINFO info, ...);
void __wrap_curl_easy_reset(CURL *curl);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left);

int __wrap_nanosleep(const struct timespec *pause, struct timespec *left)
{
	(void)left;
	assert_true(test.n_pauses < VBD_ARRAY_LEN(test.pauses_ms));
	test.pauses_ms[test.n_pauses++] =
		(unsigned int)(pause->tv_sec * 1000 + pause->tv_nsec / 1000000);
	return 0;
}

void __wrap_curl_easy_reset(CURL *curl)
{
	(void)curl;
	test.n_options = 0;
}

static bool is_text(CURLoption option)
{
	static const CURLoption texts[] = {CURLOPT_URL, CURLOPT_PROTOCOLS_STR, CURLOPT_PROXY,
		CURLOPT_USERAGENT, CURLOPT_UNIX_SOCKET_PATH, CURLOPT_CAINFO, CURLOPT_SSLCERT,
		CURLOPT_SSLKEY, CURLOPT_POSTFIELDS, CURLOPT_CUSTOMREQUEST};

	for (size_t i = 0; i < VBD_ARRAY_LEN(texts); i++) {
		if (option == texts[i])
			return true;
	}
	return false;
}

CURLcode __wrap_curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
	struct option *at = &test.options[test.n_options++];
	va_list ap;

	(void)curl;
	assert_true(test.n_options <= OPTIONS_MAX);
	*at = (struct option){.option = option, .is_text = is_text(option)};
	va_start(ap, option);
	if (at->is_text)
		(void)snprintf(at->text, sizeof(at->text), "%s", va_arg(ap, const char *));
	else if (option < CURLOPTTYPE_OBJECTPOINT || option >= CURLOPTTYPE_OFF_T)
		at->number = va_arg(ap, long);
	else
		at->pointer = va_arg(ap, void *);
	va_end(ap);
	return CURLE_OK;
}

static const struct option *option(CURLoption wanted)
{
	for (size_t i = 0; i < test.n_options; i++) {
		if (test.options[i].option == wanted)
			return &test.options[i];
	}
	return NULL;
}

static void *pointer_of(CURLoption wanted)
{
	assert_non_null(option(wanted));
	return option(wanted)->pointer;
}

static size_t give(const char *bytes, size_t len)
{
	size_t (*take)(char *, size_t, size_t, void *) =
		(size_t(*)(char *, size_t, size_t, void *))pointer_of(CURLOPT_WRITEFUNCTION);

	return take((char *)bytes, 1, len, pointer_of(CURLOPT_WRITEDATA));
}

CURLcode __wrap_curl_easy_perform(CURL *curl)
{
	const struct curl_slist *header = pointer_of(CURLOPT_HTTPHEADER);

	(void)curl;
	test.headers[0] = '\0';
	for (; header; header = header->next) {
		size_t used = strlen(test.headers);

		(void)snprintf(
			test.headers + used, sizeof(test.headers) - used, "%s\n", header->data);
	}
	if (test.error)
		(void)snprintf(pointer_of(CURLOPT_ERRORBUFFER), CURL_ERROR_SIZE, "%s", test.error);
	if (test.during)
		test.during();
	if (test.body)
		test.written =
			give(test.body, test.body_bytes ? test.body_bytes : strlen(test.body));
	return test.code;
}

CURLcode __wrap_curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
	va_list ap;

	(void)curl;
	va_start(ap, info);
	if (info == CURLINFO_RESPONSE_CODE)
		*va_arg(ap, long *) = test.status;
	else if (info == CURLINFO_OS_ERRNO)
		*va_arg(ap, long *) = test.os_errno;
	else if (info == CURLINFO_RETRY_AFTER)
		*va_arg(ap, curl_off_t *) = test.retry_after;
	else if (info == CURLINFO_CONTENT_TYPE)
		*va_arg(ap, const char **) = test.type;
	else if (info == CURLINFO_SCHEME)
		*va_arg(ap, const char **) = "HTTP";
	else
		fail();
	va_end(ap);
	return CURLE_OK;
}

static int set_up(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	test.printed = tmpfile();
	test.stderr_fd = dup(STDERR_FILENO);
	return test.printed && dup2(fileno(test.printed), STDERR_FILENO) >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	(void)dup2(test.stderr_fd, STDERR_FILENO);
	(void)close(test.stderr_fd);
	(void)fclose(test.printed);
	return 0;
}

#define CTL_HTTP_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

/* Returns the text on standard error since the last call. */
static const char *printed(void)
{
	static char text[4096];
	size_t len;

	(void)fflush(stderr);
	rewind(test.printed);
	len = fread(text, 1, sizeof(text) - 1, test.printed);
	text[len] = '\0';
	assert_int_equal(ftruncate(fileno(test.printed), 0), 0);
	rewind(test.printed);
	return text;
}

struct opening {
	struct vbd_ctl_http *http;
	const char *url;
	const struct vbd_ctl_credentials *credentials;
};

static void open_http(void *arg)
{
	const struct opening *opening = arg;

	vbd_ctl_http_init(opening->http, opening->url, opening->credentials);
}

static enum vbd_ctl_exit opened(
	struct vbd_ctl_http *http, const char *url, const struct vbd_ctl_credentials *credentials)
{
	return vbd_ctl_try(open_http, &(struct opening){http, url, credentials});
}

static struct vbd_ctl_http http_of(const char *url, const struct vbd_ctl_credentials *more)
{
	struct vbd_ctl_credentials credentials = more ? *more : (struct vbd_ctl_credentials){0};
	struct vbd_ctl_http http;

	credentials.token_variable = "TEST_TOKEN";
	credentials.token_file_variable = "TEST_TOKEN_FILE";
	assert_int_equal(opened(&http, url, &credentials), VBD_CTL_OK);
	return http;
}

static enum vbd_ctl_outcome ask(const struct vbd_ctl_request *request)
{
	struct vbd_ctl_http http = http_of("http://127.0.0.1", NULL);

	answer = vbd_ctl_http_perform(&http, request);
	return answer.outcome;
}

/* Asks, and looks only at what was asked for. */
static void ask_only(const struct vbd_ctl_request *request)
{
	(void)ask(request);
}

static void has_text(CURLoption wanted, const char *text)
{
	assert_non_null(option(wanted));
	assert_string_equal(option(wanted)->text, text);
}

static void has_number(CURLoption wanted, long number)
{
	assert_non_null(option(wanted));
	assert_int_equal(option(wanted)->number, number);
}

/* --- what is asked --------------------------------------------------------------------------- */

CTL_HTTP_TEST(test_http__a_get_goes_to_the_server_itself)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = "/v1/../x"};

	ask_only(&request);
	has_text(CURLOPT_URL, "http://127.0.0.1:7480/v1/../x");
	has_text(CURLOPT_PROTOCOLS_STR, "http,https");
	has_text(CURLOPT_PROXY, "");
	has_number(CURLOPT_PATH_AS_IS, 1);
	has_number(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
	assert_memory_equal(option(CURLOPT_USERAGENT)->text, "verbsctl/", 9);
	assert_string_equal(test.headers, "Accept: application/json, */*;q=0.5\n");
	assert_null(option(CURLOPT_CUSTOMREQUEST));
	assert_null(option(CURLOPT_POSTFIELDS));
	assert_null(option(CURLOPT_UPLOAD));
	assert_null(option(CURLOPT_UNIX_SOCKET_PATH));
	assert_null(option(CURLOPT_CAINFO));
	assert_null(option(CURLOPT_SSLCERT));
	assert_null(option(CURLOPT_NOPROGRESS));
}

CTL_HTTP_TEST(test_http__each_method_has_its_body_and_type)
{
	static const struct {
		const char *method;
		bool has_body;
		const char *body; /* NULL: libcurl is given none */
		bool typed;
	} cases[] = {
		{"POST", true, "{\"a\":1}", true},
		{"POST", false, "", true},
		{"PATCH", true, "{\"a\":1}", true},
		{"PUT", false, "", false},
		{"DELETE", false, NULL, false},
		{"DELETE", true, "{\"a\":1}", false},
	};
	json_t *body = json_pack("{s:i}", "a", 1);

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		const struct vbd_ctl_request request = {.method = cases[i].method,
			.path = "/v1/x",
			.body = cases[i].has_body ? body : NULL};

		ask_only(&request);
		has_text(CURLOPT_CUSTOMREQUEST, cases[i].method);
		if (cases[i].body)
			has_text(CURLOPT_POSTFIELDS, cases[i].body);
		else
			assert_null(option(CURLOPT_POSTFIELDS));
		assert_int_equal(strstr(test.headers, "\nContent-Type: application/json\n") != NULL,
			cases[i].typed);
	}
	json_decref(body);
}

static bool take(const char *bytes, size_t len, void *arg)
{
	(void)bytes;
	*(size_t *)arg += len;
	return *(size_t *)arg < 10;
}

static bool go_on(void *arg)
{
	return *(bool *)arg;
}

CTL_HTTP_TEST(test_http__an_answer_has_its_time_and_a_stream_as_long_as_it_moves)
{
	struct vbd_ctl_upload upload = {.fd = STDIN_FILENO, .bytes = 5};
	struct vbd_ctl_request request = {
		.method = "GET", .path = "/", .wait_s = 7, .prefer_wait = true};

	ask_only(&request);
	has_number(CURLOPT_TIMEOUT, 30 + 7);
	has_number(CURLOPT_CONNECTTIMEOUT, 10);
	assert_non_null(strstr(test.headers, "\nPrefer: wait=7\n"));
	assert_null(option(CURLOPT_LOW_SPEED_TIME));
	request.sink = take;
	ask_only(&request);
	assert_null(option(CURLOPT_TIMEOUT));
	has_number(CURLOPT_LOW_SPEED_LIMIT, 1);
	has_number(CURLOPT_LOW_SPEED_TIME, 60);
	request = (struct vbd_ctl_request){.method = "PUT", .path = "/", .upload = &upload};
	ask_only(&request);
	assert_null(option(CURLOPT_TIMEOUT));
	has_number(CURLOPT_LOW_SPEED_TIME, 60);
	has_number(CURLOPT_UPLOAD, 1);
	has_number(CURLOPT_INFILESIZE_LARGE, 5);
	assert_null(option(CURLOPT_CUSTOMREQUEST));
	assert_non_null(strstr(test.headers, "\nContent-Type: application/octet-stream\n"));
}

CTL_HTTP_TEST(test_http__the_addresses_of_a_server_have_many_forms)
{
	static const char *const forms[][2] = {
		{"127.0.0.1", "http://127.0.0.1:7480/v1"},
		{"127.0.0.1:1", "http://127.0.0.1:1/v1"},
		{"https://h", "https://h:7480/v1"},
		{"http://[::1]:2//", "http://[::1]:2/v1"},
		{"unix:/run/x", "http://localhost/v1"},
	};
	static const char *const bad[] = {"ftp://h", "http://u@h", "http://u:p@h", "http://h?q",
		"http://h#f", "http://", "unix:x", "h:port"};
	const struct vbd_ctl_request request = {.method = "GET", .path = "/v1"};
	const struct vbd_ctl_credentials none = {
		.token_variable = "TEST_TOKEN", .token_file_variable = "TEST_TOKEN_FILE"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(forms); i++) {
		struct vbd_ctl_http http = http_of(forms[i][0], NULL);

		answer = vbd_ctl_http_perform(&http, &request);
		has_text(CURLOPT_URL, forms[i][1]);
		assert_int_equal(option(CURLOPT_UNIX_SOCKET_PATH) != NULL, i == 4);
		if (i == 4)
			has_text(CURLOPT_UNIX_SOCKET_PATH, "/run/x");
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		struct vbd_ctl_http http;

		assert_int_equal(opened(&http, bad[i], &none), VBD_CTL_USAGE);
		assert_non_null(strstr(printed(), "is not an address of verbsd"));
	}
}

CTL_HTTP_TEST(test_http__a_token_stays_on_the_host_or_is_encrypted)
{
	static const struct {
		const char *url;
		bool insecure, allowed;
	} cases[] = {
		{"http://127.0.0.1", false, true},
		{"http://127.255.0.9:5", false, true},
		{"http://126.0.0.1", false, false},
		{"http://128.0.0.1", false, false},
		{"http://128.0.0.1", true, true},
		{"http://localhost", false, true},
		{"http://localhost2", false, false},
		{"http://[::1]", false, true},
		{"http://[::2]", false, false},
		{"https://192.0.2.1", false, true},
		{"unix:/x", false, true},
	};

	assert_int_equal(setenv("TEST_TOKEN", "secret \t\r\nmore", 1), 0);
	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		const struct vbd_ctl_request request = {.method = "GET", .path = "/"};
		const struct vbd_ctl_credentials credentials = {.token_variable = "TEST_TOKEN",
			.token_file_variable = "TEST_TOKEN_FILE",
			.insecure = cases[i].insecure};
		struct vbd_ctl_http http;

		assert_int_equal(opened(&http, cases[i].url, &credentials),
			cases[i].allowed ? VBD_CTL_OK : VBD_CTL_USAGE);
		if (cases[i].allowed) {
			answer = vbd_ctl_http_perform(&http, &request);
			assert_non_null(strstr(test.headers, "\nAuthorization: Bearer secret\n"));
		} else {
			assert_non_null(strstr(printed(), "would go to http://"));
		}
	}
	assert_int_equal(unsetenv("TEST_TOKEN"), 0);
}

CTL_HTTP_TEST(test_http__a_token_has_printable_characters)
{
	static const struct {
		const char *token;
		const char *text; /* NULL: it is taken */
	} cases[] = {
		{"!", NULL},
		{"~", NULL},
		{" ", "TEST_TOKEN: the token is missing"},
		{"\n", "TEST_TOKEN: the token is missing"},
		{"a b", "TEST_TOKEN: a token has only printable ASCII characters and no space"},
		{"\x7f", "TEST_TOKEN: a token has only printable ASCII characters and no space"},
		{"a\x80", "TEST_TOKEN: a token has only printable ASCII characters and no space"},
		{"\x01"
		 "a",
			"TEST_TOKEN: a token has only printable ASCII characters and no space"},
	};
	const struct vbd_ctl_credentials credentials = {
		.token_variable = "TEST_TOKEN", .token_file_variable = "TEST_TOKEN_FILE"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		struct vbd_ctl_http http;

		assert_int_equal(setenv("TEST_TOKEN", cases[i].token, 1), 0);
		assert_int_equal(opened(&http, "127.0.0.1", &credentials),
			cases[i].text ? VBD_CTL_USAGE : VBD_CTL_OK);
		if (cases[i].text)
			assert_non_null(strstr(printed(), cases[i].text));
		else
			assert_string_equal(http.token, cases[i].token);
	}
	assert_int_equal(unsetenv("TEST_TOKEN"), 0);
}

CTL_HTTP_TEST(test_http__files_of_tls_are_given_on)
{
	const char *here = "/dev/null";
	struct vbd_ctl_credentials credentials = {.ca = here, .cert = "/dev/zero"};
	const struct vbd_ctl_request request = {.method = "GET", .path = "/"};
	struct vbd_ctl_http http;

	for (int i = 0; i < 2; i++) {
		credentials.key = i ? here : NULL;
		http = http_of("https://h", &credentials);
		answer = vbd_ctl_http_perform(&http, &request);
		has_text(CURLOPT_CAINFO, here);
		has_text(CURLOPT_SSLCERT, "/dev/zero");
		has_text(CURLOPT_SSLKEY, i ? here : "/dev/zero");
	}
	credentials = (struct vbd_ctl_credentials){.key = here};
	assert_int_equal(opened(&http, "https://h", &credentials), VBD_CTL_USAGE);
	assert_non_null(strstr(printed(), "--key needs --cert, which is its certificate"));
	for (int i = 0; i < 3; i++) {
		static const char *const texts[] = {"CA file /nowhere/x: No such file",
			"certificate file /nowhere/x: No such file",
			"key file /nowhere/x: No such file"};

		credentials = (struct vbd_ctl_credentials){.ca = i == 0 ? "/nowhere/x" : NULL,
			.cert = i == 1 ? "/nowhere/x" : here,
			.key = i == 2 ? "/nowhere/x" : NULL};
		assert_int_equal(opened(&http, "https://h", &credentials), VBD_CTL_USAGE);
		assert_non_null(strstr(printed(), texts[i]));
	}
}

/* --- what comes back ------------------------------------------------------------------------- */

CTL_HTTP_TEST(test_http__each_end_of_a_request_has_its_outcome)
{
	static const struct {
		CURLcode code;
		long status, os_errno;
		const char *error;
		enum vbd_ctl_outcome outcome;
		const char *why;
	} cases[] = {
		{CURLE_OK, 200, 0, NULL, VBD_CTL_ANSWERED, NULL},
		{CURLE_OK, 500, 0, NULL, VBD_CTL_ANSWERED, NULL},
		{CURLE_COULDNT_CONNECT, 0, ECONNREFUSED, "x", VBD_CTL_UNREACHABLE,
			"Connection refused"},
		{CURLE_COULDNT_CONNECT, 0, 0, "too far", VBD_CTL_UNREACHABLE, "too far"},
		{CURLE_COULDNT_RESOLVE_HOST, 0, ENOENT, "no such host", VBD_CTL_UNREACHABLE,
			"no such host"},
		{CURLE_PEER_FAILED_VERIFICATION, 0, 0, "bad", VBD_CTL_LOST,
			"bad; --ca names the file of the CA of its certificate"},
		{CURLE_GOT_NOTHING, 0, 0, NULL, VBD_CTL_CUT,
			"Server returned nothing (no headers, no data)"},
		{CURLE_PARTIAL_FILE, 200, ECONNRESET, "cut", VBD_CTL_LOST, "cut"},
		{CURLE_RECV_ERROR, 0, ECONNRESET, "cut", VBD_CTL_CUT, "cut"},
		{CURLE_SEND_ERROR, 413, 0, "cut", VBD_CTL_LOST, "cut"},
	};
	const struct vbd_ctl_request request = {.method = "GET", .path = "/"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		test.code = cases[i].code;
		test.status = cases[i].status;
		test.os_errno = cases[i].os_errno;
		test.error = cases[i].error;
		assert_int_equal(ask(&request), cases[i].outcome);
		assert_int_equal(answer.status, cases[i].status);
		if (cases[i].why)
			assert_string_equal(answer.why, cases[i].why);
		else
			assert_null(answer.why);
	}
}

/* The server may close the connection of a long upload that it has refused. */
CTL_HTTP_TEST(test_http__an_upload_that_was_refused_is_answered)
{
	struct vbd_ctl_upload upload = {.fd = -1, .bytes = 1};
	const struct vbd_ctl_request request = {.method = "PUT", .path = "/", .upload = &upload};
	static const long statuses[] = {399, 400, 413};

	test.code = CURLE_SEND_ERROR;
	for (size_t i = 0; i < VBD_ARRAY_LEN(statuses); i++) {
		test.status = statuses[i];
		assert_int_equal(ask(&request), i ? VBD_CTL_ANSWERED : VBD_CTL_LOST);
	}
}

CTL_HTTP_TEST(test_http__an_answer_is_kept_with_its_headers)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = "/"};

	test.status = 429;
	test.retry_after = 7;
	test.body = "{}x";
	assert_int_equal(ask(&request), VBD_CTL_ANSWERED);
	assert_int_equal(test.written, 3);
	assert_string_equal(answer.body, "{}x");
	assert_int_equal(answer.body_len, 3);
	assert_int_equal(answer.retry_after_s, 7);
	assert_string_equal(answer.content_type, "");
	test.type = "text/plain";
	assert_int_equal(ask(&request), VBD_CTL_ANSWERED);
	assert_string_equal(answer.content_type, "text/plain");
}

CTL_HTTP_TEST(test_http__an_answer_beyond_256_mib_is_too_long)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = "/"};

	test.status = 200;
	test.code = CURLE_WRITE_ERROR;
	test.body = "";
	test.body_bytes = (size_t)256 * 1024 * 1024 + 1; /* which nobody reads */
	assert_int_equal(ask(&request), VBD_CTL_LOST);
	assert_int_equal(test.written, 0);
	assert_string_equal(answer.why, "the answer is too long");
}

CTL_HTTP_TEST(test_http__a_sink_takes_a_good_answer_only_and_may_stop_it)
{
	static const struct {
		long status;
		bool taken;
	} cases[] = {{199, false}, {200, true}, {299, true}, {300, false}, {404, false}};
	struct vbd_ctl_request request = {.method = "GET", .path = "/", .sink = take};

	test.body = "12345";
	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		size_t taken = 0;

		request.sink_arg = &taken;
		test.status = cases[i].status;
		assert_int_equal(ask(&request), VBD_CTL_ANSWERED);
		assert_int_equal(taken, cases[i].taken ? 5 : 0);
		assert_int_equal(answer.body_len, cases[i].taken ? 0 : 5);
		assert_int_equal(test.written, 5);
	}
	for (size_t taken = 5; taken == 5;) {
		request.sink_arg = &taken;
		test.status = 200;
		test.code = CURLE_WRITE_ERROR;
		assert_int_equal(ask(&request), VBD_CTL_STOPPED);
		assert_int_equal(test.written, 0);
		assert_null(answer.why);
	}
}

/* --- uploads --------------------------------------------------------------------------------- */

static struct vbd_ctl_upload upload;

static size_t read_some(char *buf, size_t size)
{
	size_t (*read_cb)(char *, size_t, size_t, void *) =
		(size_t(*)(char *, size_t, size_t, void *))pointer_of(CURLOPT_READFUNCTION);

	return read_cb(buf, 1, size, pointer_of(CURLOPT_READDATA));
}

static int seek_to(curl_off_t offset, int origin)
{
	int (*seek_cb)(void *, curl_off_t, int) =
		(int (*)(void *, curl_off_t, int))pointer_of(CURLOPT_SEEKFUNCTION);

	return seek_cb(pointer_of(CURLOPT_SEEKDATA), offset, origin);
}

static void read_a_file(void)
{
	char buf[16];

	assert_int_equal(read_some(buf, 4), 4);
	assert_memory_equal(buf, "2345", 4);
	assert_int_equal(upload.sent_bytes, 4);
	assert_int_equal(read_some(buf, 16), 2); /* the file has grown since */
	assert_memory_equal(buf, "67", 2);
	assert_int_equal(read_some(buf, 16), 0);
	assert_int_equal(upload.sent_bytes, 6);
	assert_int_equal(seek_to(1, SEEK_CUR), CURL_SEEKFUNC_CANTSEEK);
	assert_int_equal(seek_to(1, SEEK_SET), CURL_SEEKFUNC_OK);
	assert_int_equal(upload.sent_bytes, 1);
	assert_int_equal(read_some(buf, 16), 5);
	assert_memory_equal(buf, "34567", 5);
}

static void read_a_file_that_shrank(void)
{
	char buf[16];

	assert_int_equal(read_some(buf, 16), 8);
	assert_int_equal(read_some(buf, 16), CURL_READFUNC_ABORT);
	assert_non_null(strstr(printed(), "can't read the file: the file became shorter"));
}

static void read_nothing(void)
{
	char buf[16];

	assert_int_equal(read_some(buf, 16), CURL_READFUNC_ABORT);
	assert_non_null(strstr(printed(), "can't read the file: Bad file descriptor"));
}

static void read_a_pipe(void)
{
	char buf[16];

	assert_int_equal(read_some(buf, 16), 3);
	assert_int_equal(read_some(buf, 16), 0);
	assert_int_equal(upload.sent_bytes, 3);
	assert_int_equal(seek_to(0, SEEK_SET), CURL_SEEKFUNC_CANTSEEK);
}

static void put(void (*during)(void), enum vbd_ctl_outcome outcome)
{
	const struct vbd_ctl_request request = {.method = "PUT", .path = "/", .upload = &upload};

	test.during = during;
	test.status = 204;
	assert_int_equal(ask(&request), outcome);
}

CTL_HTTP_TEST(test_http__an_upload_has_the_bytes_that_were_announced)
{
	FILE *file = tmpfile();
	int ends[2];

	assert_non_null(file);
	assert_true(fputs("0123456789", file) >= 0 && fflush(file) == 0);
	assert_int_equal(lseek(fileno(file), 2, SEEK_SET), 2);
	upload = (struct vbd_ctl_upload){.fd = fileno(file), .start = 2, .bytes = 6};
	put(read_a_file, VBD_CTL_ANSWERED);
	assert_int_equal(lseek(fileno(file), 2, SEEK_SET), 2);
	upload = (struct vbd_ctl_upload){.fd = fileno(file), .start = 2, .bytes = 9};
	put(read_a_file_that_shrank, VBD_CTL_STOPPED);
	(void)fclose(file);
	upload = (struct vbd_ctl_upload){.fd = -1, .bytes = -1};
	put(read_nothing, VBD_CTL_STOPPED);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "abc", 3), 3);
	(void)close(ends[1]);
	upload = (struct vbd_ctl_upload){.fd = ends[0], .start = -1, .bytes = -1};
	put(read_a_pipe, VBD_CTL_ANSWERED);
	(void)close(ends[0]);
}

/* --- during a request ------------------------------------------------------------------------ */

static int progress(void)
{
	int (*cb)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t) =
		(int (*)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t))pointer_of(
			CURLOPT_XFERINFOFUNCTION);

	return cb(pointer_of(CURLOPT_XFERINFODATA), 100, 50, 10, 9);
}

static int stops;

static void look_at_progress(void)
{
	stops = progress();
}

CTL_HTTP_TEST(test_http__a_request_goes_on_while_the_caller_says_so)
{
	bool goes_on = true;
	const struct vbd_ctl_request request = {
		.method = "GET", .path = "/", .idle = go_on, .idle_arg = &goes_on};

	test.status = 200;
	test.during = look_at_progress;
	for (int i = 0; i < 2; i++) {
		goes_on = i == 0;
		assert_int_equal(ask(&request), goes_on ? VBD_CTL_ANSWERED : VBD_CTL_STOPPED);
		has_number(CURLOPT_NOPROGRESS, 0);
		assert_int_equal(stops, !goes_on);
	}
}

/* --- trying again ---------------------------------------------------------------------------- */

CTL_HTTP_TEST(test_http__what_may_pass_is_tried_again)
{
	static const struct {
		enum vbd_ctl_outcome outcome;
		long status;
		bool passes;
	} cases[] = {
		{VBD_CTL_UNREACHABLE, 0, true},
		{VBD_CTL_LOST, 0, true},
		{VBD_CTL_STOPPED, 503, false},
		{VBD_CTL_ANSWERED, 200, false},
		{VBD_CTL_ANSWERED, 404, false},
		{VBD_CTL_ANSWERED, 429, true},
		{VBD_CTL_ANSWERED, 499, false},
		{VBD_CTL_ANSWERED, 500, true},
		{VBD_CTL_ANSWERED, 503, true},
	};

	const struct vbd_ctl_http http = {.shown = (char *)"h:1"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		unsigned int pause_ms = 0;

		answer = (struct vbd_ctl_answer){.outcome = cases[i].outcome,
			.status = cases[i].status,
			.why = (char *)"gone"};
		assert_int_equal(vbd_ctl_retry(&pause_ms, &http, &answer), cases[i].passes);
		assert_int_equal(pause_ms, cases[i].passes ? 250 : 0);
	}
	(void)printed();
}

CTL_HTTP_TEST(test_http__pauses_between_tries_double_up_to_five_seconds)
{
	static const unsigned int pauses_ms[] = {250, 500, 1000, 2000, 4000, 5000, 5000};
	const struct vbd_ctl_http http = {.shown = (char *)"h:1"};
	const struct vbd_ctl_answer refused = {
		.outcome = VBD_CTL_UNREACHABLE, .why = (char *)"refused"};
	const struct vbd_ctl_answer busy = {.outcome = VBD_CTL_ANSWERED, .status = 503};
	const struct vbd_ctl_answer good = {.outcome = VBD_CTL_ANSWERED, .status = 200};
	unsigned int pause_ms = 0;

	assert_false(vbd_ctl_retry(&pause_ms, &http, &good));
	for (size_t i = 0; i < VBD_ARRAY_LEN(pauses_ms); i++)
		assert_true(vbd_ctl_retry(&pause_ms, &http, i ? &busy : &refused));
	assert_int_equal(test.n_pauses, VBD_ARRAY_LEN(pauses_ms));
	assert_memory_equal(test.pauses_ms, pauses_ms, sizeof(pauses_ms));
	assert_false(vbd_ctl_retry(&pause_ms, &http, &good));
	assert_false(vbd_ctl_retry(&pause_ms, &http, &good));
	assert_string_equal(printed(), "verbsctl: lost verbsd at h:1: refused; trying again\n"
				       "verbsctl: verbsd at h:1 is back\n");
	assert_true(vbd_ctl_retry(&pause_ms, &http, &busy));
	assert_int_equal(test.pauses_ms[7], 250);
	assert_string_equal(
		printed(), "verbsctl: lost verbsd at h:1: it can't answer now; trying again\n");
}

/* --- problems -------------------------------------------------------------------------------- */

TEST(test_problem__the_path_of_an_object_becomes_its_kind_and_id)
{
	static const char *const cases[][2] = {
		{"/v1/connections/7", "connection/7"},
		{"/v1/pds/a", "pd/a"},
		{"/v1/transfer_batches/7", "transfer_batch/7"},
		{"/v1/kept_objects/a b", "kept_object/a b"},
		{"/v1/connections/7/close", "connection/7/close"},
		{"/v1/connections", "/v1/connections"},
		{"/v1/stats/", "stat/"},
		{"/v1/drain/7", "/v1/drain/7"},
		{"/v1//7", "/v1//7"},
		{"/v1/", "/v1/"},
		{"/v2/connections/7", "/v2/connections/7"},
		{"", ""},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		char *object = vbd_ctl_problem_object(cases[i][0]);

		assert_string_equal(object, cases[i][1]);
	}
}
