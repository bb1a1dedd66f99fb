/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that all connections share: the event channel of rdma_cm, the devices, the CQs and
 * the workers, and the dispatch of their events.
 *
 * Control thread. The caller watches the descriptors and calls the matching dispatch function.
 */
#ifndef VBD_RDMA_FABRIC_FABRIC_H
#define VBD_RDMA_FABRIC_FABRIC_H

#include "base/cpus.h"
#include "rdma/device/calls.h"
#include "rdma/device/device.h"

struct ifaddrs;
struct rdma_event_channel;
struct sockaddr;
struct vbd_cq;
struct vbd_pd;
struct vbd_report;
struct vbd_srq;
struct vbd_worker;

/* One counter for each enum rdma_cm_event_type of librdmacm 44, the last for all other types. */
#define VBD_CM_EVENT_TYPES 17

/* How long the kernel may resolve an address or a route; the caller's own deadline may be shorter.
 */
#define VBD_RESOLVE_TIMEOUT_MS 2000

struct vbd_fabric_ops {
	/* A device is PRESENT: watch its async descriptor; or it is FAILED for a new reason. */
	void (*device_added)(struct vbd_device *device, void *arg);
	/* Devices with a `name_before` have another name now; objects on them have that one. */
	void (*devices_renamed)(void *arg);
	/* The removal begins: stop watching the device's descriptor, free all objects on it. */
	void (*device_removing)(struct vbd_device *device, void *arg);
	/* The device is gone: no object of this process refers to it any more. */
	void (*device_removed)(struct vbd_device *device, void *arg);
	void (*async_event)(struct vbd_device *device, int type, int port_num, void *arg);
	/* The fabric made a default PD, or a CQ for queue pairs that name none: @item. */
	void (*made)(enum vbd_pv_object type, uint64_t id, void *item, void *arg);
	/* A PD, CQ or SRQ goes with its device, or is a spare CQ: no client may find it any more.
	 */
	void (*gone)(enum vbd_pv_object type, uint64_t id, void *arg);
	/* A CM id was destroyed: see vbd_calls_has_ended(). */
	void (*id_ended)(void *arg);
	/* A scan has ended. */
	void (*scanned)(void *arg);
	/* The event channel is open: watch its descriptor. */
	void (*cm_opened)(void *arg);
	/* The verbsd at @peer reports on a connection of @device_name: set @ret_ours to the report
	 * of this side. False to answer nothing. */
	bool (*report)(const struct sockaddr *peer, const char *device_name,
		const struct vbd_report *theirs, struct vbd_report *ret_ours, void *arg);
};

/* The scan of the host's devices, by a call thread. */
struct vbd_scan {
	struct vbd_call call;
	bool under_way, owed; /* the call; another scan, as something has changed since it began */
	bool failed;	      /* the last one */
	bool wants_channel;   /* there is none yet */
	/* The call sets the rest. */
	struct rdma_event_channel *cm_channel;
	struct vbd_pv_device *found; /* NULL if the list could not be read */
	size_t count;
	struct vbd_error cm_channel_error, error;
};

struct vbd_fabric {
	struct rdma_event_channel *cm_channel; /* NULL while the kernel has no rdma_cm */
	struct vbd_error cm_channel_error;     /* why cm_channel is NULL */
	struct vbd_mailbox control;	       /* notifications of workers and call threads */
	struct vbd_calls *calls;	       /* threads for calls that may block */
	struct vbd_worker **workers;
	unsigned int worker_count;
	uint32_t default_cqe;
	uint32_t drain_timeout_ms; /* a QP that flushes for longer is destroyed all the same */
	struct vbd_link devices;   /* of struct vbd_device, also removed ones, oldest first */
	struct vbd_link cqs;	   /* of struct vbd_cq */
	struct vbd_link srqs;	   /* of struct vbd_srq */
	uint64_t srqs_bytes;	   /* memory of the receives of `srqs` */
	bool rescan_owed; /* a device waits until the removed device of the same name is REMOVED */
	uint64_t last_device_id, last_cq_id, last_pd_id, last_srq_id;
	bool exits; /* the process ends soon: the kernel frees what then remains of queue pairs */
	bool left_to_kernel;		   /* nobody destroys some remains of queue pairs */
	unsigned int listeners_everywhere; /* listeners that are bound to every device */
	struct vbd_link goodbyes;	   /* of struct vbd_goodbye */
	unsigned int goodbye_count;
	struct vbd_link report_ports; /* of struct vbd_report_port */
	unsigned int report_port_count;
	struct vbd_counter cm_events[VBD_CM_EVENT_TYPES];
	const struct vbd_fabric_ops *ops;
	void *ops_arg;
	/* As read last; NULL: never. */
	struct ifaddrs *interfaces, *interfaces_read; /* the latter by the call */
	bool interfaces_asked, interfaces_owed; /* the call is under way; is to be made again */
	uint64_t network_at_ns;			/* monotonic: when it was last asked for its age */
	struct vbd_call interfaces_call;
	struct vbd_scan scan;
	bool ending;		  /* vbd_fabric_destroy(): what comes back is closed */
	struct vbd_link channels; /* with a QP; vbd_fabric_check_qps() goes round */
};

/* The most data workers. */
#define VBD_WORKERS_MAX 64

/**
 * vbd_fabric_create - event channel (if the kernel has rdma_cm), workers not running, no devices
 * @worker_count: 1 to VBD_WORKERS_MAX
 * @default_cqe:  completions in each CQ that the fabric makes
 * @drain_timeout_ms: how long a QP may take to flush
 */
enum vbd_status vbd_fabric_create(unsigned int worker_count, uint32_t default_cqe,
	uint32_t drain_timeout_ms, const struct vbd_fabric_ops *ops, void *ops_arg,
	struct vbd_fabric **ret_fabric, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_pin - before the start: each worker runs on one of @cpus only, in turn. An empty list
 * changes nothing. */
void vbd_fabric_pin(struct vbd_fabric *fabric, const struct vbd_cpus *cpus);

/** vbd_fabric_forget_recent - a network interface or an address has changed: what is remembered of
 * GIDs, ports and interfaces is asked for again */
void vbd_fabric_forget_recent(struct vbd_fabric *fabric);

/** vbd_fabric_check_network - call it often: ask all ports and interfaces again every 10 s, and
 * those at once that could not be asked for lack of memory */
void vbd_fabric_check_network(struct vbd_fabric *fabric, uint64_t now_ns);

/** vbd_interfaces_known - fabric->interfaces; NULL if something has changed since they were read */
const struct ifaddrs *vbd_interfaces_known(const struct vbd_fabric *fabric);

/** vbd_fabric_faults_ended - a fault was disarmed: the workers give back what it has withheld */
void vbd_fabric_faults_ended(struct vbd_fabric *fabric);

/** vbd_fabric_start - start the workers' threads (tests run the turns of the workers themselves) */
enum vbd_status vbd_fabric_start(struct vbd_fabric *fabric, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_destroy - after all connections, listeners and buffers are freed. NULL is fine. */
void vbd_fabric_destroy(struct vbd_fabric *fabric);

/** vbd_fabric_rescan - compare with the devices of the host: open new ones and those that could not
 * be opened, begin to remove those that have vanished; open the event channel if there is none.
 * Call threads do what may wait, and `scanned` tells when the comparison is made. */
void vbd_fabric_rescan(struct vbd_fabric *fabric);

/** vbd_fabric_is_scanning - is a scan or an open under way? */
bool vbd_fabric_is_scanning(const struct vbd_fabric *fabric);

/** vbd_fabric_lacks - is there no event channel, or a device that is not open? Another scan may
 * find it. */
bool vbd_fabric_lacks(const struct vbd_fabric *fabric);

/** vbd_fabric_await_scan - before anything else is under way: dispatch what comes back until no
 * scan and no open is under way. Blocks, @timeout_ms at most. */
void vbd_fabric_await_scan(struct vbd_fabric *fabric, unsigned int timeout_ms);

/** vbd_fabric_remove_uverbs - a uevent of the kernel announced the removal of "uverbs0" */
void vbd_fabric_remove_uverbs(struct vbd_fabric *fabric, const char *uverbs_name);

/** vbd_fabric_remove_device - begin the removal of the device; idempotent */
void vbd_fabric_remove_device(struct vbd_fabric *fabric, struct vbd_device *device);

/** vbd_fabric_release_device - after an object of @device is freed: free the CQs without users, all
 * of them when it is REMOVING, else all but one per worker of the CQs that the fabric made */
void vbd_fabric_release_device(struct vbd_fabric *fabric, struct vbd_device *device);

/**
 * vbd_fabric_check_qps - look whether the device has moved QPs to ERR
 * @count: at most so many, those that were not looked at for the longest time
 */
void vbd_fabric_check_qps(struct vbd_fabric *fabric, unsigned int count);

/** vbd_fabric_device - a PRESENT or REMOVING device by name; NULL if there is none */
struct vbd_device *vbd_fabric_device(const struct vbd_fabric *fabric, const char *name);

/** vbd_fabric_unopened_device - the FAILED or OPENING device of this name (NULL: the first one),
 * with the reason in `error`; NULL if there is none */
const struct vbd_device *vbd_fabric_unopened_device(
	const struct vbd_fabric *fabric, const char *name);

/** vbd_fabric_default_device - the first PRESENT device with an active port, else the first PRESENT
 * device; NULL if none */
struct vbd_device *vbd_fabric_default_device(const struct vbd_fabric *fabric);

/** vbd_fabric_choose - the device @name, or the default device for ""; no_device if there is none,
 * other errors as of vbd_device_usable() */
enum vbd_status vbd_fabric_choose(const struct vbd_fabric *fabric, const char *name,
	struct vbd_device **ret_device, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_cm_fd - the descriptor of the event channel; -1 while there is none */
int vbd_fabric_cm_fd(const struct vbd_fabric *fabric);

/** vbd_fabric_check_cm - no_device, with the error of the open, while there is no event channel */
enum vbd_status vbd_fabric_check_cm(
	const struct vbd_fabric *fabric, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_dispatch_cm - handle the pending CM events, a bounded number at a time */
void vbd_fabric_dispatch_cm(struct vbd_fabric *fabric);

/** vbd_fabric_control_fd - readable when notifications of workers are pending */
int vbd_fabric_control_fd(const struct vbd_fabric *fabric);

/** vbd_fabric_dispatch_control - handle the notifications of the workers */
void vbd_fabric_dispatch_control(struct vbd_fabric *fabric);

/* The use of several CQs. */
struct vbd_cq_totals {
	uint64_t outstanding_cqe, reserved_cqe, capacity_cqe;
	uint64_t high_water_cqe;		 /* the highest of one CQ */
	uint64_t completions, error_completions; /* with those of destroyed CQs */
};

/** vbd_fabric_cq_totals - add up the CQs of @device, or all if it is NULL */
void vbd_fabric_cq_totals(const struct vbd_fabric *fabric, const struct vbd_device *device,
	struct vbd_cq_totals *ret_totals);

/** vbd_fabric_admit - reserve room for @cqe completions in a CQ of @device, made if needed */
enum vbd_status vbd_fabric_admit(struct vbd_fabric *fabric, struct vbd_device *device, uint32_t cqe,
	struct vbd_cq **ret_cq, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_admit_in - reserve room in @cq; limit_reached if there is none, wrong_state if the
 * device has given the CQ up */
enum vbd_status vbd_fabric_admit_in(
	struct vbd_cq *cq, uint32_t cqe, struct vbd_error *err) VBD_MUST_CHECK;

/* Addresses of this host that no RDMA device serves, told before the CM is asked. */

/**
 * vbd_reach_check_own - can RDMA leave from @addr, which should be an address of this host?
 * @param: name of the parameter that @addr comes from, a static string
 *
 * Returns address_not_available, with the addresses that can be used, if no interface has @addr, or
 * if no device serves that interface. An address about which the kernel does not say enough passes.
 */
enum vbd_status vbd_reach_check_own(const struct vbd_fabric *fabric, const struct sockaddr *addr,
	const char *param, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_reach_check_dst - as vbd_reach_check_own() for a destination: a loopback address is this
 * host's, and any other one passes */
enum vbd_status vbd_reach_check_dst(const struct vbd_fabric *fabric, const struct sockaddr *dst,
	const char *param, struct vbd_error *err) VBD_MUST_CHECK;

#endif
