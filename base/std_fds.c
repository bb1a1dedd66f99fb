/* SPDX-License-Identifier: Apache-2.0 */
#include "base/std_fds.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void vbd_std_fds_open(void)
{
	static const int modes[] = {
		[STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_WRONLY};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* open(2) takes the lowest number that is free. */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			_exit(EXIT_FAILURE);
	}
}
