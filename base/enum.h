/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enums and their names from one list. A list is a macro MAP(X) with a row X(SYMBOL, "name", ...)
 * for each value, in the order of the values, which begin at 0.
 *
 *     enum vbd_color { VBD_COLOR_MAP(VBD_ENUM_ROW) VBD_COLOR_COUNT };
 *
 *     VBD_ENUM_NAMES(vbd_color_name, enum vbd_color, VBD_COLOR_MAP)
 *
 * The names are static strings. Any thread; nothing here blocks.
 */
#ifndef VBD_BASE_ENUM_H
#define VBD_BASE_ENUM_H

#include "base/attr.h"

/* The value of a row in its enum. */
#define VBD_ENUM_ROW(sym, ...) sym,

/* Defines const char *function(type value), which returns the name of a value of the list. */
#define VBD_ENUM_NAMES(function, type, map) VBD_ENUM_COLUMN(const char *, function, type, map, 2)

/*
 * Defines ret function(type value), which returns one column of the list: the symbol is column 1,
 * the name column 2.
 */
#define VBD_ENUM_COLUMN(ret, function, type, map, column)             \
	ret function(type value)                                      \
	{                                                             \
		static ret const values[] = {map(VBD_ENUM_##column)}; \
                                                                      \
		return values[value];                                 \
	}

/*
 * Defines bool function(const char *name, type *ret_value), which finds the value of a name from
 * @first to before @count; false: no value has the name.
 */
#define VBD_ENUM_PARSE(function, type, first, count, name_of)      \
	bool function(const char *name, type *ret_value)           \
	{                                                          \
		for (unsigned int i = (first); i < (count); i++) { \
			if (strcmp(name_of((type)i), name) == 0) { \
				*ret_value = (type)i;              \
				return true;                       \
			}                                          \
		}                                                  \
		return false;                                      \
	}

/* A column of a row, as an element of an array that the values index. */
#define VBD_ENUM_NAME			 VBD_ENUM_2
#define VBD_ENUM_2(sym, b, ...)		 [sym] = b,
#define VBD_ENUM_3(sym, b, c, ...)	 [sym] = c,
#define VBD_ENUM_4(sym, b, c, d, ...)	 [sym] = d,
#define VBD_ENUM_5(sym, b, c, d, e, ...) [sym] = e,

/* A state machine is one pure table with a row for every pair of a state and an event. `next` and
 * `action` are values of its enums. */
struct vbd_rule {
	unsigned int next, action;
	const char *note; /* the reason; never NULL */
};

/*
 * Defines const struct vbd_rule *function(state_type state, event_type event), which looks a pair
 * up in the table @rules. Each state has a column more than there are events: the rule for all
 * events that have none of their own, which are all zeros.
 */
#define VBD_RULES(function, state_type, event_type, rules)                                      \
	const struct vbd_rule *function(state_type state, event_type event)                     \
	{                                                                                       \
		const size_t otherwise = VBD_ARRAY_LEN((rules)[0]) - 1;                         \
                                                                                                \
		return &(rules)[state][(rules)[state][event].note ? (size_t)event : otherwise]; \
	}

#endif
