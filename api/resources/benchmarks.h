/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Benchmarks.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_BENCHMARKS_H
#define VBD_API_RESOURCES_BENCHMARKS_H

#include <jansson.h>

struct vbd_benchmark;
struct vbd_request;

/** vbd_encode_benchmark - encode as schema Benchmark; NULL without memory */
json_t *vbd_encode_benchmark(const struct vbd_benchmark *benchmark);

void vbd_create_benchmark(struct vbd_request *req);

#endif
