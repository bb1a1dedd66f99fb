/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANTED_H
#define PLANTED_H

/* Returns -1, 0 or 1: the sign of a value. planted_test.c has every case. */
int planted_sign(int value);

/* Returns three more than a value of at most 100. No test calls it. */
int planted_more(int value);

#endif
