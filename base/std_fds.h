/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input, output and error: the descriptors 0 to 2. */
#ifndef VBD_BASE_STD_FDS_H
#define VBD_BASE_STD_FDS_H

/**
 * vbd_std_fds_open - put /dev/null in the place of each one that is closed
 *
 * Else the next file would take its number: libuv aborts when it closes such a one, and the log is
 * written into it. Reads of standard input and writes to standard output fail as before (EBADF).
 * Ends the process if there is no /dev/null. Main thread, first in main(). Does not block.
 */
void vbd_std_fds_open(void);

#endif
