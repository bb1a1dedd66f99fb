// SPDX-License-Identifier: Apache-2.0
//
// All topics. A topic is a module with
//   place    "rdma", where there is a device, or "native", on the machine itself
//   large    true: only with --large, or when --only names one of its rows
//   rows     what it measures: { id, title(options), unit, better, target, note(options) }
//   measure  takes the samples: measure(options, wants) returns { id: outcome } for the rows that wants(id)
// A target is { at_most } or { at_least }, of the median of the figures; a row without one is there to be known.
import * as bandwidth from "./bandwidth.mjs";
import * as get from "./get.mjs";
import * as keyed from "./keyed.mjs";
import * as latency from "./latency.mjs";
import * as memory from "./memory.mjs";
import * as memoryLarge from "./memory_large.mjs";
import * as native from "./native.mjs";
import * as open from "./open.mjs";
import * as openMany from "./open_many.mjs";
import { scaleTopic } from "./scale.mjs";
import * as start from "./start.mjs";
import * as workers from "./workers.mjs";

const scale = scaleTopic("", ({ scale }) => scale, false);
const large = scaleTopic("_large", ({ scale_large }) => scale_large, true);

export const topics = [openMany, open, start, latency, bandwidth, workers, get.connection, get.native, native, keyed, memory, scale, large, memoryLarge];
