/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of all errors. A row gives the symbol, the `code` in problem+json, the HTTP status, the
 * text of the code, and a hint on what to do. Everything that names an error is generated from this
 * list; tests compare it with openapi.yaml.
 *
 * Clients repeat a request that was answered with 408, 429, 500, 502, 503 or 504. So the outcome of
 * something that was begun is 424 (vbd_reply_outcome()), whatever its row says, and those statuses
 * are for requests that did nothing. A row with 424 is never a refusal.
 *
 * Any thread. No function here blocks; the texts are static strings.
 */
#ifndef VBD_BASE_STATUS_H
#define VBD_BASE_STATUS_H

/* X(SYMBOL, json code, HTTP status, text, hint) */
#define VBD_STATUS_MAP(X)                                                                          \
	X(MALFORMED_REQUEST, "malformed_request", 400, "The request is not valid HTTP",            \
		"The detail says what is wrong with the request. An HTTP library writes valid "    \
		"requests.")                                                                       \
	X(MALFORMED_JSON, "malformed_json", 400, "The body is not valid JSON",                     \
		"Check the body with a JSON parser; the position is in the detail.")               \
	X(UNKNOWN_FIELD, "unknown_field", 400, "The request has an unknown member",                \
		"Remove the member, or check its spelling in /v1/openapi.yaml.")                   \
	X(MISSING_FIELD, "missing_field", 400, "A required member is missing",                     \
		"Add the missing value; the detail names it.")                                     \
	X(WRONG_TYPE, "wrong_type", 400, "A member has the wrong type",                            \
		"See the schema in /v1/openapi.yaml.")                                             \
	X(OUT_OF_RANGE, "out_of_range", 400, "A number is out of range",                           \
		"Choose a number that fits what the detail says.")                                 \
	X(BAD_VALUE, "bad_value", 400, "A value is not one of those allowed",                      \
		"Choose a value that the detail, or /v1/openapi.yaml, allows.")                    \
	X(TOO_LONG, "too_long", 400, "A string is too long",                                       \
		"The detail names the longest allowed length.")                                    \
	X(MESSAGE_TOO_LONG, "message_too_long", 400, "A datagram is longer than the MTU",          \
		"Send it in parts of at most max_message_bytes, or over a connection.")            \
	X(BAD_UTF8, "bad_utf8", 400, "The body is not valid UTF-8", "Encode the body as UTF-8.")   \
	X(BODY_TOO_LARGE, "body_too_large", 413, "The body is larger than the limit",              \
		"Send less, or upload the bytes into a buffer.")                                   \
	X(TARGET_TOO_LONG, "target_too_long", 414, "The request target is longer than the limit",  \
		"Send long values in the body.")                                                   \
	X(HEAD_TOO_LARGE, "head_too_large", 431,                                                   \
		"The request line and the header fields are larger than the limit",                \
		"Send fewer or shorter header fields; of a browser, delete the cookies of the "    \
		"host.")                                                                           \
	X(UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", 415,                                   \
		"The path does not take this kind of body",                                        \
		"Send Content-Type: application/json (application/octet-stream for data).")        \
	X(UNAUTHORIZED, "unauthorized", 401, "A valid token is needed",                            \
		"Send Authorization: Bearer TOKEN; verbsctl takes the token from --token-file, "   \
		"VERBSD_TOKEN or VERBSD_TOKEN_FILE.")                                              \
	X(FORBIDDEN, "forbidden", 403, "This role may not do that",                                \
		"Use a token of the role that the detail names; on the unix socket, be a user of " \
		"that role (control_group and operate_group, or callers_file).")                   \
	X(BAD_HOST, "bad_host", 421, "The Host header names another server",                       \
		"Use the address verbsd listens on, or add the name to allowed_hosts.")            \
	X(UNIX_SOCKET_ONLY, "unix_socket_only", 421,                                               \
		"A descriptor is given over the unix socket only",                                 \
		"Connect to the unix_socket of the configuration, with HTTP/1.1.")                 \
	X(BAD_ORIGIN, "bad_origin", 403, "The request comes from a page of another site",          \
		"Call the API from the page verbsd serves, or from outside a browser.")            \
	X(FAULT_INJECTION_OFF, "fault_injection_off", 403, "This verbsd injects no faults",        \
		"On a machine for tests set fault_injection: true in its configuration, and "      \
		"start it again.")                                                                 \
	X(NOT_FOUND, "not_found", 404, "This verbsd has no such object or path",                   \
		"List what there is: GET the collection, or its `ls`, as `verbsctl buffers ls`.")  \
	X(METHOD_NOT_ALLOWED, "method_not_allowed", 405, "The path does not know this method",     \
		"See Allow.")                                                                      \
	X(VERSION_NOT_SUPPORTED, "version_not_supported", 505,                                     \
		"verbsd knows no such version of HTTP", "Use HTTP/1.1.")                           \
	X(NOT_IMPLEMENTED, "not_implemented", 501, "verbsd knows no such method or coding",        \
		"Use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS, and no transfer coding "      \
		"but chunked.")                                                                    \
	X(NAME_TAKEN, "name_taken", 409, "The name is taken",                                      \
		"Choose another name, delete the object that has it, or use that object: "         \
		"`verbsctl buf put` does so without --create.")                                    \
	X(IN_USE, "in_use", 409, "The object is in use",                                           \
		"Wait until the objects that use it are gone, or delete them first.")              \
	X(PD_MISMATCH, "pd_mismatch", 409, "The objects are in different protection domains",      \
		"Create them in one protection domain; the detail names both.")                    \
	X(WRONG_STATE, "wrong_state", 409, "The object's state does not allow the request",        \
		"The detail names the object's state, and the states that allow the request.")     \
	X(IDEMPOTENCY_CONFLICT, "idempotency_conflict", 409,                                       \
		"A request with this Idempotency-Key is still running", "Try again later.")        \
	X(IDEMPOTENCY_MISMATCH, "idempotency_mismatch", 422,                                       \
		"This Idempotency-Key was used for another request", "Use a new key.")             \
	X(OUTCOME_UNKNOWN, "outcome_unknown", 409,                                                 \
		"The first request with this Idempotency-Key may have done something",             \
		"Look at the object of the first request; if that is not there, use a new key.")   \
	X(RELOAD_FAILED, "reload_failed", 422, "The configuration can't be taken up",              \
		"The detail names file and line. What was in force before still is.")              \
	X(SERVER_RESTARTED, "server_restarted", 412, "This is another run of verbsd",              \
		"Read the state again: ids and event places of another run mean nothing here.")    \
	X(CHANGED_MEANWHILE, "changed_meanwhile", 412, "The object has changed meanwhile",         \
		"Read the object again, and send its new ETag.")                                   \
	X(EXPECTATION_FAILED, "expectation_failed", 417, "The request expects something unknown",  \
		"Send Expect: 100-continue, or no Expect.")                                        \
	X(LIMIT_REACHED, "limit_reached", 409, "A configured limit is reached",                    \
		"Delete objects that are not needed, or raise the limit in the configuration.")    \
	X(LIMIT_EXCEEDED, "limit_exceeded", 422, "The request is larger than a configured limit",  \
		"Ask for less, or raise the limit in the configuration.")                          \
	X(TOO_MANY_REQUESTS, "too_many_requests", 429, "Too many requests are being served",       \
		"Try again later; Retry-After says when.")                                         \
	X(THROTTLED, "throttled", 429, "The caller sends too many requests at a time",             \
		"Try again later; Retry-After says when. callers_file has the caller's quotas.")   \
	X(QUOTA_EXCEEDED, "quota_exceeded", 409, "A quota of the caller is used up",               \
		"End objects that are not needed, or raise the caller's quota in callers_file.")   \
	X(TOO_MANY_CLIENTS, "too_many_clients", 503, "As many clients are connected as may be",    \
		"Try again later, or keep fewer connections; Retry-After says when.")              \
	X(RANGE_NOT_SATISFIABLE, "range_not_satisfiable", 416,                                     \
		"The range lies outside the buffer",                                               \
		"Ask for less, or put a larger buffer in its place (`verbsctl buf rm`, then "      \
		"`verbsctl buf put --create`); the detail has both sizes.")                        \
	X(NO_DEVICE, "no_device", 503, "No RDMA device is available for the request",              \
		"Load the RDMA driver of the NIC (`modprobe` mlx5_ib, mlx4_ib, irdma, bnxt_re, "   \
		"qedr or iw_cxgb4); `rdma link` and `verbsctl devices` then list it. Without "     \
		"such a NIC: `rdma link add rxe0 type rxe netdev IF`.")                            \
	X(DEVICE_REMOVED, "device_removed", 503, "The RDMA device was removed",                    \
		"Add the device again; verbsd detects it automatically.")                          \
	X(NOT_SUPPORTED, "not_supported", 422, "The device does not support the request",          \
		"Compare the request with the device's capabilities in /v1/devices.")              \
	X(MEMLOCK, "memlock", 507, "The locked-memory limit does not allow this",                  \
		"Raise RLIMIT_MEMLOCK: LimitMEMLOCK=infinity in the unit, or `ulimit -l`.")        \
	X(NO_MEMORY, "no_memory", 507, "Out of memory", "Free memory, or ask for less.")           \
	X(DEVICE_LIMIT, "device_limit", 507,                                                       \
		"The device has no room for another object of this kind",                          \
		"Delete objects, or raise the limits of the device or of the rdma cgroup.")        \
	X(FD_LIMIT, "fd_limit", 503, "No file descriptor is left",                                 \
		"Raise RLIMIT_NOFILE (LimitNOFILE= in the unit).")                                 \
	X(ADDRESS_IN_USE, "address_in_use", 409, "The address and port are taken",                 \
		"Choose another port, or port 0 to let the kernel pick one.")                      \
	X(ADDRESS_NOT_AVAILABLE, "address_not_available", 422, "No RDMA device has this address",  \
		"Use an address of a network interface that has an RDMA device.")                  \
	X(PERMISSION_DENIED, "permission_denied", 500, "The kernel refused access",                \
		"Let the daemon's user read and write the files in /dev/infiniband: by a rule of " \
		"udev, as rdma-core's (mode 0666), or by `chmod 0666` until the next boot.")       \
	X(NAME_NOT_RESOLVED, "name_not_resolved", 422, "The host name has no address",             \
		"Check the spelling and the resolver (`getent ahosts NAME`), or give an address.") \
	X(ADDR_ERROR, "addr_error", 422, "The address could not be resolved",                      \
		"No neighbour has that address: check the address, cable and VLAN, and that the "  \
		"peer is up.")                                                                     \
	X(ROUTE_ERROR, "route_error", 422, "No route to the address",                              \
		"Use an address behind an RDMA interface (`rdma link`), not the loopback; on "     \
		"InfiniBand check the subnet manager.")                                            \
	X(CONNECT_ERROR, "connect_error", 500, "The connection could not be made",                 \
		"See the connection's timeline, and the kernel log of both hosts.")                \
	X(UNREACHABLE, "unreachable", 424, "The peer does not answer",                             \
		"The host exists but its RDMA CM does not answer: check `rdma link` there, and "   \
		"that UDP 4791 is open.")                                                          \
	X(REJECTED, "rejected", 424, "The peer rejected the connection",                           \
		"Check that a program listens on that port; the detail has the CM's reason.")      \
	X(REJECTED_LOCALLY, "rejected_locally", 424, "The request was rejected here",              \
		"Raise accept_timeout_ms, or create the listener with policy auto.")               \
	X(TIMED_OUT, "timed_out", 424, "The deadline passed",                                      \
		"Find out why the step in the detail took so long; if the peer is only slow, "     \
		"raise the timeout.")                                                              \
	X(RETRY_EXCEEDED, "retry_exceeded", 424, "The peer's device stopped acknowledging",        \
		"Ping the peer: its host is down, the path is cut, or GID type or MTU of the "     \
		"sides differ.")                                                                   \
	X(PEER_SILENT, "peer_silent", 424, "The peer no longer answers heartbeats",                \
		"The peer's host is down or cut off: `ping` it, and connect again when it is up.") \
	X(RNR_EXCEEDED, "rnr_exceeded", 424, "The peer had no receive posted for too long",        \
		"The receiver is too slow: post more receives there, or raise rnr_retry here.")    \
	X(REMOTE_ACCESS, "remote_access", 424, "The peer's device refused the access",             \
		"Check addr, rkey, length, and the access flags of the peer's buffer.")            \
	X(REMOTE_OPERATION, "remote_operation", 424, "The peer failed the operation",              \
		"See the first error of the peer's connection: its receive was too short, or an "  \
		"error there ended the operation.")                                                \
	X(REMOTE_INVALID, "remote_invalid", 424,                                                   \
		"The peer's device rejected the request as invalid",                               \
		"Compare the length with recv_size_bytes of the peer, and the path MTU of both "   \
		"sides; check that the peer's QP allows the operation.")                           \
	X(LOCAL_ERROR, "local_error", 424, "The local device failed the operation",                \
		"See error.first for the operation and its status, and the state of the port.")    \
	X(QP_FATAL, "qp_fatal", 424, "The device moved the queue pair to the error state",         \
		"See security_peer_refused in the events, the first error of the peer's "          \
		"connection, the async events in the timeline, and the kernel log.")               \
	X(PEER_DISCONNECT, "peer_disconnect", 424, "The peer disconnected",                        \
		"If this was not expected, see the log or the verbsd of the peer; then connect "   \
		"again.")                                                                          \
	X(LOCAL_CLOSE, "local_close", 424, "A client closed the connection", "Connect again.")     \
	X(CANCELLED, "cancelled", 424, "The operation was cancelled",                              \
		"Start it again if it is still needed.")                                           \
	X(COPY_FAILED, "copy_failed", 424, "The copy failed",                                      \
		"Read `fault` of the copy. What was copied stays, and the same copy "              \
		"again skips it.")                                                                 \
	X(STOPPING, "stopping", 503, "The daemon is stopping",                                     \
		"Try again when the daemon runs again.")                                           \
	X(DRAINING, "draining", 503, "The daemon drains, and begins nothing new",                  \
		"Use another host, or take the drain back: DELETE /v1/drain, `verbsctl undrain`.") \
	X(DAEMON_DIED, "daemon_died", 424, "The daemon ended before the object did",               \
		"Start it again if it is still needed; the log of that run may say why it ended.") \
	X(VERBS_ERROR, "verbs_error", 500, "A verbs or rdma_cm call failed",                       \
		"The detail names the call and its errno; see the call's man page.")               \
	X(RESOURCE_ERROR, "resource_error", 424, "A call that the object needed failed",           \
		"The detail names the call and its errno.")                                        \
	X(PROTOCOL_ERROR, "protocol_error", 424,                                                   \
		"The CM reported an event that the state does not allow",                          \
		"Report it, with the connection's timeline.")                                      \
	X(INTERNAL, "internal", 500, "verbsd has an internal error",                               \
		"Report it, with the daemon's log.")

enum vbd_status {
	VBD_OK = 0,
#define VBD_STATUS_ENUM(sym, code, http, text, hint) VBD_E_##sym,
	VBD_STATUS_MAP(VBD_STATUS_ENUM)
#undef VBD_STATUS_ENUM
		VBD_STATUS_COUNT
};

/**
 * vbd_status_code - the stable name of a status, `code` in problem+json
 * @status: any value; "internal" if it is not a status
 */
const char *vbd_status_code(enum vbd_status status);

/** vbd_status_http - the HTTP status: 400 to 599, or 200 for VBD_OK */
unsigned int vbd_status_http(enum vbd_status status);

/** vbd_status_retry_after_s - seconds after which another try may succeed; 0 if waiting does not
 * help */
unsigned int vbd_status_retry_after_s(enum vbd_status status);

/** vbd_status_text - the meaning of the code: one sentence without its full stop */
const char *vbd_status_text(enum vbd_status status);

/** vbd_status_hint - the remedy, a sentence */
const char *vbd_status_hint(enum vbd_status status);

#endif
