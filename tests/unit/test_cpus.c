/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"

#include "tests/unit/unit.h"

static void parses(const char *text, const unsigned int *numbers, size_t count)
{
	struct vbd_cpus cpus;

	assert_true(vbd_cpus_parse(text, &cpus));
	assert_string_equal(cpus.text, text);
	assert_int_equal(cpus.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(cpus.numbers[i], numbers[i]);
}

#define PARSES(text_, ...)                                 \
	parses(text_, (const unsigned int[]){__VA_ARGS__}, \
		sizeof((const unsigned int[]){__VA_ARGS__}) / sizeof(unsigned int))

TEST(test_cpus__a_list_has_numbers_and_ranges)
{
	parses("", NULL, 0);
	PARSES("0", 0);
	PARSES("3", 3);
	PARSES("2-5", 2, 3, 4, 5);
	PARSES("7-7", 7);
	PARSES("0-2,9,1023", 0, 1, 2, 9, 1023);
	PARSES("5,3,3", 5, 3, 3);
}

TEST(test_cpus__other_texts_are_refused)
{
	static const char *const texts[] = {",", "1,", ",1", "1,,2", "-1", "1-", "3-2", "1-2-3",
		"1 ", " 1", "1 2", "a", "1a", "1-a", "+1", "1024", "0-1024",
		"99999999999999999999"};
	struct vbd_cpus cpus = {.text = "before", .count = 7};

	for (size_t i = 0; i < VBD_ARRAY_LEN(texts); i++)
		assert_false(vbd_cpus_parse(texts[i], &cpus));
	assert_string_equal(cpus.text, "before");
	assert_int_equal(cpus.count, 7);
}

TEST(test_cpus__a_list_is_full_at_its_limit)
{
	struct vbd_cpus cpus;

	assert_true(vbd_cpus_parse("0-63", &cpus));
	assert_int_equal(cpus.count, VBD_CPUS_MAX);
	assert_int_equal(cpus.numbers[63], 63);
	assert_true(vbd_cpus_parse("5,100-161,9", &cpus));
	assert_int_equal(cpus.count, VBD_CPUS_MAX);
	assert_int_equal(cpus.numbers[63], 9);
	assert_false(vbd_cpus_parse("0-64", &cpus));
	assert_false(vbd_cpus_parse("0-63,64", &cpus));
	assert_false(vbd_cpus_parse("5,100-162,9", &cpus));
}

TEST(test_cpus__a_text_fits_with_its_end)
{
	char text[VBD_CPUS_TEXT_BYTES + 1];
	struct vbd_cpus cpus;

	memset(text, '0', sizeof(text));
	text[VBD_CPUS_TEXT_BYTES - 1] = '\0';
	assert_true(vbd_cpus_parse(text, &cpus));
	assert_string_equal(cpus.text, text);
	assert_int_equal(cpus.count, 1);
	text[VBD_CPUS_TEXT_BYTES - 1] = '0';
	text[VBD_CPUS_TEXT_BYTES] = '\0';
	assert_false(vbd_cpus_parse(text, &cpus));
}
