/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection, as `show` prints it.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_CONNECTION_H
#define VBD_CMD_VERBSCTL_CONNECTION_H

#include <jansson.h>
#include <stdio.h>

/** vbd_ctl_connection_put - write all that is known of a connection to @out, without colours */
void vbd_ctl_connection_put(const json_t *connection, FILE *out);

#endif
