/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "tests/unit/unit.h"

TEST(test_quantity__a_size_has_a_power_of_1024)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {{"0", 0}, {"4096", 4096}, {"64K", 65536}, {"64k", 65536}, {"1KiB", 1024},
		{"1MB", 1048576}, {"3G", 3ull << 30}, {"1T", 1ull << 40},
		{"9223372036854775807", INT64_MAX}};
	static const char *const bad[] = {"", "K", "-1", "1.5K", "1X", "1Kb1", " 1", "1 K",
		"9223372036854775808", "8388608T"};
	uint64_t bytes = 7;

	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++) {
		assert_true(vbd_parse_size(good[i].text, &bytes));
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++)
		assert_false(vbd_parse_size(bad[i], &bytes));
}

TEST(test_quantity__a_number_is_decimal_or_hexadecimal)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {{"0", 0}, {"17", 17}, {"010", 10}, {"0x11", 17}, {"0X34cb3F", 0x34cb3f},
		{"0x0", 0}, {"0x7fffffffffffffff", INT64_MAX}};
	static const char *const bad[] = {"", "x", "0x", "11h", "0xg", "0x0x1", "0x-1", "0x 1",
		"-0x1", " 0x1", "0x11 ", "0x8000000000000000", "ff"};
	uint64_t value = 7;

	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++) {
		assert_true(vbd_parse_number(good[i].text, &value));
		assert_int_equal(value, good[i].value);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++)
		assert_false(vbd_parse_number(bad[i], &value));
	assert_false(vbd_parse_uint("0x11", &value));
}

TEST(test_quantity__a_time_without_a_unit_has_the_one_of_its_place)
{
	static const struct {
		const char *text, *unit;
		uint64_t ms;
	} good[] = {{"10", "s", 10000}, {"10", "ms", 10}, {"10s", "ms", 10000}, {"10ms", "s", 10},
		{"1.5m", "s", 90000}, {"2h", "ms", 7200000}, {"0", "s", 0}};
	static const char *const bad[] = {"", "s", "-1s", "1.2.3s", "1 s", "1d", "99999999999h"};
	uint64_t ms = 7;

	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++) {
		assert_true(vbd_parse_duration(good[i].text, good[i].unit, &ms));
		assert_int_equal(ms, good[i].ms);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++)
		assert_false(vbd_parse_duration(bad[i], "s", &ms));
}
