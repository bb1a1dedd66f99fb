/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON that several kinds of objects share, put as the member @name; @name is NULL in an array.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_COMMON_JSON_H
#define VBD_API_RESOURCES_COMMON_JSON_H

#include "rdma/device/op.h"
#include "rdma/names/reason.h"

struct vbd_benchmark;
struct vbd_connection;
struct vbd_daemon;
struct vbd_encoder;
struct vbd_error;
struct vbd_event;
struct vbd_failures;
struct vbd_first_error;
struct vbd_gid;
struct vbd_histogram;
struct vbd_probe_record;
struct vbd_qp;
struct vbd_received;
struct vbd_registry;
struct vbd_why;

/** vbd_put_ref - put schema Reference: `id` and `name` of an object; null for id 0. `name` is null
 * if the object has none or is gone. */
void vbd_put_ref(struct vbd_encoder *out, const char *name, const struct vbd_registry *registry,
	uint64_t id);

/**
 * vbd_put_error - put schema Error: code, detail, hint, first; null for VBD_OK
 * @first: record of the first error; NULL if there is none, then `first` is @err itself if it has
 *         the source of a call, an event or a completion
 */
void vbd_put_error(struct vbd_encoder *out, const char *name, const struct vbd_error *err,
	const struct vbd_first_error *first);

/** vbd_put_failures - put an array of schema Failure */
void vbd_put_failures(
	struct vbd_encoder *out, const char *name, const struct vbd_failures *failures);

/** vbd_put_first_error - put schema FirstError; null if there was no error */
void vbd_put_first_error(
	struct vbd_encoder *out, const char *name, const struct vbd_first_error *first);

/** vbd_put_end - put `end_code`, null until the object has ended, and `error`, null if nothing went
 * wrong, of the object with this QP */
void vbd_put_end(struct vbd_encoder *out, const struct vbd_qp *qp, bool ended);

/** vbd_put_op_counters - put schema OpCounters */
void vbd_put_op_counters(
	struct vbd_encoder *out, const char *name, const struct vbd_op_counters *counters);

/** vbd_put_latency - put schema Latency; null for an empty histogram */
void vbd_put_latency(
	struct vbd_encoder *out, const char *name, const struct vbd_histogram *times_ns);

/** vbd_put_remote - put schema RemoteMemory; null for an operation that needs no memory of the peer
 */
void vbd_put_remote(
	struct vbd_encoder *out, const char *name, enum vbd_op op, uint64_t addr, uint32_t rkey);

/** vbd_put_received - put `op`, `length_bytes`, `written_bytes` and `imm` of a message */
void vbd_put_received(struct vbd_encoder *out, const struct vbd_received *received);

/* The names of the bits of enum vbd_mem_access. */
#define VBD_ACCESS_NAME_COUNT 4
extern const char *const vbd_access_names[VBD_ACCESS_NAME_COUNT];

/** vbd_put_access - put the names of the bits of @access as an array */
void vbd_put_access(struct vbd_encoder *out, const char *name, unsigned int access);

/** vbd_put_benchmark - put the members of schema Benchmark */
void vbd_put_benchmark(struct vbd_encoder *out, const struct vbd_benchmark *benchmark);

/** vbd_put_gid - put schema Gid */
void vbd_put_gid(struct vbd_encoder *out, const char *name, const struct vbd_gid *gid);

/** vbd_put_event - put the members of schema Event */
void vbd_put_event(
	struct vbd_encoder *out, const struct vbd_daemon *daemon, const struct vbd_event *event);

/** vbd_put_glossary_why - put schema GlossaryEntry */
void vbd_put_glossary_why(struct vbd_encoder *out, const char *name, const struct vbd_why *why);

/** vbd_put_probe - put the members of schema Probe */
void vbd_put_probe(struct vbd_encoder *out, const struct vbd_probe_record *record);

/** vbd_put_rtt - put schema ConnectionRtt of the connection's running or last probe, or null */
void vbd_put_rtt(
	struct vbd_encoder *out, const char *name, const struct vbd_connection *connection);

#endif
