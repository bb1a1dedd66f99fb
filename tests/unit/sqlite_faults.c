/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sqlite_faults.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_int fail_at;   /* the number of the call that fails; 0: none */
static atomic_int fail_more; /* the calls behind it that fail too */
static atomic_int fail_with; /* result of the calls that fail */
static atomic_int calls;

static bool fails(void)
{
	int call = atomic_fetch_add(&calls, 1) + 1;
	int first = atomic_load(&fail_at);

	return first && call >= first && call <= first + atomic_load(&fail_more);
}

void sqlite_let_fail(int call, int more, int result)
{
	atomic_store(&calls, 0);
	atomic_store(&fail_with, result);
	atomic_store(&fail_more, more);
	atomic_store(&fail_at, call);
}

int __real_sqlite3_open_v2(const char *path, sqlite3 **handle, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **handle, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **handle, int flags, const char *vfs)
{
	*handle = NULL;
	return fails() ? fail_with : __real_sqlite3_open_v2(path, handle, flags, vfs);
}

int __real_sqlite3_prepare_v3(sqlite3 *handle, const char *sql, int len, unsigned int flags,
	sqlite3_stmt **stmt, const char **tail);
int __wrap_sqlite3_prepare_v3(sqlite3 *handle, const char *sql, int len, unsigned int flags,
	sqlite3_stmt **stmt, const char **tail);
int __wrap_sqlite3_prepare_v3(sqlite3 *handle, const char *sql, int len, unsigned int flags,
	sqlite3_stmt **stmt, const char **tail)
{
	if (fails())
		return fail_with;
	return __real_sqlite3_prepare_v3(handle, sql, len, flags, stmt, tail);
}

int __wrap_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_step(sqlite3_stmt *stmt)
{
	return fails() ? fail_with : __real_sqlite3_step(stmt);
}

int __wrap_sqlite3_exec(sqlite3 *handle, const char *sql, sqlite_row_cb cb, void *arg, char **text);
int __wrap_sqlite3_exec(sqlite3 *handle, const char *sql, sqlite_row_cb cb, void *arg, char **text)
{
	return fails() ? fail_with : __real_sqlite3_exec(handle, sql, cb, arg, text);
}

int __real_sqlite3_bind_int64(sqlite3_stmt *stmt, int param, sqlite3_int64 value);
int __wrap_sqlite3_bind_int64(sqlite3_stmt *stmt, int param, sqlite3_int64 value);
int __wrap_sqlite3_bind_int64(sqlite3_stmt *stmt, int param, sqlite3_int64 value)
{
	return fails() ? fail_with : __real_sqlite3_bind_int64(stmt, param, value);
}

int __real_sqlite3_bind_text(
	sqlite3_stmt *stmt, int param, const char *text, int len, void (*release)(void *));
int __wrap_sqlite3_bind_text(
	sqlite3_stmt *stmt, int param, const char *text, int len, void (*release)(void *));
int __wrap_sqlite3_bind_text(
	sqlite3_stmt *stmt, int param, const char *text, int len, void (*release)(void *))
{
	return fails() ? fail_with : __real_sqlite3_bind_text(stmt, param, text, len, release);
}

int sqlite_calls(void)
{
	return atomic_load(&calls);
}
