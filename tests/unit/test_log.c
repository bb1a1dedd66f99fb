/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/text.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

struct fixture {
	int saved_stderr;
	int file;
	char written[4096];
	enum vbd_log_level seen_level;
	int seen;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char path[256];

	assert_non_null(f);
	(void)snprintf(path, sizeof(path), "%s/test_log_XXXXXX", unit_tmpdir());
	f->saved_stderr = dup(STDERR_FILENO);
	f->file = mkstemp(path);
	assert_true(f->file >= 0);
	(void)unlink(path);
	assert_true(dup2(f->file, STDERR_FILENO) >= 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)dup2(f->saved_stderr, STDERR_FILENO);
	(void)close(f->saved_stderr);
	(void)close(f->file);
	vbd_log_set_observer(NULL, NULL);
	vbd_log_setup(VBD_LOG_INFO, VBD_LOG_TEXT);
	free(f);
	return 0;
}

#define LOG_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

/* The text written since the last call. */
static const char *written(struct fixture *f)
{
	ssize_t len = pread(f->file, f->written, sizeof(f->written) - 1, 0);

	assert_true(len >= 0);
	f->written[len] = '\0';
	assert_int_equal(ftruncate(f->file, 0), 0);
	assert_int_equal(lseek(f->file, 0, SEEK_SET), 0);
	return f->written;
}

/* The line without its time, "2026-01-02T03:04:05.000000006Z". */
static const char *behind_time(const char *line)
{
	assert_true(strlen(line) > 30);
	assert_int_equal(line[10], 'T');
	assert_int_equal(line[29], 'Z');
	return line + 30;
}

LOG_TEST(test_log__a_text_line_has_time_level_object_and_text)
{
	vbd_log_setup(VBD_LOG_INFO, VBD_LOG_TEXT);
	vbd_log(VBD_LOG_INFO, "connection/7", "state %s", "x");
	assert_string_equal(behind_time(written(f)), " info    connection/7: state x\n");
	vbd_log(VBD_LOG_WARNING, NULL, "hm");
	assert_string_equal(behind_time(written(f)), " warning verbsd: hm\n");
}

LOG_TEST(test_log__a_json_line_is_one_object_with_escapes)
{
	const char *line;

	vbd_log_setup(VBD_LOG_INFO, VBD_LOG_JSON);
	vbd_log(VBD_LOG_ERROR, "buffer/1", "a \"b\" \\ \n\x01 \xc3\xa4 \xff");
	line = written(f);
	assert_memory_equal(line, "{\"at\":\"", 7);
	assert_string_equal(behind_time(line + 7),
		"\",\"level\":\"error\",\"object\":\"buffer/1\","
		"\"text\":\"a \\\"b\\\" \\\\ ?? \xc3\xa4 ?\"}\n");
}

LOG_TEST(test_log__a_journal_line_begins_with_its_priority)
{
	vbd_log_setup(VBD_LOG_DEBUG, VBD_LOG_JOURNAL);
	vbd_log(VBD_LOG_WARNING, "device/1", "gone");
	assert_string_equal(written(f), "<4>device/1: gone\n");
	vbd_log(VBD_LOG_DEBUG, NULL, "x");
	assert_string_equal(written(f), "<7>verbsd: x\n");
}

static void count_lines(enum vbd_log_level level, const char *object, const char *text, void *arg)
{
	struct fixture *f = arg;

	assert_string_equal(object, "x/1");
	assert_string_equal(text, "clean?");
	f->seen_level = level;
	f->seen++;
}

LOG_TEST(test_log__what_is_below_the_level_is_neither_written_nor_observed)
{
	vbd_log_setup(VBD_LOG_NOTICE, VBD_LOG_TEXT);
	vbd_log_set_observer(count_lines, f);
	assert_false(vbd_log_enabled(VBD_LOG_INFO));
	assert_true(vbd_log_enabled(VBD_LOG_NOTICE));
	vbd_log(VBD_LOG_INFO, "x/1", "clean\n");
	assert_string_equal(written(f), "");
	assert_int_equal(f->seen, 0);
	vbd_log(VBD_LOG_ERROR, "x/1", "clean\n");
	assert_int_equal(f->seen, 1);
	assert_int_equal(f->seen_level, VBD_LOG_ERROR);
}

static void log_longest(struct fixture *f, enum vbd_log_format format, const char *end)
{
	char longest[2000];
	const char *line;
	size_t len;

	memset(longest, '"', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	vbd_log_setup(VBD_LOG_INFO, format);
	vbd_log(VBD_LOG_INFO, "connection/18446744073709551615", "%s", longest);
	line = written(f);
	len = strlen(line);
	assert_true(len > 500);
	assert_string_equal(line + len - strlen(end), end);
	assert_ptr_equal(strchr(line, '\n'), line + len - 1);
}

LOG_TEST(test_log__the_longest_line_is_cut_and_whole_in_every_format)
{
	log_longest(f, VBD_LOG_TEXT, "\"\n");
	log_longest(f, VBD_LOG_JOURNAL, "\"\n");
	log_longest(f, VBD_LOG_JSON, "\\\"\"}\n");
}

TEST(test_log__text_from_outside_becomes_valid_utf8_without_controls)
{
	static const struct {
		const char *dirty;
		const char *clean;
	} texts[] = {
		{"", ""},
		{"plain ~", "plain ~"},
		{"a\tb\nc\x7f", "a?b?c?"},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82"},
		{"\x80", "?"},
		{"\xc3", "?"},
		{"x\xe2\x82", "x??"},
		{"\xf0\x9f\x99", "???"},
		{"\xc3\xc3\xa4", "?\xc3\xa4"},
		{"\xc0\xaf", "??"},		  /* overlong */
		{"\xe0\x80\xaf", "???"},	  /* overlong */
		{"\xf0\x80\x80\xaf", "????"},	  /* overlong */
		{"\xed\xa0\x80", "???"},	  /* surrogate */
		{"\xed\x9f\xbf", "\xed\x9f\xbf"}, /* the last before the surrogates */
		{"\xf4\x90\x80\x80", "????"},	  /* above U+10FFFF */
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		{"\xff\xfe", "??"},
		{"\xc2\x9b"
		 "2J",
			"??2J"}, /* U+009B begins a terminal's control sequence */
		{"\xc2\xa0", "\xc2\xa0"},
	};
	char text[32];

	for (size_t i = 0; i < VBD_ARRAY_LEN(texts); i++) {
		strcpy(text, texts[i].dirty);
		vbd_text_clean(text);
		assert_string_equal(text, texts[i].clean);
	}
}

/* The bytes that carry @value as a character of @len bytes, in UTF-8's form or not. */
static void encode(char *to, uint32_t value, unsigned int len)
{
	static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (unsigned int i = len - 1; i > 0; i--, value >>= 6)
		to[i] = (char)(0x80 | (value & 0x3f));
	to[0] = (char)(first[len] | value);
	to[len] = '\0';
}

static bool stays(const char *text)
{
	char cleaned[8];

	strcpy(cleaned, text);
	vbd_text_clean(cleaned);
	assert_int_equal(strlen(cleaned), strlen(text));
	return strcmp(cleaned, text) == 0;
}

TEST(test_log__just_the_characters_of_unicode_stay)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	char text[8];

	for (unsigned int len = 2; len <= 4; len++) {
		for (uint32_t value = 0; value < 1u << (5 * len + 1); value++) {
			bool is_character = value >= least[len] && value <= 0x10ffff &&
					    (value < 0xd800 || value > 0xdfff) && value >= 0xa0;

			encode(text, value, len);
			if (stays(text) != is_character)
				fail_msg("U+%04x in %u bytes", value, len);
		}
	}
	for (int c = 1; c < 0x100; c++) {
		text[0] = (char)c;
		text[1] = '\0';
		assert_int_equal(stays(text), c >= ' ' && c < 0x7f);
	}
}

TEST(test_log__a_byte_that_continues_no_character_breaks_it)
{
	static const char *const whole[] = {"\u00e9", "\u20ac", "\U0001f600"};
	static const unsigned char others[] = {0x01, 0x41, 0x7f, 0xc0, 0xff};
	char text[8];

	for (size_t i = 0; i < VBD_ARRAY_LEN(whole); i++) {
		assert_true(stays(whole[i]));
		for (size_t at = 1; whole[i][at]; at++) {
			for (size_t k = 0; k < VBD_ARRAY_LEN(others); k++) {
				strcpy(text, whole[i]);
				text[at] = (char)others[k];
				vbd_text_clean(text);
				assert_int_equal(text[0], '?');
			}
			strcpy(text, whole[i]);
			text[at] = '\0';
			vbd_text_clean(text);
			assert_int_equal(text[0], '?');
			assert_int_equal(strlen(text), at);
		}
	}
}

TEST(test_log__text_is_copied_as_far_as_it_fits)
{
	char text[6];

	assert_int_equal(vbd_text_copy(text, sizeof(text), "INIT"), 4);
	assert_string_equal(text, "INIT");
	assert_int_equal(vbd_text_copy(text + 4, sizeof(text) - 4, " -> RTR"), 1);
	assert_string_equal(text, "INIT ");
	assert_int_equal(vbd_text_copy(text + 5, sizeof(text) - 5, "RTR"), 0);
	assert_string_equal(text, "INIT ");
	assert_int_equal(vbd_text_copy(text, sizeof(text), ""), 0);
	assert_string_equal(text, "");
}

TEST(test_log__a_long_path_is_cut_in_the_middle)
{
	static const char file[] = "/verbsd.yaml";
	char path[300];
	size_t most = sizeof(vbd_text_path("").text) - 1;

	assert_string_equal(vbd_text_path("/etc/verbsd.yaml").text, "/etc/verbsd.yaml");
	memset(path, 'd', sizeof(path));
	path[0] = '/';
	strcpy(path + most - strlen(file), file);
	assert_string_equal(vbd_text_path(path).text, path);
	path[strlen(path)] = 'd';
	for (size_t length = most + 1; length < sizeof(path); length++) {
		struct vbd_text_path shown;

		memset(path + 1, 'd', length);
		strcpy(path + length - strlen(file), file);
		shown = vbd_text_path(path);
		assert_int_equal(strlen(shown.text), most);
		assert_memory_equal(shown.text, "/ddd", 4);
		assert_non_null(strstr(shown.text, "d...d"));
		assert_string_equal(shown.text + most - strlen(file), file);
	}
}
