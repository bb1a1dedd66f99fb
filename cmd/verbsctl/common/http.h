/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to one verbsd: its address, its token, and HTTP. The only user of libcurl.
 *
 * One thread. A request blocks until it is answered, fails, or makes no progress for too long.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_HTTP_H
#define VBD_CMD_VERBSCTL_COMMON_HTTP_H

#include "cmd/verbsctl/common/args.h"
#include "cmd/verbsctl/common/view.h"

#include <jansson.h>

/* How verbsctl proves who it is, and knows the server. */
struct vbd_ctl_credentials {
	/* The sources of the token, in order of preference. */
	const char *token_file;		 /* named on the command line, or NULL */
	const char *token_variable;	 /* environment variable with the token */
	const char *token_file_variable; /* environment variable with the name of a file */
	/* Files for TLS; NULL for none, or for the system's CAs, or for a key in the file of the
	 * certificate. */
	const char *ca, *cert, *key;
	bool insecure; /* a token may be sent in clear to another host */
};

struct vbd_ctl_http {
	void *curl;	   /* CURL easy handle; keeps the connection open between requests */
	char *shown;	   /* the address, for messages */
	const char *asked; /* option and value that name the requested object; NULL: none */
	char *base;	   /* "http://127.0.0.1:7480", without a slash at the end */
	char *unix_path;   /* NULL for TCP */
	char *token;	   /* NULL for none */
	bool json;	   /* print errors as the server's JSON */
	const struct vbd_ctl_args *args; /* the command line, for errors; outlives this */
	long patience_s; /* longest wait for an answer, added to the request's wait_s */
	struct vbd_ctl_credentials credentials;
};

/*
 * Receives a part of a body that is not JSON. Returns false to abort the request, and then has
 * printed the error.
 */
typedef bool (*vbd_ctl_sink_cb)(const char *bytes, size_t len, void *arg);

/* A file to upload. */
struct vbd_ctl_upload {
	int fd;
	int64_t start; /* file offset of the first byte; negative if the file is not seekable */
	int64_t bytes; /* length; -1 if unknown, as of a pipe */
	uint64_t sent_bytes; /* bytes given to libcurl so far */
};

struct vbd_ctl_request {
	const char *method;
	const char *path;    /* path and query */
	const json_t *body;  /* request body, or NULL */
	bool prefer_wait;    /* send Prefer: wait=… */
	unsigned int wait_s; /* time that the server may wait before it answers */

	struct vbd_ctl_upload *upload; /* file to send with PUT; or NULL */
	vbd_ctl_sink_cb sink;	       /* body of a good answer; NULL: it is kept as JSON */
	void *sink_arg;
	const char *progress; /* label of a progress bar; NULL: none is drawn */

	/* Called at least once a second during the request; returns false to abort it. */
	bool (*idle)(void *arg);
	void *idle_arg;
};

/* Outcome of a request. */
enum vbd_ctl_outcome {
	VBD_CTL_ANSWERED,    /* the server answered, with any HTTP status */
	VBD_CTL_UNREACHABLE, /* no connection */
	VBD_CTL_CUT,	     /* connected, but the connection ended without a byte */
	VBD_CTL_LOST,	     /* connected, but the answer is incomplete */
	VBD_CTL_STOPPED,     /* aborted by verbsctl: file or sink failed; the error is printed */
};

struct vbd_ctl_answer {
	enum vbd_ctl_outcome outcome;
	char *why; /* text of libcurl or the kernel if the outcome is UNREACHABLE, CUT or LOST; of
		    * jansson if `json` is missing; else NULL */
	long status;
	char *content_type; /* content type, never NULL */
	char *body;	    /* body that did not go to a sink; NUL-terminated, never NULL */
	size_t body_len;
	json_t *json;	       /* the body; NULL if it is no JSON */
	int64_t retry_after_s; /* Retry-After; 0 for none */
};

/**
 * vbd_ctl_http_init - set up requests to a verbsd; sends nothing
 * @url: http://HOST[:PORT], https://HOST[:PORT], HOST[:PORT] or unix:/PATH; the default port is
 *       7480
 *
 * Prints the error and ends with VBD_CTL_USAGE if the URL is malformed, a file can't be read, or
 * the token would go to another host in clear. All that @http has is kept.
 */
void vbd_ctl_http_init(
	struct vbd_ctl_http *http, const char *url, const struct vbd_ctl_credentials *credentials);

/** vbd_ctl_http_perform - send a request and receive the answer; prints nothing; blocks */
struct vbd_ctl_answer vbd_ctl_http_perform(
	struct vbd_ctl_http *http, const struct vbd_ctl_request *request);

/**
 * vbd_ctl_http_call - send a request and accept only a good answer: 2xx, with JSON if it has a body
 *
 * Blocks. Returns the JSON; NULL if there is none. For any other outcome prints the error with
 * reason and hint, and ends with its status.
 */
json_t *vbd_ctl_http_call(struct vbd_ctl_http *http, const struct vbd_ctl_request *request);

/** vbd_ctl_http_fail - print why a request of vbd_ctl_http_perform() got no good answer, and end */
_Noreturn void vbd_ctl_http_fail(
	const struct vbd_ctl_http *http, const struct vbd_ctl_answer *answer);

#endif
