/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enumerations and properties of openapi.yaml, for tests that compare a table of the code with the
 * contract. Reads only the YAML that the contract uses: `Name:` with `enum:` or
 * `x-extensible-enum:` below or beside it, in brackets or as a list, where an anchor may be but no
 * alias; below `properties:` the properties, each on a line or on more.
 */
#ifndef VBD_TESTS_UNIT_OPENAPI_H
#define VBD_TESTS_UNIT_OPENAPI_H

#include <stdbool.h>
#include <stddef.h>

#define OPENAPI_ENUM_MAX 192

struct openapi_enum {
	size_t count;
	char values[OPENAPI_ENUM_MAX][64];
};

/**
 * openapi_read_enum - read the values of a schema's enum, in order; fails the test if it has none
 */
void openapi_read_enum(const char *schema, struct openapi_enum *ret_enum);

/**
 * openapi_read_property_enum - read the enum of the first property of this name at or below the
 * start of the schema
 */
void openapi_read_property_enum(
	const char *schema, const char *property, struct openapi_enum *ret_enum);

/** openapi_read_properties - read the names of the schema's properties */
void openapi_read_properties(const char *schema, struct openapi_enum *ret_names);

/** openapi_read_property - read the line of a property of the schema, from its brace on; or the
 * lines below it, up to the next property, with commas between them */
#define OPENAPI_PROPERTY_BYTES 512
void openapi_read_property(
	const char *schema, const char *property, char ret_text[OPENAPI_PROPERTY_BYTES]);

/** openapi_each_ref - call @each for each member of the type Ref: an id or a name of an object in a
 * request, with the schema that has the member, directly or further below */
void openapi_each_ref(void (*each)(const char *schema, const char *member, void *arg), void *arg);

/** openapi_enum_has - whether @value is in the enum */
bool openapi_enum_has(const struct openapi_enum *list, const char *value);

#endif
