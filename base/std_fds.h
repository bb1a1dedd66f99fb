/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input, output and error: the descriptors 0 to 2. */
#ifndef VBD_BASE_STD_FDS_H
#define VBD_BASE_STD_FDS_H

/**
 * vbd_std_fds_open - put /dev/null in the place of each one that is closed
 *
 * Else the next opened file gets its number: libuv aborts when it closes that, and the log goes
 * into the file. Reads of standard input and writes to standard output fail as before (EBADF). Ends
 * the process if there is no /dev/null. Main thread, first in main(). Does not block.
 */
void vbd_std_fds_open(void);

#endif
