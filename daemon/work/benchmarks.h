/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark service: a benchmark is a transfer that repeats one work request over an
 * established connection, by count or for a time, and its rate and latency. The transfer is a
 * normal one: it is listed, references its buffer, and has the deadline.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_WORK_BENCHMARKS_H
#define VBD_DAEMON_WORK_BENCHMARKS_H

#include "base/enum.h"
#include "daemon/work/transfers.h"

#define VBD_BENCHMARK_COUNT_MAX	   1000000000
#define VBD_BENCHMARK_DURATION_MAX 600000 /* ms */
#define VBD_BENCHMARK_SIZE_MAX	   (UINT32_C(1) << 30)

/* X(SYMBOL, json name, ended) */
#define VBD_BENCHMARK_STATE_MAP(X)                 \
	X(VBD_BENCHMARK_RUNNING, "running", false) \
	X(VBD_BENCHMARK_DONE, "done", true)        \
	X(VBD_BENCHMARK_FAILED, "failed", true)    \
	X(VBD_BENCHMARK_CANCELLED, "cancelled", true)

enum vbd_benchmark_state { VBD_BENCHMARK_STATE_MAP(VBD_ENUM_ROW) VBD_BENCHMARK_STATE_COUNT };

/** vbd_benchmark_state_name - "running" */
const char *vbd_benchmark_state_name(enum vbd_benchmark_state state);

struct vbd_benchmark_spec {
	struct vbd_origin origin;
	struct vbd_connection *connection;
	enum vbd_op op;	     /* WRITE, READ or SEND */
	uint32_t size_bytes; /* of each message, up to VBD_BENCHMARK_SIZE_MAX */
	uint32_t tx_depth; /* most outstanding work requests; 0: as many as the send queue holds */
	uint32_t count;	   /* messages, 1 to VBD_BENCHMARK_COUNT_MAX; 0: use duration_ms */
	uint32_t duration_ms;	   /* 1 to VBD_BENCHMARK_DURATION_MAX, if count is 0 */
	struct vbd_buffer *buffer; /* its first size_bytes; NULL: the daemon's own memory */
	struct vbd_wr_params wr;   /* remote_addr and rkey of WRITE and READ */
	uint32_t timeout_ms;
};

struct vbd_benchmark_result {
	uint64_t messages;
	uint64_t bytes;
	uint64_t elapsed_ns; /* since the first post; 0 before */
};

struct vbd_benchmark {
	struct vbd_object object;	      /* first */
	struct vbd_transfer_record *transfer; /* NULL once the transfer has ended */
	struct vbd_watch transfer_watch;
	enum vbd_benchmark_state state;
	uint64_t connection_id, transfer_id;
	uint64_t buffer_id; /* 0: none */
	enum vbd_op op;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t size_bytes, tx_depth, count, duration_ms, timeout_ms;
	uint64_t ended_ns;
	struct vbd_benchmark_result result; /* set when the benchmark has ended */
	struct vbd_error error;		    /* why the benchmark is not DONE */
	struct vbd_first_error first_error; /* status VBD_OK if no completion failed */
	struct vbd_histogram latency_ns;
};

/**
 * vbd_benchmark_create - check and start
 *
 * VBD_E_MISSING_FIELD (no buffer for messages of more than VBD_MESSAGE_BYTES_MAX); other errors as
 * of vbd_transfer_prepare().
 */
enum vbd_status vbd_benchmark_create(struct vbd_daemon *daemon,
	const struct vbd_benchmark_spec *spec, struct vbd_benchmark **ret_benchmark,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_benchmark_result - the final result, or the one so far of a running benchmark */
struct vbd_benchmark_result vbd_benchmark_result(const struct vbd_benchmark *benchmark);

#endif
