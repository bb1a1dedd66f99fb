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

/* The value of a row in its enum. */
#define VBD_ENUM_ROW(sym, ...) sym,

/* The name of a row in an array that the values index. */
#define VBD_ENUM_NAME(sym, name, ...) [sym] = name,

/* Defines const char *function(type value), which returns the name of a value of the list. */
#define VBD_ENUM_NAMES(function, type, map)                              \
	const char *function(type value)                                 \
	{                                                                \
		static const char *const names[] = {map(VBD_ENUM_NAME)}; \
                                                                         \
		return names[value];                                     \
	}

#endif
