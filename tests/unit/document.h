/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a document that an encoder has written, for tests. */
#ifndef VBD_TESTS_UNIT_DOCUMENT_H
#define VBD_TESTS_UNIT_DOCUMENT_H

#include "api/json/writer.h"
#include "tests/unit/unit.h"

#include <jansson.h>
#include <string.h>

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

#endif
