/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Benchmarks as resources: a transfer that repeats one work request over a connection that is
 * there, so often or for so long, and what it says of rate and latency. The transfer is one like
 * any other: it stands in the list, holds its buffer, and has the deadline.
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

/* X(SYMBOL, json name) */
#define VBD_BENCHMARK_STATE_MAP(X)          \
	X(VBD_BENCHMARK_RUNNING, "running") \
	X(VBD_BENCHMARK_DONE, "done")       \
	X(VBD_BENCHMARK_FAILED, "failed")

enum vbd_benchmark_state { VBD_BENCHMARK_STATE_MAP(VBD_ENUM_ROW) VBD_BENCHMARK_STATE_COUNT };

/** vbd_benchmark_state_name - "running" */
const char *vbd_benchmark_state_name(enum vbd_benchmark_state state);

struct vbd_benchmark_spec {
	struct vbd_connection *connection;
	enum vbd_op op;	      /* WRITE, READ or SEND */
	uint32_t size_bytes;  /* of each message; up to VBD_BENCHMARK_SIZE_MAX */
	uint32_t tx_depth;    /* work requests outstanding at most; 0: as many as the queue holds */
	uint32_t count;	      /* messages, up to VBD_BENCHMARK_COUNT_MAX; 0: by time */
	uint32_t duration_ms; /* without a count: 1 to VBD_BENCHMARK_DURATION_MAX */
	struct vbd_buffer *buffer; /* its first size_bytes; NULL: the daemon's own memory */
	struct vbd_wr_params wr;   /* of WRITE and READ: remote_addr, rkey */
	uint32_t timeout_ms;
};

struct vbd_benchmark_result {
	uint64_t messages;
	uint64_t bytes;
	uint64_t elapsed_ns; /* from the first post on; 0 before */
};

struct vbd_benchmark {
	struct vbd_object object; /* first */
	struct vbd_daemon *daemon;
	struct vbd_transfer_record *transfer; /* NULL once it has ended */
	struct vbd_watch transfer_watch;
	enum vbd_benchmark_state state;
	uint64_t connection_id, transfer_id;
	uint64_t buffer_id; /* 0: none */
	enum vbd_op op;
	uint32_t size_bytes, tx_depth, count, duration_ms, timeout_ms;
	uint64_t ended_ns;
	struct vbd_benchmark_result result; /* once it has ended */
	struct vbd_error error;		    /* why it is FAILED */
	struct vbd_histogram latency_ns;
};

/**
 * vbd_benchmark_create - check and start
 *
 * missing_field (a buffer, for messages of more than VBD_MESSAGE_BYTES_MAX), and what
 * vbd_transfer_prepare() says.
 */
enum vbd_status vbd_benchmark_create(struct vbd_daemon *daemon,
	const struct vbd_benchmark_spec *spec, struct vbd_benchmark **ret_benchmark,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_benchmark_result - what it has come to; so far, while it runs */
struct vbd_benchmark_result vbd_benchmark_result(const struct vbd_benchmark *benchmark);

#endif
