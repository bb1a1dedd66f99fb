/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An RDMA device: our own context on it, protection domains, its attributes, its async events.
 *
 * The context is not librdmacm's, since librdmacm closes its own with the last id on the device.
 * The kernel blocks the removal of a device until every context of it is closed; therefore each
 * object on the context has a reference to the device, and the release of the last reference closes
 * the context.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_DEVICE_DEVICE_H
#define VBD_RDMA_DEVICE_DEVICE_H

#include "base/counter.h"
#include "base/list.h"
#include "rdma/device/calls.h"
#include "rdma/names/names.h"
#include "rdma/provider/account.h"

#include <sys/socket.h>

struct ibv_ah_attr;
struct ibv_context;
struct ibv_cq;
struct ibv_srq;
struct rdma_cm_id;
struct vbd_device;
struct vbd_fd_watch;
struct vbd_pd;
struct vbd_pv_device;

/*
 * Which peers does the kernel know the hardware address of?
 *
 * To move a queue pair of RoCE to RTR the kernel looks the peer's hardware address up in its table
 * of neighbours, and asks the network, for up to a second, only if the entry is missing or not
 * valid (dst_fetch_ha() in core/addr.c, 6.1). An entry that answered a moment ago is valid.
 *
 * Control thread. Nothing blocks.
 */

/* Neighbours that are kept; a later one may overwrite an earlier one. */
#define VBD_NEIGHBOURS 64

struct vbd_neighbour {
	uint8_t gid[16];
	uint8_t port_num;
	uint8_t sgid_index;
	uint64_t at_ns; /* when its address was last found; 0: an empty place */
};

/**
 * vbd_neighbour_is_known - did a queue pair move to RTR with this path within the last second, and
 * has the kernel lost no neighbour since, nor has an event about a port come? False if the path has
 * no GID.
 */
bool vbd_neighbour_is_known(struct vbd_device *device, const struct ibv_ah_attr *path);

/** vbd_neighbour_learn - a queue pair has moved to RTR with @path */
void vbd_neighbour_learn(struct vbd_device *device, const struct ibv_ah_attr *path);

/* X(SYMBOL, json name, ended) */
#define VBD_DEVICE_STATE_MAP(X)                                                               \
	/* Its first open is under way, which may wait in the kernel. */                      \
	X(VBD_DEVICE_OPENING, "opening", false)                                               \
	X(VBD_DEVICE_PRESENT, "present", false)                                               \
	X(VBD_DEVICE_REMOVING, "removing", false) /* the objects on it are being freed */     \
	X(VBD_DEVICE_REMOVED, "removed", true)                                                \
	/* The device exists and can't be opened; `error` has the reason, and each scan tries \
	 * again. */                                                                          \
	X(VBD_DEVICE_FAILED, "failed", false)

enum vbd_device_state { VBD_DEVICE_STATE_MAP(VBD_ENUM_ROW) VBD_DEVICE_STATE_COUNT };

/** vbd_device_state_name - "present" */
const char *vbd_device_state_name(enum vbd_device_state state);

struct vbd_gid {
	uint32_t gid_index;
	uint8_t port_num;
	uint8_t raw[16];
	const char *type;  /* "ib", "roce_v1", "roce_v2", "unknown" */
	const char *scope; /* "link_local", "global", "ipv4_mapped" */
	char netdev[16];   /* "" if none */
	int vlan_id;	   /* of netdev; -1 if it is no VLAN */
};

struct vbd_port {
	uint8_t port_num;
	int state;		/* enum ibv_port_state */
	int phys_state;		/* IBTA 14.2.5.6 */
	const char *link_layer; /* "infiniband", "ethernet", "unspecified" */
	uint16_t lid;
	uint16_t sm_lid;
	uint16_t pkeys; /* entries of the partition key table */
	uint32_t gids;	/* entries of the GID table, filled or not */
	uint32_t max_mtu_bytes;
	uint32_t active_mtu_bytes;
	uint32_t max_msg_bytes; /* longest message that a QP of the port may carry */
};

/* The attributes of ibv_query_device_ex(3) that are used. */
struct vbd_device_attr {
	char fw_ver[64];
	uint64_t node_guid;	 /* host order */
	uint64_t sys_image_guid; /* host order */
	uint32_t vendor_id;
	uint32_t vendor_part_id;
	uint64_t max_mr_size_bytes;
	uint32_t max_sge_rd; /* ranges that a read scatters to; 0: unknown */
	uint32_t max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_pd;
	uint32_t max_qp_rd_atom, max_qp_init_rd_atom;
	uint32_t max_srq, max_srq_wr, max_mw, max_ah, max_mcast_grp;
	uint8_t phys_port_cnt;
	uint32_t max_msg_bytes;			 /* of port 1 */
	uint16_t max_cq_count, max_cq_period_us; /* limits of CQ moderation; 0: not supported */
};

/* Upward calls, all on the control thread. */
struct vbd_device_ops {
	/* An async event of the device or a port. */
	void (*async_event)(struct vbd_device *device, int type, int port_num, void *arg);
	/* An async event of a QP, with its number. */
	void (*qp_event)(struct vbd_device *device, int type, uint32_t qp_num, void *arg);
	/* Few receives of an SRQ are left; compare the pointer only, the SRQ may be gone. */
	void (*srq_runs_low)(struct vbd_device *device, const struct ibv_srq *srq, void *arg);
	/* The device has given up a CQ (IBV_EVENT_CQ_ERR), and may say so again and again; compare
	 * the pointer only, the CQ may be gone. */
	void (*cq_failed)(struct vbd_device *device, const struct ibv_cq *cq, void *arg);
	/* A protection domain is deallocated. */
	void (*pd_gone)(const struct vbd_pd *pd, void *arg);
	/* An open is back: vbd_device_opened() or vbd_device_give_up() follows. */
	void (*open_done)(struct vbd_device *device, void *arg);
	/* The last reference is gone, the context is closed, the state is REMOVED. */
	void (*closed)(struct vbd_device *device, void *arg);
};

/* How long a GID that was read serves those who need no newer one. Events about a port end it
 * sooner, and so do changes of network interfaces and addresses (daemon/uevent.h). */
#define VBD_DEVICE_RECENT_NS (100 * VBD_NS_PER_MS)

struct vbd_device_recent {
	struct vbd_gid gid;
	uint64_t gid_at_ns; /* 0: gid is not known */
	struct vbd_neighbour neighbours[VBD_NEIGHBOURS];
};

/* The result of an open, which a call thread makes. */
struct vbd_opened {
	struct vbd_account account;
	struct ibv_context *context; /* NULL: `error` says why */
	const char *transport;
	struct vbd_device_attr attr;
	uint64_t caps;
	struct vbd_pd *pd;
	struct ibv_cq *siw_guard;
	struct vbd_port *ports;
	struct vbd_error ports_error, error;
};

/* The answers of the ports, for which a call thread asks. */
struct vbd_ports_answer {
	uint8_t cm_port_num;
	uint64_t cm_messages; /* that came in at this port: see rdma/device/port_counters.h */
	struct vbd_port *ports;
	struct vbd_error error;
};

struct vbd_device {
	struct vbd_link link;	    /* the fabric's list */
	uint64_t id;		    /* never reused; a device that comes back has a new one */
	_Atomic(const char *) name; /* vbd_device_rename(); any thread, while it has the device */
	_Atomic(const char *) ibdev_path;
	struct vbd_device_names *names;
	char name_before[64];  /* while the fabric tells of a new name: the old one; else empty */
	char library_name[64]; /* that libibverbs keeps; with uverbs_name the device's identity */
	char uverbs_name[64];
	int transport_type;    /* enum ibv_transport_type */
	const char *transport; /* "infiniband", "roce", "iwarp", "unknown" */
	enum vbd_device_state state;
	struct vbd_error error; /* why it is not PRESENT yet: OPENING, FAILED */
	struct vbd_calls *calls;
	struct vbd_call call; /* opens it, asks its ports or closes its context */
	struct vbd_opened opened;
	struct vbd_ports_answer ports_answer;
	bool opening; /* an open is under way, OPENING or FAILED */
	bool gone;    /* vanished meanwhile: removed when the open is back */
	struct vbd_device_attr attr;
	struct vbd_account account;
	struct ibv_context *context; /* NULL unless PRESENT or REMOVING */
	struct ibv_cq *siw_guard;    /* siw: a CQ that nobody uses; NULL elsewhere */
	uint64_t caps;		     /* a bit for each enum vbd_cap */
	struct vbd_pd *pd;	     /* the default one */
	struct vbd_link pds;	     /* of struct vbd_pd */
	unsigned int refs; /* connections, buffers and CQs on the context, and the device itself
			      while PRESENT */
	uint64_t added_ns;
	uint64_t removed_ns; /* 0 while it exists */
	struct vbd_counter async_events[VBD_ASYNC_EVENT_TYPES];
	uint64_t ended_cq_completions, ended_cq_error_completions; /* of destroyed CQs */
	struct vbd_device_recent recent;
	struct vbd_port *ports;	      /* the last answer of each; port_num 0: it gave none */
	struct vbd_error ports_error; /* of the last port that gave no answer */
	bool ports_asked, ports_owed; /* a call is under way; it is to be made again */
	int neighbour_watch;	      /* -1: there is none */
	uint64_t port_err_ns;	      /* when one of its ports last went down; 0: never */
	uint8_t cm_port_num;	      /* Soft-RoCE: the port that came up last; 0: none */
	bool cm_counted;	      /* the CM messages were, since that port came up */
	uint64_t cm_messages_before, cm_messages; /* that had come in at the first, last count */
	/* For the layer above. */
	uint64_t traced_ns; /* when its counters were last read for a comparison; 0: never */
	struct vbd_fd_watch *async_watch; /* of its async events */
	const struct vbd_device_ops *ops;
	void *ops_arg;
};

/**
 * vbd_device_create - the record of a device that nobody has opened yet: OPENING
 *
 * Returns NULL only without memory.
 */
struct vbd_device *vbd_device_create(uint64_t id, const struct vbd_pv_device *found,
	struct vbd_calls *calls, const struct vbd_device_ops *ops, void *ops_arg);

/** vbd_device_begin_open - a call thread opens the device and reads its attributes, which blocks
 * for as long as its driver likes, and as others change network interfaces; then `open_done` is
 * called. Does nothing if there is nothing to open, or an open is under way. */
void vbd_device_begin_open(struct vbd_device *device);

/* A device as the objects on it remember it: the id tells it from a later one of its name. */
struct vbd_device_id {
	uint64_t id;   /* 0: none that verbsd lists */
	char name[64]; /* "" for none */
};

/** vbd_device_id_of - id and name of @device */
struct vbd_device_id vbd_device_id_of(const struct vbd_device *device);

/** vbd_device_rename - the kernel has given the device another name; false without memory; control
 * thread, never blocks */
bool vbd_device_rename(struct vbd_device *device, const struct vbd_pv_device *found);

/** vbd_device_id_bound - the device, one of @devices, that a CM id is bound to; without a name
 * while it is bound to none */
struct vbd_device_id vbd_device_id_bound(
	const struct vbd_link *devices, const struct rdma_cm_id *id);

/** vbd_device_of_id - the name of the device, one of @devices, that a CM id is bound to; NULL while
 * it is bound to none */
const char *vbd_device_of_id(const struct vbd_link *devices, const struct rdma_cm_id *id);

/** vbd_device_opened - the open is back: the device is PRESENT, or FAILED with the reason in
 * `error`. Returns false if the device is FAILED as it was before. */
bool vbd_device_opened(struct vbd_device *device);

/** vbd_device_give_up - the open is back, and the device is to be REMOVED at once */
void vbd_device_give_up(struct vbd_device *device);

/** vbd_device_destroy - free the record; the context must be closed, and no open under way */
void vbd_device_destroy(struct vbd_device *device);

/**
 * vbd_device_begin_removal - no new object can be made on the device from now on
 *
 * Idempotent: DEVICE_REMOVAL, DEVICE_FATAL and the kernel's uevent all lead here. Returns true the
 * first time; the caller then frees the objects on it. `closed` is called when the last reference
 * is released, maybe at once.
 */
bool vbd_device_begin_removal(struct vbd_device *device);

void vbd_device_ref(struct vbd_device *device);
void vbd_device_unref(struct vbd_device *device);

/** vbd_device_async_fd - readable when there are async events; -1 without a context */
int vbd_device_async_fd(const struct vbd_device *device);

/** vbd_device_drain_async - read all async events, count them, report each */
void vbd_device_drain_async(struct vbd_device *device);

/** vbd_device_usable - VBD_OK, or why no object can be made on it: device_removed, or its `error`
 */
enum vbd_status vbd_device_usable(
	const struct vbd_device *device, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_device_ask_ports - any thread. Asks @count ports, and blocks for as long as others change
 * network interfaces. For free(3); NULL without memory */
struct vbd_port *vbd_device_ask_ports(
	struct ibv_context *context, unsigned int count, struct vbd_error *err);

/** vbd_device_port - the last answer of a port (rdma/fabric/network.c), or its error */
enum vbd_status vbd_device_port(const struct vbd_device *device, uint8_t port_num,
	struct vbd_port *ret_port, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_device_port_active - is any port of @device active? */
bool vbd_device_port_active(const struct vbd_device *device);

/** vbd_device_ports_down - has each port answered that it is not active? */
bool vbd_device_ports_down(const struct vbd_device *device);

/**
 * vbd_device_query_gids - the filled entries of the GID tables, however many
 * @ret_gids: for free(3)
 */
enum vbd_status vbd_device_query_gids(const struct vbd_device *device, struct vbd_gid **ret_gids,
	size_t *ret_count, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_device_query_gid - one entry of a port's GID table */
enum vbd_status vbd_device_query_gid(const struct vbd_device *device, uint8_t port_num,
	uint32_t gid_index, struct vbd_gid *ret_gid, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_device_recent_gid - vbd_device_query_gid(), or its last answer for the same entry if that is
 * no older than VBD_DEVICE_RECENT_NS. To ask takes five system calls, and thousands of connections
 * have the same GID. */
enum vbd_status vbd_device_recent_gid(struct vbd_device *device, uint8_t port_num,
	uint32_t gid_index, struct vbd_gid *ret_gid) VBD_MUST_CHECK;

/** vbd_gid_is_ipv4 - the GID of an IPv4 address on RoCE */
bool vbd_gid_is_ipv4(const uint8_t raw[16]);

/** vbd_gid_scope - "link_local" (fe80::/10, and 169.254.0.0/16 as in RFC 3927), "global",
 * "ipv4_mapped" */
const char *vbd_gid_scope(const uint8_t raw[16]);

/** vbd_device_is_iwarp - no GIDs that are addresses, no path MTU, no QP timers */
bool vbd_device_is_iwarp(const struct vbd_device *device);

/** vbd_device_is_soft_roce - is the driver rdma_rxe? */
bool vbd_device_is_soft_roce(const struct vbd_device *device);

/** vbd_device_is_soft_iwarp - is the driver siw? */
bool vbd_device_is_soft_iwarp(const struct vbd_device *device);

/* The choice of the entry of a GID table for a queue pair, where the CM does not choose. */

struct vbd_gid_criteria {
	uint8_t port_num;
	bool infiniband;		     /* of the port's link layer */
	int gid_index;			     /* -1: the best entry of the port */
	const struct sockaddr_storage *addr; /* prefer its GID; NULL: no preference */
};

/**
 * vbd_gid_choose - the entry that matches @criteria
 * @ret_found: false on InfiniBand if the port has no GID at all: LIDs lead to the peer
 *
 * RoCE v2 comes before v1, then an IPv4 address before a global one, then a link-local one. On
 * InfiniBand the first entry matches, as the subnet manager uses that entry.
 *
 * Returns bad_value with the pointer /gid_index or /port_num if there is no such entry, and
 * address_not_available if the GID of `addr` has an index that no path can name.
 */
enum vbd_status vbd_gid_choose(const struct vbd_device *device,
	const struct vbd_gid_criteria *criteria, struct vbd_gid *ret_gid, bool *ret_found,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
