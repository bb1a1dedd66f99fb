/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection, as `show` prints it, and what `explain` says of it.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMANDS_CONNECTION_H
#define VBD_CMD_VERBSCTL_COMMANDS_CONNECTION_H

#include <jansson.h>
#include <stdio.h>

/**
 * vbd_ctl_connection_put - write all that is known of a connection to @out, without colours
 * @explanation: what GET …/explain says of it, or NULL; of one that has ended it comes first
 */
void vbd_ctl_connection_put(const json_t *connection, const json_t *explanation, FILE *out);

/** vbd_ctl_explanation_put - print what explains a connection */
void vbd_ctl_explanation_put(const json_t *explanation);

#endif
