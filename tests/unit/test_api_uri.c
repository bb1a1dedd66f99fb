/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/uri.h"

#include "tests/unit/unit.h"

static char room[4096];

static enum vbd_status parse(const char *text, struct vbd_uri *uri, struct vbd_error *err)
{
	(void)snprintf(room, sizeof(room), "%s", text);
	return vbd_uri_parse(room, uri, err);
}

TEST(test_uri__path_and_parameters_come_apart_decoded)
{
	struct vbd_uri uri;

	assert_int_equal(
		parse("/v1/dev%69ces/a%20b/?limit=1&q=x%26y+z&flag&&e=", &uri, NULL), VBD_OK);
	assert_int_equal(uri.n_segments, 4);
	assert_string_equal(uri.segments[0], "v1");
	assert_string_equal(uri.segments[1], "devices");
	assert_string_equal(uri.segments[2], "a b");
	assert_string_equal(uri.segments[3], "");
	assert_int_equal(uri.n_params, 4);
	assert_string_equal(vbd_uri_param(&uri, "limit"), "1");
	assert_string_equal(vbd_uri_param(&uri, "q"), "x&y z");
	assert_string_equal(vbd_uri_param(&uri, "flag"), "");
	assert_string_equal(vbd_uri_param(&uri, "e"), "");
	assert_null(vbd_uri_param(&uri, "none"));
}

TEST(test_uri__dangerous_targets_are_malformed)
{
	static const char *const targets[] = {"", "*", "v1", "http://x/v1", "//x/../y", "/v1/../x",
		"/v1/./x", "/..", "/v1/%2e%2e/x", "/v1/.%2E", "/a%2fb", "/a%2Fb", "/a%00b",
		"/a?b=%00", "/a%", "/a%4", "/a%zz", "/a b", "/a\tb", "/a\x7f", "/a\xc3\xa9", "/%ff",
		"/?q=%c0%af", "/a#b", "/a\\b", "/%0d%0aX", "/?a=1&a=2", "/?%61=1&a=2"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(targets); i++) {
		struct vbd_error err = {0};
		struct vbd_uri uri;

		if (parse(targets[i], &uri, &err) != VBD_E_MALFORMED_REQUEST)
			fail_msg("'%s' passes", targets[i]);
		assert_true(strlen(err.text) > 0);
	}
}

TEST(test_uri__an_encoded_slash_is_harmless_in_a_value)
{
	struct vbd_uri uri;

	assert_int_equal(parse("/v1?object=connection%2F7", &uri, NULL), VBD_OK);
	assert_string_equal(vbd_uri_param(&uri, "object"), "connection/7");
}

TEST(test_uri__too_many_segments_are_counted_and_not_kept)
{
	struct vbd_uri uri;

	assert_int_equal(parse("/1/2/3/4/5/6/7/8/9/10", &uri, NULL), VBD_OK);
	assert_int_equal(uri.n_segments, 10);
	assert_string_equal(uri.segments[VBD_URI_SEGMENTS_MAX - 1], "8");
}

TEST(test_uri__too_many_parameters_are_refused)
{
	struct vbd_uri uri;

	assert_int_equal(parse("/?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p", &uri, NULL), VBD_OK);
	assert_int_equal(
		parse("/?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q", &uri, NULL), VBD_E_MALFORMED_REQUEST);
}

TEST(test_uri__an_absolute_form_has_a_host_and_a_path)
{
	static const struct {
		const char *target, *scheme, *authority, *path;
	} cases[] = {
		{"http://a.example:80/v1?x=1", "http", "a.example:80", "/v1?x=1"},
		{"HTTPS://[::1]/", "https", "[::1]", "/"},
		{"http://a", "http", "a", "/"},
		{"http://a?x=1", "http", "a", "/?x=1"},
		{"http://a@b/c", "http", "a@b", "/c"},
		{"/v1?to=http://a/b", NULL, NULL, "/v1?to=http://a/b"},
		{"http:///v1", NULL, NULL, "http:///v1"},
		{"http://", NULL, NULL, "http://"},
		{"ftp://a/b", NULL, NULL, "ftp://a/b"},
		{"*", NULL, NULL, "*"},
		{"", NULL, NULL, ""},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		const char *scheme = NULL, *authority = NULL;

		(void)snprintf(room, sizeof(room), "%s", cases[i].target);
		assert_string_equal(vbd_uri_split(room, &scheme, &authority), cases[i].path);
		assert_int_equal(!scheme, !cases[i].scheme);
		if (!scheme)
			continue;
		assert_string_equal(scheme, cases[i].scheme);
		assert_string_equal(authority, cases[i].authority);
	}
}
