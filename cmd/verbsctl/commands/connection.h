/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing a connection and its explanation.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMANDS_CONNECTION_H
#define VBD_CMD_VERBSCTL_COMMANDS_CONNECTION_H

#include <jansson.h>
#include <stdio.h>

/**
 * vbd_ctl_connection_put - print a connection in full, without colours
 * @connection:  a Connection of the API
 * @explanation: answer of GET …/explain, or NULL; printed first if the connection has ended
 * @timeline:    answer of GET …/timeline, or NULL
 * @out:         written to
 */
void vbd_ctl_connection_put(
	const json_t *connection, const json_t *explanation, const json_t *timeline, FILE *out);

/** vbd_ctl_explanation_put - print an answer of GET …/explain */
void vbd_ctl_explanation_put(const json_t *explanation);

#endif
