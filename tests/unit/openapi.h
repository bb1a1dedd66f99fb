/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enumerations and properties of openapi.yaml, for tests that hold a table of the code against the
 * contract. It reads no more YAML than the contract uses: `Name:` with `enum:` below or beside it,
 * in brackets or as a list; below `properties:` a line of its own for each property.
 */
#ifndef VBD_TESTS_UNIT_OPENAPI_H
#define VBD_TESTS_UNIT_OPENAPI_H

#include <stdbool.h>
#include <stddef.h>

#define OPENAPI_ENUM_MAX 128

struct openapi_enum {
	size_t count;
	char values[OPENAPI_ENUM_MAX][64];
};

/** openapi_read_enum - the values of the schema's enum, in order; fails the test if there is none
 */
void openapi_read_enum(const char *schema, struct openapi_enum *ret_enum);

/** openapi_read_property_enum - the values of the enum of the first property with this name at or
 * below the schema's beginning */
void openapi_read_property_enum(
	const char *schema, const char *property, struct openapi_enum *ret_enum);

/** openapi_read_properties - the names of the schema's properties, which stand one on a line */
void openapi_read_properties(const char *schema, struct openapi_enum *ret_names);

/** openapi_read_property - the line of the schema's property, from its brace on */
#define OPENAPI_PROPERTY_BYTES 512
void openapi_read_property(
	const char *schema, const char *property, char ret_text[OPENAPI_PROPERTY_BYTES]);

/** openapi_enum_has - is @value one of them? */
bool openapi_enum_has(const struct openapi_enum *list, const char *value);

#endif
