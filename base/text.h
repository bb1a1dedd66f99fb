/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that somebody else had a hand in (a peer, a client, a cut by snprintf) on its way to a log
 * or a record.
 *
 * Any thread; never blocks.
 */
#ifndef VBD_BASE_TEXT_H
#define VBD_BASE_TEXT_H

/**
 * vbd_text_clean - make a text safe to print and to put into JSON
 * @text: changed in place: every control character, and every byte that is not part of valid UTF-8
 *        (RFC 3629), becomes '?'; the length stays
 */
void vbd_text_clean(char *text);

#endif
