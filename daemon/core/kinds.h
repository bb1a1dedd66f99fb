/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of the kinds of objects that clients see under an id, each with a registry.
 */
#ifndef VBD_DAEMON_CORE_KINDS_H
#define VBD_DAEMON_CORE_KINDS_H

/*
 * X(SYMBOL, singular, plural, open, kept), in the order in which a stopped daemon frees the
 * objects: each kind before the kinds that its objects use
 *
 * singular: in an event's object, "connection/7"; in texts; struct vbd_kind vbd_<singular>_kind
 * plural:   in paths, "/v1/connections/7"; the registry's member of struct vbd_daemon
 * open:     limit on objects that have not ended: the key below `limits:`
 * kept:     limit on ended ones, an expression of `config`; VBD_KEPT_WITHIN: `open` is the
 *           limit on all together
 */
#define VBD_KIND_MAP(X)                                                                       \
	X(FAULT, fault, faults, objects, VBD_KEPT_WITHIN)                                     \
	X(KEPT_OBJECT, kept_object, kept_objects, objects, VBD_KEPT_WITHIN)                   \
	/* Each open batch has an open transfer. */                                           \
	X(TRANSFER_BATCH, transfer_batch, transfer_batches, transfers, config->records.ended) \
	X(TRANSFER, transfer, transfers, transfers, config->records.ended)                    \
	/* Each benchmark has a transfer. */                                                  \
	X(BENCHMARK, benchmark, benchmarks, transfers, config->records.ended)                 \
	X(WINDOW, window, windows, objects, VBD_KEPT_WITHIN)                                  \
	/* A copy has a connection and a buffer. */                                           \
	X(COPY, copy, copies, transfers, config->records.ended)                               \
	/* One probe at a time runs over a connection. */                                     \
	X(PROBE, probe, probes, connections, config->records.ended)                           \
	/* Each open batch has an open connection. */                                         \
	X(CONNECTION_BATCH, connection_batch, connection_batches, connections,                \
		config->records.ended)                                                        \
	X(CONNECTION, connection, connections, connections, config->records.ended)            \
	X(LISTENER, listener, listeners, listeners, VBD_KEPT_WITHIN)                          \
	/* A UD endpoint frees its peers and memberships. */                                  \
	X(UD_ENDPOINT, ud_endpoint, ud_endpoints, objects, VBD_KEPT_WITHIN)                   \
	X(UD_PEER, ud_peer, ud_peers, objects, VBD_KEPT_WITHIN)                               \
	X(MULTICAST_MEMBERSHIP, multicast_membership, multicast_memberships, objects,         \
		VBD_KEPT_WITHIN)                                                              \
	X(BUFFER, buffer, buffers, buffers, VBD_KEPT_WITHIN)                                  \
	X(SRQ, srq, srqs, objects, VBD_KEPT_WITHIN)                                           \
	X(CQ, cq, cqs, objects, VBD_KEPT_WITHIN)                                              \
	X(PD, pd, pds, objects, VBD_KEPT_WITHIN)                                              \
	X(EXPORT, export, exports, objects, VBD_KEPT_WITHIN)

#define VBD_KEPT_WITHIN UINT64_MAX

enum vbd_object_kind {
	VBD_KIND_NONE,	 /* the daemon itself */
	VBD_KIND_DEVICE, /* without a registry */
#define VBD_KIND_ENUM(sym, singular, plural, open, kept) VBD_KIND_##sym,
	VBD_KIND_MAP(VBD_KIND_ENUM)
#undef VBD_KIND_ENUM
		VBD_KIND_COUNT
};

#endif
