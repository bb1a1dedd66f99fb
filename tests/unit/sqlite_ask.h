/* SPDX-License-Identifier: Apache-2.0 */
/* A look into a database beside the code under test. */
#ifndef VBD_TESTS_UNIT_SQLITE_ASK_H
#define VBD_TESTS_UNIT_SQLITE_ASK_H

#include "tests/unit/unit.h"

#include <sqlite3.h>

/** sqlite_ask - the first number that the query gives */
static inline int64_t sqlite_ask(const char *path, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *handle = NULL;
	int64_t number;

	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	number = sqlite3_column_int64(stmt, 0);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(handle);
	return number;
}

#endif
