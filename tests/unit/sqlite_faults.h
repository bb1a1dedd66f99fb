/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of SQLite that fail. The linker redirects the calls of the test program: see
 * vbd_sqlite_faults() in CMakeLists.txt.
 *
 * Any thread.
 */
#ifndef VBD_TESTS_UNIT_SQLITE_FAULTS_H
#define VBD_TESTS_UNIT_SQLITE_FAULTS_H

#include <sqlite3.h>

/* The functions of the library. */
typedef int (*sqlite_row_cb)(void *arg, int columns, char **values, char **names);
int __real_sqlite3_exec(sqlite3 *handle, const char *sql, sqlite_row_cb cb, void *arg, char **text);
int __real_sqlite3_step(sqlite3_stmt *stmt);

/** sqlite_let_fail - the @call th call from now (1 is the next), and @more behind it, return
 * @result and are not made; 0: none */
void sqlite_let_fail(int call, int more, int result);

/** sqlite_calls - the number of calls since then */
int sqlite_calls(void);

#endif
