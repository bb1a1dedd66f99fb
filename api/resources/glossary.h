/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The glossary: every name of an event, status, state, problem code or finding, what it means, its
 * likely causes, and what to do. The texts stay in the tables of their owners.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_GLOSSARY_H
#define VBD_API_RESOURCES_GLOSSARY_H

#include <jansson.h>

struct vbd_request;
struct vbd_why;

/** vbd_encode_glossary_why - schema GlossaryEntry; NULL without memory */
json_t *vbd_encode_glossary_why(const struct vbd_why *why);

void vbd_list_glossary(struct vbd_request *req);
void vbd_get_glossary(struct vbd_request *req);

#endif
