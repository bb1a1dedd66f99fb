/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that other programs map through a descriptor: a sealed memfd. Its size can't change, so no
 * access to a mapping of it fails, whoever has the descriptor. It has no name in any file system
 * and is gone with the last descriptor and mapping, also when the daemon is killed.
 *
 * The seals are SHRINK, GROW and SEAL. WRITE and FUTURE_WRITE are not among them, since this
 * process writes; a program that must not write gets a read-only descriptor instead.
 *
 * Any thread.
 */
#ifndef VBD_BASE_MEMFD_H
#define VBD_BASE_MEMFD_H

#include "base/error.h"

/**
 * vbd_memfd_create - allocate zeroed memory behind a descriptor
 * @size_bytes: for huge pages a multiple of @huge_page_bytes
 * @huge_page_bytes: a result of vbd_hugepage_choose(), or 0 for normal pages
 * @ret_fd: close-on-exec, owned by the caller; set on success
 *
 * Only the daemon's user can open it for writing through /proc; whoever has a descriptor can open
 * it for reading.
 *
 * Returns VBD_OK; VBD_E_NO_MEMORY, with the text of vbd_hugepage_shortage() for huge pages, and for
 * normal ones before they take the last available memory; VBD_E_FD_LIMIT. Blocks in proportion to
 * the size.
 */
enum vbd_status vbd_memfd_create(size_t size_bytes, size_t huge_page_bytes, int *ret_fd,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_memfd_check - can a descriptor from elsewhere stand for one of vbd_memfd_create()?
 * @size_bytes, @huge_page_bytes: as for that function
 *
 * Returns VBD_OK if it is a memfd of this size and these pages, has the seals, is writable, and
 * belongs to the daemon's user; VBD_E_BAD_VALUE, with a text that says what does not fit. Does not
 * block.
 */
enum vbd_status vbd_memfd_check(
	int fd, size_t size_bytes, size_t huge_page_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_memfd_reopen - make another descriptor of the memory, which does not share its offset
 * @writable: false: neither the descriptor nor a shared mapping of it can write, and a program of
 *            another user can't get a writable one from it
 * @ret_fd: close-on-exec, owned by the caller; set on success
 *
 * Does not block.
 */
enum vbd_status vbd_memfd_reopen(
	int fd, bool writable, int *ret_fd, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_memfd_empty - give the memory back to the kernel, whoever still maps it
 * @fd: writable
 *
 * All mappings read zeros afterwards. Without this a program that keeps its mapping would keep
 * memory that is accounted to the daemon. Blocks in proportion to the size.
 */
void vbd_memfd_empty(int fd, size_t size_bytes);

#endif
