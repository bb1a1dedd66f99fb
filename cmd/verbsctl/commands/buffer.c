/* SPDX-License-Identifier: Apache-2.0 */
/* buffers create, put, get, map, sum. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_unix(const struct vbd_ctl_http *http)
{
	const struct timeval patience = {.tv_sec = http->patience_s};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(http->unix_path) >= sizeof(addr.sun_path))
		return -1;
	memcpy(addr.sun_path, http->unix_path, strlen(http->unix_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* Sends a few hundred bytes, which a fresh socket takes at once. */
static bool send_request(const struct vbd_ctl_http *http, int socket, const char *path)
{
	char *token = http->token ? vbd_ctl_format("Authorization: Bearer %s\r\n", http->token)
				  : vbd_ctl_format("%s", "");
	char *text = vbd_ctl_format("GET %s HTTP/1.1\r\nHost: localhost\r\n%sConnection: "
				    "close\r\n\r\n",
		path, token);
	ssize_t len = (ssize_t)strlen(text);
	bool sent = send(socket, text, (size_t)len, MSG_NOSIGNAL) == len;

	explicit_bzero(text, strlen(text));
	explicit_bzero(token, strlen(token));
	return sent;
}

/* The descriptor comes with the first bytes of the answer. Returns -1 if there is none. */
static int receive_descriptor(int socket)
{
	char bytes[512];
	struct iovec iov = {.iov_base = bytes, .iov_len = sizeof(bytes)};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	const struct cmsghdr *header;
	ssize_t n;
	int fd;

	do {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
		header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(int));
	return fd;
}

/* GET a path whose answer has a descriptor. */
static int get_descriptor(struct vbd_ctl_http *http, const char *path)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = path};
	int socket = http->unix_path ? connect_unix(http) : -1;
	int fd = socket >= 0 && send_request(http, socket, path) ? receive_descriptor(socket) : -1;

	if (socket >= 0)
		(void)close(socket);
	if (fd >= 0)
		return fd;
	/* The same request by the usual way says what is wrong. */
	(void)vbd_ctl_http_call(http, &request);
	vbd_ctl_fail("%s answered without a descriptor", http->shown);
}

#define BUFFERS	     "/v1/buffers"
#define SUM_WITHIN_S 900 /* seconds; sha256 of a terabyte takes so long */

/* The path of a buffer's bytes or checksum, with the options as query. */
static char *range_path(struct vbd_ctl *ctl, const char *tail)
{
	return vbd_ctl_format(
		"%s%s", vbd_ctl_object_path(ctl, tail), vbd_ctl_args_query(&ctl->args, '?'));
}

/* Files of /proc have 0 bytes, those of /sys 4096, whatever can be read: a size is known if its
 * last byte is there. */
static bool size_is_known(const struct vbd_ctl_upload *upload, const struct stat *status)
{
	char last;

	return S_ISREG(status->st_mode) && upload->start >= 0 && upload->start <= status->st_size &&
	       pread(upload->fd, &last, 1, status->st_size - 1) == 1;
}

/*
 * Opens the file to send. The request announces the length of a regular file, so that the server
 * can refuse it before the bytes travel; the length of a pipe is unknown.
 */
static struct vbd_ctl_upload open_source(const char *name)
{
	struct vbd_ctl_upload upload = {.fd = fileno(vbd_ctl_open_file(name)), .bytes = -1};
	struct stat status = {0};

	if (fstat(upload.fd, &status) == 0 && S_ISDIR(status.st_mode))
		vbd_ctl_fail("%s: %s", name, strerror(EISDIR));
	/* Another program may have read the beginning of standard input. */
	upload.start = lseek(upload.fd, 0, SEEK_CUR);
	if (size_is_known(&upload, &status))
		upload.bytes = status.st_size - upload.start;
	return upload;
}

/* A write sends the whole buffer: the end of a longer file may still be there. */
static void put_sent(struct vbd_ctl *ctl, const char *path, uint64_t sent_bytes)
{
	uint64_t size_bytes = vbd_ctl_json_uint(vbd_ctl_get_quietly(ctl, path), "size_bytes");

	printf("%llu bytes put", (unsigned long long)sent_bytes);
	if (size_bytes > sent_bytes)
		printf("; the other %llu of %s are unchanged",
			(unsigned long long)(size_bytes - sent_bytes), ctl->args.operands[0]);
	puts("");
}

/* Sends the file to the buffer at @path. */
static void send_file(struct vbd_ctl *ctl, const char *path, struct vbd_ctl_upload *upload)
{
	unsigned long long offset = ctl->args.number[VBD_CTL_OPT_OFFSET];
	const struct vbd_ctl_request request = {
		.method = "PUT",
		.path = offset ? vbd_ctl_format("%s/data?offset_bytes=%llu", path, offset)
			       : vbd_ctl_format("%s/data", path),
		.upload = upload,
		.progress = vbd_ctl_format("put %s", ctl->args.operands[0]),
	};
	const json_t *answer = vbd_ctl_http_call(&ctl->http, &request);
	char more;

	if (ctl->json)
		vbd_ctl_json_put(stdout, answer);
	else
		put_sent(ctl, path, upload->sent_bytes);
	if (upload->bytes >= 0 && read(upload->fd, &more, 1) == 1)
		vbd_ctl_fail(
			"%s has grown meanwhile; the buffer has the bytes that were there before",
			ctl->args.operands[1]);
}

/* Whether an option that describes a new buffer was given. The other members of the body are the
 * name and the offset. */
static bool describes_buffer(const struct vbd_ctl_args *args)
{
	return json_object_size(vbd_ctl_args_body(args)) >
	       1U + vbd_ctl_args_has(args, VBD_CTL_OPT_OFFSET);
}

struct filling {
	struct vbd_ctl *ctl;
	const char *path;
	struct vbd_ctl_upload *upload;
};

static void upload_to_new_buffer(void *arg)
{
	const struct filling *filling = arg;

	send_file(filling->ctl, filling->path, filling->upload);
}

/* Creates a buffer with the name of the first operand, and fills it. A buffer that could not be
 * filled is deleted again. */
static void put_new(struct vbd_ctl *ctl, struct vbd_ctl_upload *upload)
{
	json_t *body = vbd_ctl_args_body(&ctl->args);
	struct filling filling = {.ctl = ctl, .upload = upload};
	enum vbd_ctl_exit exit_status;

	if (upload->bytes < 0)
		vbd_ctl_refuse(&ctl->args, "--create needs a file whose size is known, and not 0");
	vbd_ctl_json_set(body, "size_bytes", json_integer(upload->bytes));
	filling.path =
		vbd_ctl_path_of(BUFFERS, vbd_ctl_call(ctl, "POST", BUFFERS, body, VBD_CTL_NO_WAIT));
	exit_status = vbd_ctl_try(upload_to_new_buffer, &filling);
	if (exit_status == VBD_CTL_OK)
		return;
	(void)vbd_ctl_call(ctl, "DELETE", filling.path, NULL, VBD_CTL_NO_WAIT);
	vbd_ctl_end(exit_status);
}

void vbd_ctl_buffer_put(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_args *args = &ctl->args;
	bool create = vbd_ctl_args_has(args, VBD_CTL_OPT_CREATE);
	struct vbd_ctl_upload upload;

	if (create && vbd_ctl_args_has(args, VBD_CTL_OPT_OFFSET))
		vbd_ctl_refuse(args, "--create and --offset exclude each other");
	if (!create && describes_buffer(args))
		vbd_ctl_refuse(args, "options of a new buffer need --create");
	upload = open_source(args->operands[1]);
	if (create)
		put_new(ctl, &upload);
	else
		send_file(ctl, vbd_ctl_object_path(ctl, ""), &upload);
}

/* The destination of a buffer's bytes. The file is opened, and truncated, only after the server has
 * agreed to send. */
struct target {
	struct vbd_ctl *ctl;
	const char *name; /* NULL for standard output */
	int fd;		  /* -1 until the file is open */
	uint64_t bytes;
};

static bool write_bytes(const char *bytes, size_t len, void *arg)
{
	struct target *target = arg;

	if (target->fd < 0)
		target->fd = open(target->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (target->fd < 0) {
		vbd_ctl_note("%s: %s", target->name, strerror(errno));
		return false;
	}
	while (len) {
		ssize_t n = write(target->fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			vbd_ctl_note("%s: %s", target->name ? target->name : "standard output",
				strerror(errno));
			return false;
		}
		bytes += n;
		len -= (size_t)n;
		target->bytes += (uint64_t)n;
	}
	return true;
}

static void close_target(const struct target *target, bool complete)
{
	if (!target->name || target->fd < 0)
		return;
	if (close(target->fd) < 0 && complete)
		vbd_ctl_fail("%s: %s", target->name, strerror(errno));
	if (!complete)
		vbd_ctl_note("%s has only the first %llu bytes", target->name,
			(unsigned long long)target->bytes);
}

static void fetch_bytes(void *arg)
{
	struct target *target = arg;
	struct vbd_ctl *ctl = target->ctl;
	const struct vbd_ctl_request request = {.method = "GET",
		.path = range_path(ctl, "/data"),
		.sink = write_bytes,
		.sink_arg = target,
		.progress = vbd_ctl_format("get %s", ctl->args.operands[0])};

	(void)vbd_ctl_http_call(&ctl->http, &request);
}

void vbd_ctl_buffer_get(struct vbd_ctl *ctl)
{
	const char *output = ctl->args.text[VBD_CTL_OPT_OUTPUT];
	struct target target = {.ctl = ctl, .name = output, .fd = -1};
	enum vbd_ctl_exit exit_status;

	if (!output && isatty(STDOUT_FILENO))
		vbd_ctl_refuse(&ctl->args, "raw bytes may upset the terminal; use -o FILE, or -o - "
					   "if you mean it");
	if (!output || strcmp(output, "-") == 0)
		target = (struct target){.ctl = ctl, .fd = STDOUT_FILENO};
	exit_status = vbd_ctl_try(fetch_bytes, &target);
	close_target(&target, exit_status == VBD_CTL_OK);
	vbd_ctl_end(exit_status);
}

/* Replaces verbsctl by the command, so that its exit status, signals and terminal are its own. */
void vbd_ctl_buffer_map(struct vbd_ctl *ctl)
{
	bool reads = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_READ_ONLY);
	char *const *command = ctl->args.operands + 1;
	int fd = get_descriptor(
		&ctl->http, vbd_ctl_object_path(ctl, reads ? "/fd?access=read" : "/fd"));

	if (fcntl(fd, F_SETFD, 0) == 0 &&
		setenv("VERBSD_BUFFER_FD", vbd_ctl_format("%d", fd), 1) == 0)
		(void)execvp(command[0], command);
	vbd_ctl_fail("%s: %s", command[0], strerror(errno));
}

/* In the format of sha256sum(1), so that two checksums can be compared by eye or with `cut`. */
static void put_sum(struct vbd_ctl *ctl, json_t *sum)
{
	printf("%s  %s\n", vbd_ctl_cell_text(vbd_ctl_json_at(sum, "checksum")),
		vbd_ctl_text_safe(ctl->args.operands[0]));
}

void vbd_ctl_buffer_sum(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_request request = {
		.method = "GET", .path = range_path(ctl, "/checksum"), .wait_s = SUM_WITHIN_S};

	vbd_ctl_answer_put(ctl, vbd_ctl_http_call(&ctl->http, &request), put_sum);
}
