/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "tests/unit/unit.h"

/* SIZE_MAX if the two are not alike. */
static size_t edits_of(const char *word, const char *name)
{
	struct vbd_similar similar = {.word = word};

	vbd_similar_try(&similar, name);
	return similar.like ? similar.edits : SIZE_MAX;
}

TEST(test_similar__each_edit_counts_once)
{
	static const struct {
		const char *word, *name;
		size_t edits;
	} cases[] = {
		{"listener", "listener", 0},
		{"listeners", "listener", 1}, /* one too many, at each place */
		{"llistener", "listener", 1},
		{"lissteners", "listener", 2},
		{"lixxstener", "listener", 2},
		{"istener", "listener", 1}, /* one too few */
		{"lisener", "listener", 1},
		{"stener", "listener", 2},
		{"lstner", "listener", 2},
		{"Listener", "listener", 1}, /* another one */
		{"listanar", "listener", 2},
		{"lsitener", "listener", 2}, /* two that are exchanged */
		{"istenerx", "listener", 2},
		{"xlistene", "listener", 2},
		{"lastenerz", "listener", 2},
		{"lixxxstener", "listener", SIZE_MAX},
		{"tener", "listener", SIZE_MAX},
		{"lostanor", "listener", SIZE_MAX},
		{"", "listener", 1}, /* the beginning of a name */
		{"li", "listener", 1},
		{"listen", "listener", 1},
		{"listene", "listener", 1},
		{"xi", "id", SIZE_MAX}, /* nothing of the name is left */
		{"ix", "id", 1},
		{"xx", "abc", SIZE_MAX},
		{"axx", "abc", 2},
		{"x", "", SIZE_MAX},
		{"", "", SIZE_MAX},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		if (edits_of(cases[i].word, cases[i].name) != cases[i].edits)
			fail_msg("%s, %s: %zu", cases[i].word, cases[i].name,
				edits_of(cases[i].word, cases[i].name));
	}
}

TEST(test_similar__long_words_are_not_compared)
{
	char word[65], name[65];

	memset(word, 'a', 64);
	memset(name, 'a', 64);
	word[64] = name[64] = '\0';
	assert_true(edits_of(word, name) == SIZE_MAX);
	assert_true(edits_of("a", name) == SIZE_MAX);
	assert_true(edits_of(word, "a") == SIZE_MAX);
	name[63] = '\0';
	assert_true(edits_of(word, name) == SIZE_MAX);
	word[63] = '\0';
	assert_int_equal(edits_of(word, name), 0);
	assert_int_equal(edits_of("a", name), 1);
}
