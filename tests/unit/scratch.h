/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for the files of one test. */
#ifndef VBD_TESTS_UNIT_SCRATCH_H
#define VBD_TESTS_UNIT_SCRATCH_H

#define SCRATCH_PATH_BYTES 256

/** scratch_make - a new empty folder; must not fail */
void scratch_make(char path[SCRATCH_PATH_BYTES]);

/** scratch_remove - remove the folder and all that is in it */
void scratch_remove(const char *path);

/** scratch_copy - copy each file of the folder @from into the new folder @to */
void scratch_copy(const char *from, const char *to);

#endif
