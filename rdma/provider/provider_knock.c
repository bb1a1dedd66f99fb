/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/provider/knock.h"

#include "base/clock.h"
#include "rdma/provider/ask.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 1000

/* PORT_ROCE is that of RoCE v2; traceroute(8) begins with PORT_CLOSED, and relies on it being
 * closed. */
enum { PORT_ROCE = 4791, PORT_CLOSED = 33434 };

enum { ROCE, CLOSED, DOORS };

static void set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

/* Without IP_RECVERR a socket is not told of a packet that a queueing discipline dropped. */
static int send_to(const struct sockaddr_storage *src, const struct sockaddr_storage *dst,
	uint16_t port, int *ret_errnum)
{
	int fd = socket(dst->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage from = *src;
	struct sockaddr_storage to = *dst;
	bool six = dst->ss_family == AF_INET6;
	int on = 1;

	*ret_errnum = 0;
	if (fd < 0)
		return fd;
	set_port(&from, 0);
	set_port(&to, port);
	(void)setsockopt(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_RECVERR : IP_RECVERR, &on,
		sizeof(on));
	if (src->ss_family == dst->ss_family)
		(void)bind(fd, (struct sockaddr *)&from, sizeof(from));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 || send(fd, NULL, 0, 0) < 0)
		*ret_errnum = errno;
	return fd;
}

static bool is_refused(int fd)
{
	int errnum = 0;
	socklen_t len = sizeof(errnum);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) == 0 && errnum == ECONNREFUSED;
}

/* An answer about one port says nothing yet about the other one. */
static void await(struct pollfd doors[DOORS], uint64_t refused_ns[DOORS])
{
	uint64_t end_ns = vbd_clock_mono_ns() + (uint64_t)WAIT_MS * VBD_NS_PER_MS;

	while (doors[ROCE].fd >= 0 || doors[CLOSED].fd >= 0) {
		uint64_t now_ns = vbd_clock_mono_ns();
		int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / VBD_NS_PER_MS) + 1 : 0;

		if (poll(doors, DOORS, left_ms) <= 0)
			return;
		for (unsigned int i = 0; i < DOORS; i++) {
			if (doors[i].fd < 0 || !doors[i].revents)
				continue;
			refused_ns[i] = is_refused(doors[i].fd) ? vbd_clock_mono_ns() : 0;
			doors[i].fd = -1;
		}
	}
}

static void take_answers(
	uint64_t began_ns, const uint64_t refused_ns[DOORS], struct vbd_pv_knock *knock)
{
	uint64_t first_ns = UINT64_MAX;

	for (unsigned int i = 0; i < DOORS; i++) {
		if (refused_ns[i] && refused_ns[i] < first_ns)
			first_ns = refused_ns[i];
	}
	knock->refused = refused_ns[ROCE];
	knock->answered = first_ns != UINT64_MAX;
	knock->rtt_ns = knock->answered ? first_ns - began_ns : 0;
}

void vbd_pv_knock(const struct sockaddr_storage *src, const struct sockaddr_storage *dst, bool own,
	struct vbd_pv_knock *ret_knock)
{
	uint64_t began_ns = vbd_clock_mono_ns();
	int errnums[DOORS] = {0};
	int fds[DOORS] = {-1, -1};
	uint64_t refused_ns[DOORS] = {0};
	struct pollfd doors[DOORS];
	struct vbd_pv_ask *ask = NULL;

	if (!own) {
		fds[ROCE] = send_to(src, dst, PORT_ROCE, &errnums[ROCE]);
		fds[CLOSED] = send_to(src, dst, PORT_CLOSED, &errnums[CLOSED]);
	}
	*ret_knock = (struct vbd_pv_knock){
		.done = fds[ROCE] >= 0 && fds[CLOSED] >= 0,
		.forbidden = errnums[ROCE] == EPERM || errnums[ROCE] == ENOBUFS,
	};
	/* A message of the connection manager that can't leave does harm: see
	 * rdma/device/cm_silence.h. */
	if (!ret_knock->forbidden)
		ask = vbd_pv_ask_begin(src, dst);
	for (unsigned int i = 0; i < DOORS; i++)
		doors[i] = (struct pollfd){.fd = errnums[i] ? -1 : fds[i], .events = POLLERR};
	await(doors, refused_ns);
	for (unsigned int i = 0; i < DOORS; i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
	take_answers(began_ns, refused_ns, ret_knock);
	vbd_pv_ask_end(ask, &ret_knock->asked, &ret_knock->cm_answered);
}
