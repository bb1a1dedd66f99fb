/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes over what can still be read of a damaged database.
 *
 * The store's thread only; the function may block on the disk.
 */
#ifndef VBD_DAEMON_STORE_SALVAGE_H
#define VBD_DAEMON_STORE_SALVAGE_H

#include "base/attr.h"
#include "base/error.h"

/**
 * vbd_salvage - write the rows of a damaged database that are whole into a new one
 * @from:     the damaged file, of which nothing is changed
 * @to:       an empty file; a database in one file afterwards
 * @ret_kept: the number of kept objects that @to has
 *
 * A row whose sum does not fit, or of another schema, is left out. Fails only if @to can't be
 * written.
 */
enum vbd_status vbd_salvage(
	const char *from, const char *to, uint64_t *ret_kept, struct vbd_error *err) VBD_MUST_CHECK;

#endif
