/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a connection's counters. Pure.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_COUNTERS_H
#define VBD_CMD_VERBSCTL_COMMON_COUNTERS_H

#include <jansson.h>
#include <stdint.h>

/**
 * vbd_ctl_sent_bytes - payload bytes of a connection's completed sends and writes
 * @counters: member "counters" of a connection; NULL counts as 0
 */
uint64_t vbd_ctl_sent_bytes(const json_t *counters);

/** vbd_ctl_received_bytes - payload bytes of a connection's completed receives and reads */
uint64_t vbd_ctl_received_bytes(const json_t *counters);

#endif
