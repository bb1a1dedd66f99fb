/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/event_types.h"

static const struct {
	const char *name;
	unsigned int data;
	const char *text;
} types[VBD_EVENT_TYPE_COUNT] = {
#define TYPE_ROW(sym, name, data, text) [sym] = {name, data, text},
	VBD_EVENT_TYPE_MAP(TYPE_ROW)
#undef TYPE_ROW
};

const char *vbd_event_type_name(enum vbd_event_type type)
{
	return (unsigned int)type < VBD_EVENT_TYPE_COUNT ? types[type].name : NULL;
}

const char *vbd_event_type_text(enum vbd_event_type type)
{
	return types[type].text;
}

bool vbd_event_type_has(enum vbd_event_type type, enum vbd_event_word word)
{
	return types[type].data & 1u << word;
}

bool vbd_event_type_has_port(enum vbd_event_type type)
{
	return types[type].data & 1u << VBD_EVENT_WORD_COUNT;
}

VBD_ENUM_NAMES(vbd_event_word_name, enum vbd_event_word, VBD_EVENT_WORD_MAP)

VBD_ENUM_COLUMN(const char *, vbd_event_word_text, enum vbd_event_word, VBD_EVENT_WORD_MAP, 3)
