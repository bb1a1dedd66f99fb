/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one list of what can go wrong. A row gives the symbol, the `code` in problem+json, the HTTP
 * status, the text of the code and what to do about it. Everything that names an error is generated
 * from it; tests hold it against openapi.yaml.
 *
 * Any thread.
 */
#ifndef VBD_BASE_STATUS_H
#define VBD_BASE_STATUS_H

/* X(SYMBOL, json code, HTTP status, text, hint) */
#define VBD_STATUS_MAP(X)                                                                          \
	X(MALFORMED_REQUEST, "malformed_request", 400, "The request is not valid HTTP",            \
		"Send one Host, at most one Content-Length, and a plain path.")                    \
	X(MALFORMED_JSON, "malformed_json", 400, "The body is not valid JSON",                     \
		"Check the body with a JSON parser; the position is in the detail.")               \
	X(UNKNOWN_FIELD, "unknown_field", 400, "The request has a member nobody knows",            \
		"Remove it, or look for the spelling in /v1/openapi.yaml.")                        \
	X(MISSING_FIELD, "missing_field", 400, "A required member is missing",                     \
		"Add the member that the pointer names.")                                          \
	X(WRONG_TYPE, "wrong_type", 400, "A member has the wrong type",                            \
		"See the schema in /v1/openapi.yaml.")                                             \
	X(OUT_OF_RANGE, "out_of_range", 400, "A number is out of range",                           \
		"The detail names the range.")                                                     \
	X(BAD_VALUE, "bad_value", 400, "A value is not one of those allowed",                      \
		"The detail names what is allowed.")                                               \
	X(TOO_LONG, "too_long", 400, "A string is too long",                                       \
		"The detail names the longest allowed.")                                           \
	X(MESSAGE_TOO_LONG, "message_too_long", 400, "A datagram is longer than the MTU",          \
		"Send it in parts of at most max_message_bytes, or over a connection.")            \
	X(BAD_UTF8, "bad_utf8", 400, "The body is not valid UTF-8", "Encode the body as UTF-8.")   \
	X(BODY_TOO_LARGE, "body_too_large", 413, "The body is larger than the limit",              \
		"Send less, or put bytes through a buffer's data.")                                \
	X(UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", 415,                                   \
		"The Content-Type is not the one this path takes",                                 \
		"Send Content-Type: application/json (application/octet-stream for data).")        \
	X(UNAUTHORIZED, "unauthorized", 401, "A token is needed",                                  \
		"Send Authorization: Bearer TOKEN.")                                               \
	X(FORBIDDEN, "forbidden", 403, "This role may not do that", "Use the control token.")      \
	X(BAD_HOST, "bad_host", 421, "The Host header names another server",                       \
		"Use the address verbsd listens on, or add the name to allowed_hosts.")            \
	X(BAD_ORIGIN, "bad_origin", 403, "The request comes from another site's page",             \
		"Call the API from the page verbsd serves, or from outside a browser.")            \
	X(NOT_FOUND, "not_found", 404, "There is no such thing here",                              \
		"List what there is; /v1 names every path.")                                       \
	X(METHOD_NOT_ALLOWED, "method_not_allowed", 405, "The path does not know this method",     \
		"See Allow.")                                                                      \
	X(NAME_TAKEN, "name_taken", 409, "The name is taken",                                      \
		"Choose another name, or delete its holder.")                                      \
	X(IN_USE, "in_use", 409, "The object is in use", "Wait for its users, or end them first.") \
	X(PD_MISMATCH, "pd_mismatch", 409, "The objects are in different protection domains",      \
		"Make them in one protection domain: the detail names both.")                      \
	X(WRONG_STATE, "wrong_state", 409, "The object's state does not allow that",               \
		"Look at its state; the detail names the states that allow it.")                   \
	X(IDEMPOTENCY_CONFLICT, "idempotency_conflict", 409,                                       \
		"A request with this Idempotency-Key is still running", "Try again later.")        \
	X(IDEMPOTENCY_MISMATCH, "idempotency_mismatch", 422,                                       \
		"This Idempotency-Key was used for another request", "Use a new key.")             \
	X(LIMIT_REACHED, "limit_reached", 429, "A configured limit is reached",                    \
		"Delete what is not needed, or raise the limit in the configuration.")             \
	X(RANGE_NOT_SATISFIABLE, "range_not_satisfiable", 416,                                     \
		"The range lies outside the buffer", "The buffer's size is in the detail.")        \
	X(NO_DEVICE, "no_device", 503, "There is no RDMA device to do this with",                  \
		"See /v1/devices; load a driver, or run `rdma link add rxe0 type rxe netdev IF`.") \
	X(DEVICE_REMOVED, "device_removed", 503, "The RDMA device was removed",                    \
		"Add the device again; verbsd takes it up by itself.")                             \
	X(NOT_SUPPORTED, "not_supported", 501, "The device can't do this",                         \
		"Compare /v1/devices with what the request needs.")                                \
	X(MEMLOCK, "memlock", 507, "The locked-memory limit does not allow this",                  \
		"Raise RLIMIT_MEMLOCK: LimitMEMLOCK=infinity in the unit, or `ulimit -l`.")        \
	X(NO_MEMORY, "no_memory", 507, "Out of memory", "Free memory, or ask for less.")           \
	X(DEVICE_LIMIT, "device_limit", 507, "The device has no more of these",                    \
		"Delete objects, or raise the limits of the device or of the rdma cgroup.")        \
	X(FD_LIMIT, "fd_limit", 503, "No more file descriptors",                                   \
		"Raise RLIMIT_NOFILE (LimitNOFILE= in the unit).")                                 \
	X(ADDRESS_IN_USE, "address_in_use", 409, "The address and port are taken",                 \
		"Choose another port, or 0 to have one picked.")                                   \
	X(ADDRESS_NOT_AVAILABLE, "address_not_available", 422, "No RDMA device has this address",  \
		"Use an address of a network interface that an RDMA device belongs to.")           \
	X(PERMISSION_DENIED, "permission_denied", 403, "The system refused access",                \
		"Check the permissions of /dev/infiniband and of the daemon's user.")              \
	X(NAME_NOT_RESOLVED, "name_not_resolved", 502, "The host name has no address",             \
		"Check the spelling and the resolver, or give an address.")                        \
	X(ADDR_ERROR, "addr_error", 502, "The address could not be resolved",                      \
		"No neighbour answers there: check address, cable, VLAN and that the peer is up.") \
	X(ROUTE_ERROR, "route_error", 502, "No route to the address",                              \
		"Check the GID index and, on InfiniBand, the subnet manager.")                     \
	X(CONNECT_ERROR, "connect_error", 502, "The connection could not be made",                 \
		"See the connection's timeline.")                                                  \
	X(UNREACHABLE, "unreachable", 504, "The peer does not answer",                             \
		"The host resolves but its CM is silent: is RDMA up there, is UDP 4791 open?")     \
	X(REJECTED, "rejected", 502, "The peer rejected the connection",                           \
		"Is something listening on that port? The CM reason is in the detail.")            \
	X(DEADLINE, "deadline", 504, "The deadline passed",                                        \
		"Raise timeout_ms, or look at what it waited for.")                                \
	X(RETRY_EXCEEDED, "retry_exceeded", 502, "The peer's device stopped acknowledging",        \
		"Peer host down, path cut, or wrong GID index or MTU.")                            \
	X(RNR_EXCEEDED, "rnr_exceeded", 502, "The peer had no receive posted",                     \
		"The receiver is too slow: more receives there, or a higher rnr_retry here.")      \
	X(REMOTE_ACCESS, "remote_access", 502, "The peer's device refused the access",             \
		"Check addr, rkey, length, and the access flags of the peer's buffer.")            \
	X(REMOTE_OPERATION, "remote_operation", 502, "The peer failed the operation",              \
		"Its receive was too short, or its own error ended the operation.")                \
	X(REMOTE_INVALID, "remote_invalid", 502, "The peer's device called the request invalid",   \
		"MTU mismatch, or an operation that the peer's QP does not allow.")                \
	X(LOCAL_ERROR, "local_error", 502, "The local device failed the operation",                \
		"Look at wc_status, and at the port's state.")                                     \
	X(QP_FATAL, "qp_fatal", 502, "The queue pair went to the error state",                     \
		"The peer broke the protocol or the access rules, or the port went down.")         \
	X(PEER_DISCONNECT, "peer_disconnect", 502, "The peer disconnected",                        \
		"Connect again when the peer is ready.")                                           \
	X(LOCAL_CLOSE, "local_close", 409, "The connection was closed here", "Connect again.")     \
	X(CANCELLED, "cancelled", 409, "It was cancelled", "Ask again.")                           \
	X(STOPPING, "stopping", 503, "The daemon is stopping", "Try again when it is back.")       \
	X(VERBS_ERROR, "verbs_error", 502, "A verbs or rdma_cm call failed",                       \
		"The call and its errno are in this answer; see its man page.")                    \
	X(INTERNAL, "internal", 500, "verbsd failed", "Report it with the log.")

enum vbd_status {
	VBD_OK = 0,
#define VBD_STATUS_ENUM(sym, code, http, text, hint) VBD_E_##sym,
	VBD_STATUS_MAP(VBD_STATUS_ENUM)
#undef VBD_STATUS_ENUM
		VBD_STATUS_COUNT
};

/**
 * vbd_status_code - the stable name of a status, as `code` in problem+json
 * @status: any value; one that is not a status gives "internal"
 */
const char *vbd_status_code(enum vbd_status status);

/** vbd_status_http - the HTTP status (400 to 599; 200 for VBD_OK) */
unsigned int vbd_status_http(enum vbd_status status);

/** vbd_status_text - what the code means, one sentence without its stop */
const char *vbd_status_text(enum vbd_status status);

/** vbd_status_hint - what to do about it */
const char *vbd_status_hint(enum vbd_status status);

#endif
