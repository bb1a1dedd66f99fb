/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One verbsd as seen from here: its address, the token for it, and requests to it. The only user of
 * libcurl.
 *
 * One thread. Every request blocks until it is answered, fails, or has stood still for too long.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_HTTP_H
#define VBD_CMD_VERBSCTL_COMMON_HTTP_H

#include "cmd/verbsctl/common/progress.h"
#include "cmd/verbsctl/common/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vbd_ctl_http {
	void *curl;	 /* CURL easy handle; keeps the connection between requests */
	char *shown;	 /* the address as messages name it */
	char *base;	 /* "http://127.0.0.1:7480", no slash at its end */
	char *unix_path; /* NULL for TCP */
	char *token;	 /* NULL for none */
	bool json;	 /* errors are printed as the server's JSON */
	long patience_s; /* for an answer, beyond what the server may wait on purpose */
};

/* Where the token of a server may come from; the first that is there counts. */
struct vbd_ctl_token_source {
	const char *file;	   /* from the command line, or NULL */
	const char *variable;	   /* name of an environment variable that holds it */
	const char *file_variable; /* name of one that holds a file's name */
};

/*
 * Takes @len bytes of a body that is not JSON. Returns false to stop; it has told the user why.
 */
typedef bool (*vbd_ctl_sink_cb)(const char *bytes, size_t len, void *arg);

/* A file on its way to the server. */
struct vbd_ctl_upload {
	int fd;
	int64_t start;	     /* where in the file it begins; negative if it can't be sought */
	int64_t bytes;	     /* how long it is; -1 if only its end will tell */
	uint64_t sent_bytes; /* how much has been read and handed over */
};

struct vbd_ctl_request {
	const char *method;
	const char *path;    /* with its query */
	const json_t *body;  /* or NULL */
	bool prefer_wait;    /* send Prefer: wait=… */
	unsigned int wait_s; /* how long the server may take on purpose */
	const char *range;   /* "0-1023", or NULL */

	struct vbd_ctl_upload *upload; /* the bytes to send, for PUT; or NULL */
	vbd_ctl_sink_cb sink; /* gets the body of a good answer; NULL: it is kept as JSON */
	void *sink_arg;
	struct vbd_ctl_progress *progress; /* or NULL */

	/* Called while the answer is waited for, at least once a second; false gives it up. */
	bool (*idle)(void *arg);
	void *idle_arg;
};

struct vbd_ctl_answer {
	long status;
	char *content_type; /* never NULL */
	char *body;	    /* NUL-terminated, never NULL; what did not go to a sink */
	size_t body_len;
	bool reconnected; /* it came over a connection made for it, so maybe from another run */
	json_t *json;	  /* of a good answer; NULL if it had no body */
};

/**
 * vbd_ctl_http_init - get ready to talk to the verbsd at @url; nothing is sent
 * @url: http://HOST[:PORT], https://HOST[:PORT], HOST[:PORT] or unix:/PATH; the port is 7480 when
 * left out
 *
 * Returns VBD_CTL_USAGE, told, if the URL is none or a token can't be had. fini it in any case.
 */
enum vbd_ctl_exit vbd_ctl_http_init(
	struct vbd_ctl_http *http, const char *url, const struct vbd_ctl_token_source *token);

/** vbd_ctl_http_fini - takes one that is zeroed, too */
void vbd_ctl_http_fini(struct vbd_ctl_http *http);

/* How a request went. */
enum vbd_ctl_outcome {
	VBD_CTL_ANSWERED,    /* any HTTP status */
	VBD_CTL_UNREACHABLE, /* no connection; @ret_why says why */
	VBD_CTL_LOST,	     /* connected, but no whole answer came; @ret_why says why */
	VBD_CTL_STOPPED,     /* on this side, told: file or sink failed */
};

/**
 * vbd_ctl_http_perform - send a request and take the answer, whatever it is; tells the user nothing
 * @ret_answer: set in any case; free it with vbd_ctl_answer_fini
 * @ret_why:    what libcurl or the kernel says, if the outcome is UNREACHABLE or LOST; the caller
 * frees it
 */
enum vbd_ctl_outcome vbd_ctl_http_perform(struct vbd_ctl_http *http,
	const struct vbd_ctl_request *request, struct vbd_ctl_answer *ret_answer, char **ret_why);

/**
 * vbd_ctl_http_call - the same, and a good answer (2xx; JSON, if it has a body) is all that counts
 *
 * Anything else is VBD_CTL_FAILED, told with its reason and hint.
 */
enum vbd_ctl_exit vbd_ctl_http_call(struct vbd_ctl_http *http,
	const struct vbd_ctl_request *request, struct vbd_ctl_answer *ret_answer);

/** vbd_ctl_http_report - tell why a request that vbd_ctl_http_perform made did not get a good
 * answer */
enum vbd_ctl_exit vbd_ctl_http_report(const struct vbd_ctl_http *http, enum vbd_ctl_outcome outcome,
	const struct vbd_ctl_answer *answer, const char *why);

/** vbd_ctl_answer_fini - takes one that is zeroed, too */
void vbd_ctl_answer_fini(struct vbd_ctl_answer *answer);

/**
 * vbd_ctl_path - "/v1/buffers/NAME/data" from its parts, the middle one percent-encoded; the caller
 * frees it
 * @tail: "" for none
 */
char *vbd_ctl_path(const char *collection, const char *ref, const char *tail);

#endif
