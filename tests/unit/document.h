/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that an encoder has written, for tests. */
#ifndef VBD_TESTS_UNIT_DOCUMENT_H
#define VBD_TESTS_UNIT_DOCUMENT_H

#include "api/json/writer.h"
#include "tests/unit/unit.h"

#include <jansson.h>

/* End a document. Returns it as a new reference; it has the very bytes that jansson prints. */
static inline json_t *document_end(struct vbd_encoder *out)
{
	size_t len = 0;
	char *text = vbd_encode_end(out, &len);
	json_t *json;
	char *same;

	assert_non_null(text);
	json = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	assert_non_null(json);
	same = json_dumps(json, JSON_COMPACT);
	assert_int_equal(strlen(same), len);
	assert_string_equal(same, text);
	free(same);
	free(text);
	return json;
}

/* Parses JSON with ' for "; the caller frees it. */
static inline json_t *document_of(const char *quoted)
{
	char *text = strdup(quoted);
	json_t *json;

	assert_non_null(text);
	for (char *quote = strchr(text, '\''); quote; quote = strchr(quote, '\''))
		*quote = '"';
	json = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	assert_non_null(json);
	free(text);
	return json;
}

static inline void document_expect(bool same, const json_t *seen, const char *wanted)
{
	if (!same)
		fail_msg("not %s:\n%s", wanted, json_dumps(seen, JSON_COMPACT | JSON_ENCODE_ANY));
}

/* Fails the test unless @json is @wanted (as of document_of()), with no member more. Frees @json.
 */
static inline void document_is(json_t *json, const char *wanted)
{
	json_t *document = document_of(wanted);

	document_expect(json_equal(json, document), json, wanted);
	json_decref(document);
	json_decref(json);
}

/* Fails the test unless @json has each member of @wanted (as of document_of()) with its value. */
static inline void document_part_is(const json_t *json, const char *wanted)
{
	json_t *document = document_of(wanted);
	const char *name;
	json_t *value;

	json_object_foreach(document, name, value)
		document_expect(json_equal(json_object_get(json, name), value), json, wanted);
	json_decref(document);
}

#endif
