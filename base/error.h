/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error with its first cause. It travels by value, is set once (the first writer wins), and
 * carries what a person needs: the status, the call that failed, the raw value as the library gave
 * it, the object, and one line of text.
 *
 * Any thread; no allocation.
 */
#ifndef VBD_BASE_ERROR_H
#define VBD_BASE_ERROR_H

#include "base/attr.h"
#include "base/status.h"

#include <stdint.h>

enum vbd_error_source {
	VBD_SOURCE_NONE,
	VBD_SOURCE_ERRNO,    /* raw is a positive errno */
	VBD_SOURCE_CM_EVENT, /* raw is the event's status; kind is the event type */
	VBD_SOURCE_WC,	     /* raw is the vendor_err; kind is the wc status */
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
	const char *call;  /* static string: "ibv_reg_mr"; NULL if none */
	uint64_t limit;	   /* the limit reached; 0 if none */
	char pointer[96];  /* JSON pointer, or the name of a query parameter; "" if none */
	const char *param; /* static string: "max_send_sge", a parameter of rdma/; NULL if none */
	char object[48];   /* path of the object concerned, "/v1/connections/7"; "" if none */
	char device[64];   /* NOT_SUPPORTED: which device lacks `capability`; "" if none */
	const char *capability; /* static string: "atomics"; NULL if none */
	char text[240];		/* one line */
};

/**
 * vbd_error_set - record an error unless one is recorded already
 * @err:    may be NULL, then nothing is kept
 * @status: not VBD_OK
 * @fmt:    one line, no stop at its end, naming the object
 *
 * Returns @status, so that `return vbd_error_set(err, …)` reads well.
 */
enum vbd_status vbd_error_set(struct vbd_error *err, enum vbd_status status, const char *fmt, ...)
	VBD_PRINTF(3, 4);

/**
 * vbd_error_errno - record a failed call
 * @status: VBD_OK to choose it from the errno (ENOMEM: no_memory, EMFILE: fd_limit, EACCES:
 * permission_denied, …)
 * @call:   static string, the function's name
 * @errnum: positive errno
 *
 * The text becomes "<message>: <call>: <strerror> (<errno name>)".
 */
enum vbd_status vbd_error_errno(struct vbd_error *err, enum vbd_status status, const char *call,
	int errnum, const char *fmt, ...) VBD_PRINTF(5, 6);

/** vbd_error_input - record bad input at @pointer ("/qp/sq_depth", or "limit" for a parameter) */
enum vbd_status vbd_error_input(struct vbd_error *err, enum vbd_status status, const char *pointer,
	const char *fmt, ...) VBD_PRINTF(4, 5);

/**
 * vbd_error_param - record a bad value of a parameter that a function of rdma/ got
 * @param: static string, the parameter's name; api/ turns it into a JSON pointer of its request
 */
enum vbd_status vbd_error_param(struct vbd_error *err, enum vbd_status status, const char *param,
	const char *fmt, ...) VBD_PRINTF(4, 5);

/*
 * What these return is never VBD_OK, and here a compiler can see it: otherwise gcc believes that an
 * output which is set on success only may be used without being set (-Wmaybe-uninitialized).
 */
static inline enum vbd_status vbd_error_failure(enum vbd_status status)
{
	return status == VBD_OK ? VBD_E_INTERNAL : status;
}

#define vbd_error_set(...)   vbd_error_failure(vbd_error_set(__VA_ARGS__))
#define vbd_error_errno(...) vbd_error_failure(vbd_error_errno(__VA_ARGS__))
#define vbd_error_input(...) vbd_error_failure(vbd_error_input(__VA_ARGS__))
#define vbd_error_param(...) vbd_error_failure(vbd_error_param(__VA_ARGS__))

/** vbd_errno_name - "ENOMEM" for 12; "E?" for a number nobody knows */
const char *vbd_errno_name(int errnum);

#endif
