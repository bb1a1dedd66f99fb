/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Benchmarks.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_BENCHMARKS_H
#define VBD_API_RESOURCES_BENCHMARKS_H

struct vbd_benchmark;
struct vbd_encoder;

/** vbd_put_benchmark - put the members of schema Benchmark */
void vbd_put_benchmark(struct vbd_encoder *out, const struct vbd_benchmark *benchmark);

#endif
