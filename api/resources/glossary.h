/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The glossary: every name of an event, status, state, problem code or finding, what it means, its
 * likely causes, and what to do. The texts stay in the tables of their owners.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_GLOSSARY_H
#define VBD_API_RESOURCES_GLOSSARY_H

struct vbd_encoder;
struct vbd_why;

/** vbd_put_glossary_why - put schema GlossaryEntry */
void vbd_put_glossary_why(struct vbd_encoder *out, const char *name, const struct vbd_why *why);

#endif
