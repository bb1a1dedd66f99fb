/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A completion queue with its completion channel and its usage. A QP is admitted with the sum of
 * its queue depths; the sum over all admitted QPs never exceeds the capacity, so the queue can't
 * overrun. If a device gives it up all the same, its QPs end and others get another CQ.
 *
 * The control thread creates, admits and destroys; the worker polls and writes the counters.
 */
#ifndef VBD_RDMA_DEVICE_CQ_H
#define VBD_RDMA_DEVICE_CQ_H

#include "base/counter.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "rdma/provider/account.h"

struct ibv_comp_channel;
struct ibv_cq;
struct vbd_device;
struct vbd_worker;

struct vbd_cq {
	/* control */
	struct vbd_link link; /* the fabric's list */
	uint64_t id;
	struct vbd_device *device; /* with a reference */
	struct vbd_worker *worker;
	struct vbd_account account;
	struct ibv_cq *cq;
	struct ibv_comp_channel *comp_channel;
	uint32_t capacity_cqe;
	uint32_t reserved_cqe;
	uint32_t connections;
	/* mailbox items, each with the worker or on the way back */
	struct vbd_mailbox_item add_command;
	struct vbd_mailbox_item remove_command;
	bool removing;
	bool asked_for; /* a client created it: only QPs that name it are admitted */
	bool deleted;	/* no lookup finds it any more; freed with its last user */
	bool failed;	/* the device has given it up: no QP is admitted any more */
	uint16_t moderation_count, moderation_period_us; /* 0: an event for each completion */
	/* worker */
	struct vbd_link active_link; /* on the worker's list while it is polled; else it is armed */
	struct vbd_link purges;	     /* of struct vbd_channel: QPs that are destroyed */
	uint32_t busy_channels;	     /* attached channels for which it is polled without a pause */
	uint64_t spin_until_ns;	     /* polled without a pause until then; 0: not */
	bool armed;		     /* the next completion raises an event */
	bool event_due;		     /* an event has woken the worker and is not taken yet */
	/* the worker writes, any thread reads */
	struct vbd_counter outstanding;
	struct vbd_counter high_water;
	struct vbd_counter completions;
	struct vbd_counter error_completions;
	struct vbd_counter polls;
	struct vbd_counter empty_polls;
	struct vbd_counter events_armed;
	struct vbd_counter events_taken;
};

/**
 * vbd_cq_create - control; the CQ is not added to the worker yet
 * @depth_cqe:   lowered to the device's limit
 * @comp_vector: its interrupts come by this completion vector of the device, modulo their number
 */
enum vbd_status vbd_cq_create(uint64_t id, struct vbd_device *device, struct vbd_worker *worker,
	uint32_t depth_cqe, unsigned int comp_vector, struct vbd_cq **ret_cq,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_cq_destroy - control; the worker has released it and no QP uses it */
void vbd_cq_destroy(struct vbd_cq *cq);

/** vbd_cq_admit - control; reserve room for @cqe completions; false if there is none */
bool vbd_cq_admit(struct vbd_cq *cq, uint32_t cqe);

/** vbd_cq_release - control; release room that was admitted */
void vbd_cq_release(struct vbd_cq *cq, uint32_t cqe);

/** vbd_cq_count_outstanding - worker; @n more work requests are posted on it */
void vbd_cq_count_outstanding(struct vbd_cq *cq, uint64_t n);

/** vbd_cq_uncount_outstanding - worker; @n of them have ended */
void vbd_cq_uncount_outstanding(struct vbd_cq *cq, uint64_t n);

#endif
