/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of events, and the members of an event's `data`: EventType and EventData in
 * openapi.yaml.
 *
 * A client that follows the events can keep a copy of the lists of objects: an event whose object
 * it does not know adds that object, `data.state` is the object's state since the event, and
 * KIND_deleted removes the object. The first event of a later run removes all objects but those
 * that ended and are of a kind with a history.
 *
 * The names and texts are static strings. Any thread.
 */
#ifndef VBD_DAEMON_CORE_EVENT_TYPES_H
#define VBD_DAEMON_CORE_EVENT_TYPES_H

#include "base/enum.h"

/* X(SYMBOL, json name, what it is); each value is a name of a list of names, or null */
#define VBD_EVENT_WORD_MAP(X)                                                                 \
	X(VBD_EVENT_STATE, "state", "state of the object since the event")                    \
	X(VBD_EVENT_PREVIOUS_STATE, "previous_state",                                         \
		"state before the event; null unless the event changed it")                   \
	X(VBD_EVENT_QP_STATE, "qp_state", "state of the queue pair since the event")          \
	X(VBD_EVENT_PREVIOUS_QP_STATE, "previous_qp_state", "state of the queue pair before") \
	X(VBD_EVENT_CODE, "code", "code of the problem that led to the event")                \
	X(VBD_EVENT_CM_EVENT, "cm_event", "name of the event of the connection manager")      \
	X(VBD_EVENT_ASYNC_EVENT, "async_event", "name of the asynchronous event of the device")

enum vbd_event_word { VBD_EVENT_WORD_MAP(VBD_ENUM_ROW) VBD_EVENT_WORD_COUNT };

/* The one member of `data` that is a number. */
#define VBD_EVENT_PORT_NUM "port_num"

/* Sets of members of `data`, as bits. */
#define VBD_EVENT_HAS(word)	   (1u << VBD_EVENT_##word)
#define VBD_EVENT_DATA_NONE	   0
#define VBD_EVENT_DATA_CODE	   VBD_EVENT_HAS(CODE)
#define VBD_EVENT_DATA_STATE	   (VBD_EVENT_HAS(STATE) | VBD_EVENT_HAS(PREVIOUS_STATE))
#define VBD_EVENT_DATA_STATE_CODE  (VBD_EVENT_DATA_STATE | VBD_EVENT_HAS(CODE))
#define VBD_EVENT_DATA_REFUSAL	   VBD_EVENT_DATA_STATE_CODE
#define VBD_EVENT_DATA_CM_EVENT	   (VBD_EVENT_DATA_STATE | VBD_EVENT_HAS(CM_EVENT))
#define VBD_EVENT_DATA_ASYNC_OF_QP (VBD_EVENT_DATA_STATE | VBD_EVENT_HAS(ASYNC_EVENT))
#define VBD_EVENT_DATA_ASYNC	   (VBD_EVENT_DATA_ASYNC_OF_QP | (1u << VBD_EVENT_WORD_COUNT))
#define VBD_EVENT_DATA_QP_STATE \
	(VBD_EVENT_DATA_STATE | VBD_EVENT_HAS(QP_STATE) | VBD_EVENT_HAS(PREVIOUS_QP_STATE))

/* X(SYMBOL, json name, members of `data`, what happened) */
/* clang-format off */
#define VBD_EVENT_TYPE_MAP(X) \
	X(VBD_EVENT_DAEMON_STARTED, "daemon_started", VBD_EVENT_DATA_NONE, \
		"The daemon began to run") \
	X(VBD_EVENT_DAEMON_STOPPING, "daemon_stopping", VBD_EVENT_DATA_CODE, \
		"The daemon began to stop") \
	X(VBD_EVENT_DAEMON_DRAINING, "daemon_draining", VBD_EVENT_DATA_NONE, \
		"A client had the daemon drain: nothing new begins, and transfers finish") \
	X(VBD_EVENT_DAEMON_DRAINED, "daemon_drained", VBD_EVENT_DATA_NONE, \
		"The daemon drains, and no transfer is under way any more") \
	X(VBD_EVENT_DAEMON_UNDRAINED, "daemon_undrained", VBD_EVENT_DATA_NONE, \
		"A client took the drain back: the daemon serves again") \
	X(VBD_EVENT_WORKER_STUCK, "worker_stuck", VBD_EVENT_DATA_NONE, \
		"A data worker has made no turn of its loop for 10 s, so its connections stand still") \
	X(VBD_EVENT_WORKER_RECOVERED, "worker_recovered", VBD_EVENT_DATA_NONE, \
		"A data worker that was stuck runs again") \
	X(VBD_EVENT_DAEMON_RELOADED, "daemon_reloaded", VBD_EVENT_DATA_NONE, \
		"The configuration was read again and is in force") \
	X(VBD_EVENT_RELOAD_FAILED, "reload_failed", VBD_EVENT_DATA_CODE, \
		"The configuration was read again and not taken up") \
	X(VBD_EVENT_STORE_FAILED, "store_failed", VBD_EVENT_DATA_NONE, \
		"State can't be kept in state_dir; the daemon serves on without") \
	X(VBD_EVENT_STORE_RECOVERED, "store_recovered", VBD_EVENT_DATA_NONE, \
		"State is kept in state_dir again, with the rows that waited") \
	X(VBD_EVENT_STORE_DAMAGED, "store_damaged", VBD_EVENT_DATA_NONE, \
		"Something that was kept in state_dir is missing or can't be read") \
	X(VBD_EVENT_LABELS_CHANGED, "labels_changed", VBD_EVENT_DATA_NONE, \
		"A client changed the labels of an object") \
	X(VBD_EVENT_REQUEST_REFUSED, "request_refused", VBD_EVENT_DATA_REFUSAL, \
		"An API request was refused for its token or origin") \
	X(VBD_EVENT_AUDIT, "audit", VBD_EVENT_DATA_CODE, \
		"A caller changed something or failed to, as audit_file says; for the control role only") \
	X(VBD_EVENT_SECURITY_CONNECT_REFUSED, "security_connect_refused", VBD_EVENT_DATA_CODE, \
		"A listener refused a connect request; beyond ten in a row, how many more within ten seconds") \
	X(VBD_EVENT_SECURITY_CLIENTS_TURNED_AWAY, "security_clients_turned_away", VBD_EVENT_DATA_CODE, \
		"HTTP clients were refused or disconnected, because too many are connected") \
	X(VBD_EVENT_FAULT_CREATED, "fault_created", VBD_EVENT_DATA_NONE, \
		"A client began to have something go wrong, to test how programs recover") \
	X(VBD_EVENT_FAULT_FIRED, "fault_fired", VBD_EVENT_DATA_NONE, \
		"A fault of a client has made something go wrong; one event a second tells how often") \
	X(VBD_EVENT_FAULT_DELETED, "fault_deleted", VBD_EVENT_DATA_NONE, \
		"A fault of a client was deleted, or its time was over") \
	X(VBD_EVENT_DEVICE_ADDED, "device_added", VBD_EVENT_DATA_STATE, \
		"A device was opened, at the start or when it was plugged in") \
	X(VBD_EVENT_DEVICE_FAILED, "device_failed", VBD_EVENT_DATA_STATE_CODE, \
		"A device could not be opened") \
	X(VBD_EVENT_DEVICE_STATE_CHANGED, "device_state_changed", VBD_EVENT_DATA_STATE, \
		"A device changed its state in another way") \
	X(VBD_EVENT_DEVICE_RENAMED, "device_renamed", VBD_EVENT_DATA_STATE, \
		"The kernel gave a device another name; its id stays") \
	X(VBD_EVENT_DEVICE_ASYNC_EVENT, "device_async_event", VBD_EVENT_DATA_ASYNC, \
		"The device reported an event, of a port for example: a warning if something failed or went down") \
	X(VBD_EVENT_DEVICE_REMOVED, "device_removed", VBD_EVENT_DATA_STATE, \
		"A device was closed because it went away") \
	X(VBD_EVENT_DEVICE_DELETED, "device_deleted", VBD_EVENT_DATA_STATE, \
		"A removed device left the list of devices") \
	X(VBD_EVENT_PD_CREATED, "pd_created", VBD_EVENT_DATA_NONE, \
		"A protection domain was created, by a client or with its device") \
	X(VBD_EVENT_PD_DELETED, "pd_deleted", VBD_EVENT_DATA_NONE, \
		"A protection domain was deleted") \
	X(VBD_EVENT_CQ_CREATED, "cq_created", VBD_EVENT_DATA_NONE, \
		"A completion queue was created, by a client or for queue pairs that name none") \
	X(VBD_EVENT_CQ_UPDATED, "cq_updated", VBD_EVENT_DATA_NONE, \
		"A client changed the size or the moderation of a completion queue") \
	X(VBD_EVENT_CQ_DELETED, "cq_deleted", VBD_EVENT_DATA_NONE, \
		"A completion queue was deleted") \
	X(VBD_EVENT_SRQ_CREATED, "srq_created", VBD_EVENT_DATA_NONE, \
		"A shared receive queue was created") \
	X(VBD_EVENT_SRQ_UPDATED, "srq_updated", VBD_EVENT_DATA_NONE, \
		"A client changed the limit of a shared receive queue") \
	X(VBD_EVENT_SRQ_DELETED, "srq_deleted", VBD_EVENT_DATA_NONE, \
		"A shared receive queue was deleted") \
	X(VBD_EVENT_BUFFER_CREATED, "buffer_created", VBD_EVENT_DATA_STATE, \
		"A buffer was created; its memory is being registered") \
	X(VBD_EVENT_BUFFER_REGISTERED, "buffer_registered", VBD_EVENT_DATA_STATE, \
		"The memory of a buffer is registered, so the buffer can be used") \
	X(VBD_EVENT_BUFFER_FAILED, "buffer_failed", VBD_EVENT_DATA_STATE_CODE, \
		"The memory of a buffer could not be registered") \
	X(VBD_EVENT_BUFFER_LOST, "buffer_lost", VBD_EVENT_DATA_STATE_CODE, \
		"The device of a buffer went away; the bytes are kept") \
	X(VBD_EVENT_BUFFER_DELETED, "buffer_deleted", VBD_EVENT_DATA_STATE, \
		"A buffer was deleted") \
	X(VBD_EVENT_WINDOW_CREATED, "window_created", VBD_EVENT_DATA_STATE, \
		"A memory window was created; it is being bound") \
	X(VBD_EVENT_WINDOW_BOUND, "window_bound", VBD_EVENT_DATA_STATE, \
		"A memory window is bound, so a peer can use its key") \
	X(VBD_EVENT_WINDOW_REVOKED, "window_revoked", VBD_EVENT_DATA_STATE_CODE, \
		"A memory window was revoked: its key is of no use any more") \
	X(VBD_EVENT_WINDOW_FAILED, "window_failed", VBD_EVENT_DATA_STATE_CODE, \
		"A memory window could not be bound, or its connection failed") \
	X(VBD_EVENT_WINDOW_STATE_CHANGED, "window_state_changed", VBD_EVENT_DATA_STATE, \
		"A memory window changed its state in another way") \
	X(VBD_EVENT_WINDOW_DELETED, "window_deleted", VBD_EVENT_DATA_STATE, \
		"A memory window was deleted") \
	X(VBD_EVENT_LISTENER_CREATED, "listener_created", VBD_EVENT_DATA_STATE, \
		"A listener was created") \
	X(VBD_EVENT_LISTENER_UPDATED, "listener_updated", VBD_EVENT_DATA_STATE, \
		"A client changed how a listener accepts requests") \
	X(VBD_EVENT_LISTENER_LOST, "listener_lost", VBD_EVENT_DATA_STATE_CODE, \
		"The device or the address of a listener went away") \
	X(VBD_EVENT_LISTENER_RESTORED, "listener_restored", VBD_EVENT_DATA_STATE, \
		"A lost listener listens again") \
	X(VBD_EVENT_LISTENER_DELETED, "listener_deleted", VBD_EVENT_DATA_STATE, \
		"A listener was deleted") \
	X(VBD_EVENT_KEPT_OBJECT_CREATED, "kept_object_created", VBD_EVENT_DATA_STATE, \
		"An object is kept from now on: it is made again after a start, and when it has gone") \
	X(VBD_EVENT_KEPT_OBJECT_STATE_CHANGED, "kept_object_state_changed", VBD_EVENT_DATA_STATE, \
		"A kept object is being made, is there, was lost or waits for the next try") \
	X(VBD_EVENT_KEPT_OBJECT_FAILED, "kept_object_failed", VBD_EVENT_DATA_STATE_CODE, \
		"A try to make a kept object has failed, or the object has gone; another try follows") \
	X(VBD_EVENT_KEPT_OBJECT_WITHOUT_BYTES, "kept_object_without_bytes", VBD_EVENT_DATA_STATE, \
		"A kept shared buffer has not the bytes that it had before the start, or will not have them after the next one") \
	X(VBD_EVENT_KEPT_OBJECT_DELETED, "kept_object_deleted", VBD_EVENT_DATA_STATE, \
		"An object is kept no longer") \
	X(VBD_EVENT_CONNECTION_CREATED, "connection_created", VBD_EVENT_DATA_STATE, \
		"A client began to open a connection") \
	X(VBD_EVENT_CONNECTION_REQUESTED, "connection_requested", VBD_EVENT_DATA_STATE, \
		"A peer asked a listener for a connection, which is created thereby") \
	X(VBD_EVENT_CONNECTION_RENUMBERED, "connection_renumbered", VBD_EVENT_DATA_STATE, \
		"A kept connection is made again; the one that was established and has ended has this id from now on") \
	X(VBD_EVENT_CONNECTION_STATE_CHANGED, "connection_state_changed", VBD_EVENT_DATA_STATE, \
		"A connection changed its state") \
	X(VBD_EVENT_CONNECTION_QP_STATE_CHANGED, "connection_qp_state_changed", VBD_EVENT_DATA_QP_STATE, \
		"The queue pair of a connection changed its state") \
	X(VBD_EVENT_CONNECTION_CM_EVENT, "connection_cm_event", VBD_EVENT_DATA_CM_EVENT, \
		"The connection manager reported an event of a connection") \
	X(VBD_EVENT_CONNECTION_ASYNC_EVENT, "connection_async_event", VBD_EVENT_DATA_ASYNC_OF_QP, \
		"The device reported an event of a connection's queue pair") \
	X(VBD_EVENT_CONNECTION_STEP_FAILED, "connection_step_failed", VBD_EVENT_DATA_STATE_CODE, \
		"A step of a queue pair that is brought up by hand failed after its request was answered, or while it waited") \
	X(VBD_EVENT_CONNECTION_MESSAGE_DROPPED, "connection_message_dropped", VBD_EVENT_DATA_STATE, \
		"Received messages were lost, for lack of memory or of room under records.messages_bytes") \
	X(VBD_EVENT_CONNECTION_ESTABLISHED, "connection_established", VBD_EVENT_DATA_STATE, \
		"A connection is established") \
	X(VBD_EVENT_SECURITY_PEER_REFUSED, "security_peer_refused", VBD_EVENT_DATA_STATE_CODE, \
		"The device refused what the peer of a connection asked for, most likely access to memory that is not open to it") \
	X(VBD_EVENT_CONNECTION_ENDED, "connection_ended", VBD_EVENT_DATA_STATE_CODE, \
		"A connection has ended, cleanly or not") \
	X(VBD_EVENT_CONNECTION_DELETED, "connection_deleted", VBD_EVENT_DATA_STATE, \
		"A connection was deleted, by a client or for newer records") \
	X(VBD_EVENT_UD_ENDPOINT_CREATED, "ud_endpoint_created", VBD_EVENT_DATA_STATE, \
		"A datagram endpoint was created") \
	X(VBD_EVENT_UD_ENDPOINT_RESOLVED, "ud_endpoint_resolved", VBD_EVENT_DATA_STATE_CODE, \
		"A peer asked for the queue pair number of a datagram endpoint") \
	X(VBD_EVENT_UD_ENDPOINT_MESSAGE_DROPPED, "ud_endpoint_message_dropped", VBD_EVENT_DATA_STATE, \
		"Received datagrams were lost, for lack of memory or of room under records.messages_bytes") \
	X(VBD_EVENT_UD_ENDPOINT_STATE_CHANGED, "ud_endpoint_state_changed", VBD_EVENT_DATA_STATE, \
		"A datagram endpoint changed its state in another way") \
	X(VBD_EVENT_UD_ENDPOINT_ENDED, "ud_endpoint_ended", VBD_EVENT_DATA_STATE_CODE, \
		"A datagram endpoint has ended, cleanly or not") \
	X(VBD_EVENT_UD_ENDPOINT_DELETED, "ud_endpoint_deleted", VBD_EVENT_DATA_STATE, \
		"A datagram endpoint was deleted") \
	X(VBD_EVENT_UD_PEER_CREATED, "ud_peer_created", VBD_EVENT_DATA_STATE, \
		"A peer of a datagram endpoint was created") \
	X(VBD_EVENT_UD_PEER_READY, "ud_peer_ready", VBD_EVENT_DATA_STATE, \
		"A peer of a datagram endpoint is known, so datagrams can be sent to it") \
	X(VBD_EVENT_UD_PEER_FAILED, "ud_peer_failed", VBD_EVENT_DATA_STATE_CODE, \
		"A peer of a datagram endpoint could not be resolved") \
	X(VBD_EVENT_UD_PEER_DELETED, "ud_peer_deleted", VBD_EVENT_DATA_STATE, \
		"A peer of a datagram endpoint was deleted") \
	X(VBD_EVENT_MULTICAST_MEMBERSHIP_CREATED, "multicast_membership_created", VBD_EVENT_DATA_STATE, \
		"A client began to join a multicast group") \
	X(VBD_EVENT_MULTICAST_MEMBERSHIP_JOINED, "multicast_membership_joined", VBD_EVENT_DATA_STATE, \
		"A datagram endpoint joined a multicast group") \
	X(VBD_EVENT_MULTICAST_MEMBERSHIP_LEFT, "multicast_membership_left", VBD_EVENT_DATA_STATE, \
		"A datagram endpoint left a multicast group") \
	X(VBD_EVENT_MULTICAST_MEMBERSHIP_FAILED, "multicast_membership_failed", VBD_EVENT_DATA_STATE_CODE, \
		"A multicast group could not be joined, or was lost") \
	X(VBD_EVENT_MULTICAST_MEMBERSHIP_STATE_CHANGED, "multicast_membership_state_changed", VBD_EVENT_DATA_STATE, \
		"A multicast membership changed its state in another way") \
	X(VBD_EVENT_MULTICAST_MEMBERSHIP_DELETED, "multicast_membership_deleted", VBD_EVENT_DATA_STATE, \
		"A multicast membership was deleted") \
	X(VBD_EVENT_TRANSFER_CREATED, "transfer_created", VBD_EVENT_DATA_STATE, \
		"A transfer was created") \
	X(VBD_EVENT_TRANSFER_STATE_CHANGED, "transfer_state_changed", VBD_EVENT_DATA_STATE, \
		"A transfer changed its state in another way") \
	X(VBD_EVENT_TRANSFER_ENDED, "transfer_ended", VBD_EVENT_DATA_STATE_CODE, \
		"A transfer is done, has failed or was cancelled") \
	X(VBD_EVENT_TRANSFER_DELETED, "transfer_deleted", VBD_EVENT_DATA_STATE, \
		"The record of a transfer was deleted, by a client or for newer records") \
	X(VBD_EVENT_TRANSFER_BATCH_CREATED, "transfer_batch_created", VBD_EVENT_DATA_STATE, \
		"Several transfers were created together, as a batch") \
	X(VBD_EVENT_TRANSFER_BATCH_ENDED, "transfer_batch_ended", VBD_EVENT_DATA_STATE_CODE, \
		"Every transfer of a batch has ended") \
	X(VBD_EVENT_TRANSFER_BATCH_DELETED, "transfer_batch_deleted", VBD_EVENT_DATA_STATE, \
		"The record of a batch was deleted, by a client or for newer records") \
	X(VBD_EVENT_CONNECTION_BATCH_CREATED, "connection_batch_created", VBD_EVENT_DATA_STATE, \
		"Several connections were created together, as a batch") \
	X(VBD_EVENT_CONNECTION_BATCH_ENDED, "connection_batch_ended", VBD_EVENT_DATA_STATE_CODE, \
		"Every connection of a batch was established, or ended before that") \
	X(VBD_EVENT_CONNECTION_BATCH_DELETED, "connection_batch_deleted", VBD_EVENT_DATA_STATE, \
		"The record of a batch of connections was deleted, by a client or for newer records") \
	X(VBD_EVENT_PROBE_CREATED, "probe_created", VBD_EVENT_DATA_STATE, \
		"A probe was created") \
	X(VBD_EVENT_PROBE_ENDED, "probe_ended", VBD_EVENT_DATA_STATE_CODE, \
		"A probe is done, has failed or was cancelled") \
	X(VBD_EVENT_PROBE_DELETED, "probe_deleted", VBD_EVENT_DATA_STATE, \
		"The record of a probe was deleted, by a client or for newer records") \
	X(VBD_EVENT_COPY_CREATED, "copy_created", VBD_EVENT_DATA_STATE, \
		"A copy was begun, here or by a peer") \
	X(VBD_EVENT_COPY_STATE_CHANGED, "copy_state_changed", VBD_EVENT_DATA_STATE, \
		"A copy has changed its state") \
	X(VBD_EVENT_COPY_ENDED, "copy_ended", VBD_EVENT_DATA_STATE_CODE, \
		"A copy is done, has failed or was cancelled") \
	X(VBD_EVENT_COPY_DELETED, "copy_deleted", VBD_EVENT_DATA_STATE, \
		"The record of a copy was deleted, by a client or for newer records") \
	X(VBD_EVENT_BENCHMARK_CREATED, "benchmark_created", VBD_EVENT_DATA_STATE, \
		"A benchmark was created") \
	X(VBD_EVENT_BENCHMARK_ENDED, "benchmark_ended", VBD_EVENT_DATA_STATE_CODE, \
		"A benchmark is done, has failed or was cancelled") \
	X(VBD_EVENT_BENCHMARK_DELETED, "benchmark_deleted", VBD_EVENT_DATA_STATE, \
		"The record of a benchmark was deleted, by a client or for newer records") \
	X(VBD_EVENT_EXPORT_CREATED, "export_created", VBD_EVENT_DATA_STATE, \
		"The configuration has an export; its directory is being opened") \
	X(VBD_EVENT_EXPORT_READY, "export_ready", VBD_EVENT_DATA_STATE, \
		"The directory of an export is open, so copies can use it") \
	X(VBD_EVENT_EXPORT_FAILED, "export_failed", VBD_EVENT_DATA_STATE_CODE, \
		"The directory of an export could not be opened, or its secret not be read") \
	X(VBD_EVENT_EXPORT_DELETED, "export_deleted", VBD_EVENT_DATA_STATE, \
		"The configuration has an export no longer, or has another one of its name")
/* clang-format on */

enum vbd_event_type { VBD_EVENT_TYPE_MAP(VBD_ENUM_ROW) VBD_EVENT_TYPE_COUNT };

/** vbd_event_type_name - "connection_cm_event"; NULL for an unknown value */
const char *vbd_event_type_name(enum vbd_event_type type);

/** vbd_event_type_text - a sentence without its full stop: what happened */
const char *vbd_event_type_text(enum vbd_event_type type);

/** vbd_event_type_has - whether the `data` of events of the type has the word */
bool vbd_event_type_has(enum vbd_event_type type, enum vbd_event_word word);

/** vbd_event_type_has_port - whether the `data` of events of the type has VBD_EVENT_PORT_NUM */
bool vbd_event_type_has_port(enum vbd_event_type type);

/** vbd_event_word_name - "previous_state" */
const char *vbd_event_word_name(enum vbd_event_word word);

/** vbd_event_word_text - the meaning of the member of `data` */
const char *vbd_event_word_text(enum vbd_event_word word);

#endif
