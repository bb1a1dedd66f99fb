/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes of files that fail: those of SQLite, by a VFS around the default one, and those
 * of the mark, whose calls the linker redirects: see vbd_io_faults() in CMakeLists.txt.
 *
 * Any thread.
 */
#ifndef VBD_TESTS_UNIT_IO_FAULTS_H
#define VBD_TESTS_UNIT_IO_FAULTS_H

enum io_fault {
	IO_NO_FAULT,
	IO_EIO,	       /* a read, a write, a flush or a cut fails */
	IO_SHORT_READ, /* a read gives the first half, as at the end of a file */
	IO_ENOSPC,     /* a write finds no room */
	IO_FULL,       /* likewise, but for the mark, which has its room */
	IO_NO_FLUSH,   /* a flush fails */
};

/** io_faults_install - SQLite uses the VFS from now on; once in a process */
void io_faults_install(void);

/** io_let_fail - the @nth call that @fault can meet (1 is the next), and @more behind it, fail; the
 * calls are counted from now on */
void io_let_fail(enum io_fault fault, int nth, int more);

/** io_calls - the number of calls since then that the fault can meet */
int io_calls(void);

#endif
