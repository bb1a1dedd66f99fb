/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of the libraries, and reads of files, that may wait in the kernel for another host, for
 * a driver or for large memory, whatever the state of their object. None is made on the control
 * thread: the provider of the tests refuses that, and docs/internals/blocking.md says why each
 * waits, and the exceptions.
 */
#ifndef VBD_TESTS_FAKE_WAITS_H
#define VBD_TESTS_FAKE_WAITS_H

/* X(SYMBOL, call) */
#define VBD_WAIT_MAP(X)                                               \
	X(VBD_WAIT_GET_DEVICE_LIST, "ibv_get_device_list")            \
	X(VBD_WAIT_OPEN_DEVICE, "ibv_open_device")                    \
	X(VBD_WAIT_CREATE_EVENT_CHANNEL, "rdma_create_event_channel") \
	X(VBD_WAIT_CONNECT, "rdma_connect")                           \
	X(VBD_WAIT_DISCONNECT, "rdma_disconnect")                     \
	X(VBD_WAIT_DESTROY_ID, "rdma_destroy_id")                     \
	X(VBD_WAIT_DESTROY_QP, "ibv_destroy_qp")                      \
	X(VBD_WAIT_QUERY_PORT, "ibv_query_port")                      \
	X(VBD_WAIT_MODIFY_QP, "ibv_modify_qp")                        \
	X(VBD_WAIT_JOIN_MULTICAST, "rdma_join_multicast")             \
	X(VBD_WAIT_CREATE_AH, "ibv_create_ah")                        \
	X(VBD_WAIT_DESTROY_AH, "ibv_destroy_ah")                      \
	X(VBD_WAIT_REG_MR, "ibv_reg_mr")                              \
	X(VBD_WAIT_DEREG_MR, "ibv_dereg_mr")                          \
	X(VBD_WAIT_CLOSE_DEVICE, "ibv_close_device")                  \
	X(VBD_WAIT_COUNT_OBJECTS, "rdma netlink")                     \
	X(VBD_WAIT_READ_COUNTERS, "counters of a port")

#endif
