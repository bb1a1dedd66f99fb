/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/labels.h"

#include "tests/unit/unit.h"

static struct vbd_labels *of(const char *key, const char *value)
{
	struct vbd_labels *labels = vbd_labels_create(2);

	assert_non_null(labels);
	vbd_labels_add(labels, "team", "storage");
	vbd_labels_add(labels, key, value);
	return labels;
}

static bool matches(struct vbd_labels *labels, const char *text)
{
	struct vbd_label_selector selector;
	struct vbd_error err = {0};

	assert_int_equal(vbd_label_selector_parse(&selector, text, "label", &err), VBD_OK);
	return vbd_labels_match(labels, &selector);
}

TEST(test_labels__all_selected_labels_must_be_there)
{
	struct vbd_labels *labels = of("job", "x=1");

	assert_true(matches(labels, "job=x=1"));
	assert_true(matches(labels, "job"));
	assert_true(matches(labels, "job,team=storage"));
	assert_false(matches(labels, "job=x"));
	assert_false(matches(labels, "job="));
	assert_false(matches(labels, "job=x=1,team=network"));
	assert_false(matches(labels, "owner"));
	assert_false(matches(NULL, "job"));
	vbd_labels_unref(labels);
}

TEST(test_labels__no_selector_selects_everything)
{
	const struct vbd_label_selector none = {0};

	assert_true(vbd_labels_match(NULL, &none));
}

TEST(test_labels__a_bad_selector_is_refused)
{
	char many[17 * 4];
	char long_key[80];
	const char *const bad[] = {"", ",", "job,", "=x", "1=x", "a b=x", "job=\n", many, long_key};

	memset(long_key, 'k', sizeof(long_key));
	long_key[64] = '\0';
	many[0] = '\0';
	for (int i = 0; i < 17; i++)
		(void)strcat(many, i ? ",k" : "k");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vbd_label_selector selector;
		struct vbd_error err = {0};

		assert_int_equal(vbd_label_selector_parse(&selector, bad[i], "label", &err),
			VBD_E_BAD_VALUE);
		assert_string_equal(err.pointer, "label");
	}
}

TEST(test_labels__the_longest_key_and_value_pass)
{
	char text[64];

	memset(text, 'a', 63);
	text[63] = '\0';
	assert_true(vbd_label_key_valid(text));
	assert_true(vbd_label_value_valid(text));
	assert_true(vbd_label_value_valid(""));
	assert_false(vbd_label_key_valid(""));
	assert_false(vbd_label_value_valid("a,b"));
	assert_false(vbd_label_value_valid("a\xc2\x9b"
					   "31m"));
	assert_false(vbd_label_value_valid("a\xe2\x80\xae"
					   "b"));
	assert_false(vbd_label_value_valid("a\nb"));
	assert_false(vbd_label_value_valid("\xff"));
}

TEST(test_labels__the_last_reference_frees_them)
{
	struct vbd_labels *labels = of("job", "x");

	assert_ptr_equal(vbd_labels_ref(labels), labels);
	vbd_labels_unref(labels);
	assert_true(matches(labels, "job=x"));
	vbd_labels_unref(labels);
	assert_null(vbd_labels_ref(NULL));
	vbd_labels_unref(NULL);
}
