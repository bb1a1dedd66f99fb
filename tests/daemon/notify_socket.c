/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays systemd's notification socket (sd_notify(3)): prints each datagram as a line, with spaces
 * in place of its ends of lines. Prints "listening" first.
 *
 * Usage: notify_socket PATH
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int listen_at(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(addr.sun_path))
		return -1;
	memcpy(addr.sun_path, path, strlen(path));
	return bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ? -1 : fd;
}

int main(int argc, char **argv)
{
	char text[1024];
	ssize_t len_bytes;
	int fd = argc == 2 ? listen_at(argv[1]) : -1;

	if (fd < 0) {
		perror("notify_socket");
		return 1;
	}
	(void)puts("listening");
	(void)fflush(stdout);
	while ((len_bytes = recv(fd, text, sizeof(text), 0)) > 0) {
		for (ssize_t i = 0; i < len_bytes; i++)
			(void)putchar(text[i] == '\n' ? ' ' : text[i]);
		(void)putchar('\n');
		(void)fflush(stdout);
	}
	return 0;
}
