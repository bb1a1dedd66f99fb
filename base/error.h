/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error with its first cause. Callers pass it down by pointer; the first failure is recorded and
 * later ones are ignored. It holds the status, the call that failed, the library's raw value, the
 * object, and one line of text.
 *
 * Any thread. No function here allocates or blocks.
 */
#ifndef VBD_BASE_ERROR_H
#define VBD_BASE_ERROR_H

#include "base/attr.h"
#include "base/status.h"

enum vbd_error_source {
	VBD_SOURCE_NONE,
	VBD_SOURCE_ERRNO,    /* raw is a positive errno, or 0: the call gave none */
	VBD_SOURCE_CM_EVENT, /* raw is the status of the CM event; kind is the event type */
	VBD_SOURCE_WC,	     /* raw is vendor_err; kind is the status of the work completion */
	VBD_SOURCE_ASYNC,    /* kind is the async event type */
	VBD_SOURCE_GAI,	     /* raw is a getaddrinfo(3) code */
	VBD_SOURCE_DEADLINE, /* raw is the deadline in ms */
	VBD_SOURCE_INPUT,    /* pointer or param names the bad value */
};

struct vbd_error {
	enum vbd_status status;
	enum vbd_error_source source;
	int kind;
	int64_t raw;
	const char *call;    /* static string: "ibv_reg_mr"; NULL if none */
	uint64_t limit;	     /* the limit that was reached; 0 if none */
	char limit_name[40]; /* "limits.buffers", "RLIMIT_MEMLOCK"; "" if none, or without a name */
	char caller[64];     /* QUOTA_EXCEEDED: whose quota it is; "" if none */
	char pointer[96];    /* JSON pointer, or the name of a query parameter; "" if none */
	const char *param;   /* static string: "max_send_sge", a parameter of rdma/; NULL if none */
	char object[48];     /* path of the object, "/v1/connections/7"; "" if none */
	char device[64];     /* NOT_SUPPORTED: the device that lacks `capability`; "" if none */
	const char *capability; /* static string: "atomics"; NULL if none */
	const char *hint;	/* static string; NULL: the hint of the status */
	bool on_purpose;	/* a fault that a client asked for is the cause */
	char text[240];		/* one line */
};

/**
 * vbd_error_set - record an error unless @err already holds one
 * @err:    filled; may be NULL, then nothing is recorded
 * @status: any status but VBD_OK
 * @fmt:    printf(3) format of one line without a full stop that names the object
 *
 * Returns @status, so that a caller can write `return vbd_error_set(err, …)`.
 */
enum vbd_status vbd_error_set(struct vbd_error *err, enum vbd_status status, const char *fmt, ...)
	VBD_PRINTF(3, 4);

/**
 * vbd_error_errno - record a failed system or library call, unless @err already holds an error
 * @err:    filled; may be NULL, then nothing is recorded
 * @status: VBD_OK to derive the status from @errnum (ENOMEM: no_memory, EMFILE: fd_limit, EACCES:
 *          permission_denied, …); EMFILE and ENFILE are fd_limit whatever @status says, since no
 *          other call would have fared better
 * @call:   name of the function that failed; a static string, which @err keeps
 * @errnum: errno of either sign; 0 if the call failed without one, as functions of drivers do
 * @fmt:    printf(3) format of the message
 *
 * The text becomes "<message>: <call>: <strerror> (<errno name>)", or "<message>: <call> failed and
 * gave no reason". Returns the status, never VBD_OK.
 */
enum vbd_status vbd_error_errno(struct vbd_error *err, enum vbd_status status, const char *call,
	int errnum, const char *fmt, ...) VBD_PRINTF(5, 6);

/**
 * vbd_error_input - record a bad value in a request, unless @err already holds an error
 * @err:     filled; may be NULL, then nothing is recorded
 * @status:  any status but VBD_OK
 * @pointer: JSON pointer of the member ("/qp/sq_depth"), or the name of a query parameter
 *           ("limit"); copied
 * @fmt:     printf(3) format of one line without a full stop
 *
 * Returns @status.
 */
enum vbd_status vbd_error_input(struct vbd_error *err, enum vbd_status status, const char *pointer,
	const char *fmt, ...) VBD_PRINTF(4, 5);

/**
 * vbd_error_hint - say what to do about an error, in place of the hint of its status
 * @err:    may be NULL; a hint that it has already stays
 * @status: of the error, which is returned
 * @hint:   a static string, a whole sentence
 */
enum vbd_status vbd_error_hint(struct vbd_error *err, enum vbd_status status, const char *hint);

/**
 * vbd_error_limit - note the limit for the error that is recorded next, unless @err already holds
 * one
 * @err:  may be NULL
 * @name: key of the configuration below `limits`, "buffers"; copied
 */
void vbd_error_limit(struct vbd_error *err, const char *name, uint64_t limit);

/**
 * vbd_error_param - record a bad value of a parameter of a function in rdma/, unless @err already
 * holds an error
 * @err:    filled; may be NULL, then nothing is recorded
 * @status: any status but VBD_OK
 * @param:  name of the parameter, a static string, which api/ maps to a JSON pointer
 * @fmt:    printf(3) format of one line without a full stop
 *
 * Returns @status.
 */
enum vbd_status vbd_error_param(struct vbd_error *err, enum vbd_status status, const char *param,
	const char *fmt, ...) VBD_PRINTF(4, 5);

/*
 * The functions above that take a format never return VBD_OK. These wrappers show that to the
 * compiler: without them gcc warns (-Wmaybe-uninitialized) about every output that a function sets
 * only on success.
 */
static inline enum vbd_status vbd_error_failure(enum vbd_status status)
{
	return status == VBD_OK ? VBD_E_INTERNAL : status;
}

#define vbd_error_set(...)   vbd_error_failure(vbd_error_set(__VA_ARGS__))
#define vbd_error_errno(...) vbd_error_failure(vbd_error_errno(__VA_ARGS__))
#define vbd_error_input(...) vbd_error_failure(vbd_error_input(__VA_ARGS__))
#define vbd_error_param(...) vbd_error_failure(vbd_error_param(__VA_ARGS__))

/**
 * vbd_errno_name - the symbol of an errno
 *
 * Returns a static string: "ENOMEM" for 12, "E?" for a number without a symbol, "" for 0.
 */
const char *vbd_errno_name(int errnum);

#endif
