/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of the service `files` as bytes: docs/copy-protocol.md. A message is a SEND of at
 * most VBD_COPY_MESSAGE_BYTES; file data goes by RDMA write with immediate into a slot of the
 * receiver's window, behind a header that says which pieces of which files the slot has.
 *
 * Pure functions, any thread; nothing here allocates. Text and bytes of a decoded message point
 * into the message. Every decoder refuses what is too short, too long, out of range or not
 * canonical.
 */
#ifndef VBD_DAEMON_COPIES_COPY_WIRE_H
#define VBD_DAEMON_COPIES_COPY_WIRE_H

#include "base/enum.h"
#include "base/error.h"

#define VBD_COPY_VERSION	   1
#define VBD_COPY_MESSAGE_BYTES	   16384
#define VBD_COPY_NONCE_BYTES	   16
#define VBD_COPY_MAC_BYTES	   32 /* HMAC-SHA-256 */
#define VBD_COPY_SUM_BYTES	   32 /* SHA-256 */
#define VBD_COPY_PATH_BYTES	   4095
#define VBD_COPY_SLOT_HEADER_BYTES 4096
#define VBD_COPY_PIECES_MAX	   170	 /* in one slot */
#define VBD_COPY_SLOTS_MAX	   64	 /* of one window */
#define VBD_COPY_SLOT_BYTES_MIN	   65536 /* with the header */
#define VBD_COPY_SLOT_BYTES_MAX	   16777216
#define VBD_COPY_ENTRIES_MAX	   512 /* of one message ENTRIES, WANT or DONE */
#define VBD_COPY_TEXT_BYTES	   200

/* X(SYMBOL, name): the messages; the number of a type is its place here, from 1 on */
#define VBD_COPY_MESSAGE_MAP(X)                                                             \
	/* client to server: what is to be copied, and a nonce */                           \
	X(VBD_COPY_MSG_HELLO, "hello")                                                      \
	/* server to client: the version, and a nonce */                                    \
	X(VBD_COPY_MSG_CHALLENGE, "challenge")                                              \
	/* client to server: proof that it knows the secret of the export */                \
	X(VBD_COPY_MSG_PROOF, "proof")                                                      \
	/* server to client: the same proof of the server; its window if it receives */     \
	X(VBD_COPY_MSG_READY, "ready")                                                      \
	/* client to server: its window if it receives */                                   \
	X(VBD_COPY_MSG_START, "start")                                                      \
	/* sender to receiver: files and directories, a page of them */                     \
	X(VBD_COPY_MSG_ENTRIES, "entries")                                                  \
	/* receiver to sender: which of them it wants, from which byte on */                \
	X(VBD_COPY_MSG_WANT, "want")                                                        \
	/* receiver to sender: slots that may be written again */                           \
	X(VBD_COPY_MSG_FREE, "free")                                                        \
	/* sender to receiver: the digest of a file, before the slot with its last piece */ \
	X(VBD_COPY_MSG_SUM, "sum")                                                          \
	/* sender to receiver: a file can't be read any further */                          \
	X(VBD_COPY_MSG_DROPPED, "dropped")                                                  \
	/* receiver to sender: files that are in place and safe, or have failed */          \
	X(VBD_COPY_MSG_DONE, "done")                                                        \
	/* sender to receiver: every entry is done */                                       \
	X(VBD_COPY_MSG_END, "end")                                                          \
	/* receiver to sender: it agrees */                                                 \
	X(VBD_COPY_MSG_END_OK, "end_ok")                                                    \
	/* either: the copy has failed or was cancelled; nothing follows */                 \
	X(VBD_COPY_MSG_BYE, "bye")

enum vbd_copy_message_type {
	VBD_COPY_MSG_NONE, /* 0 is not valid on the wire */
#define VBD_COPY_MESSAGE_ENUM(sym, name) sym,
	VBD_COPY_MESSAGE_MAP(VBD_COPY_MESSAGE_ENUM)
#undef VBD_COPY_MESSAGE_ENUM
		VBD_COPY_MSG_COUNT
};

/* Bits of `options` in HELLO. A bit that is not listed is refused. */
enum {
	VBD_COPY_RECURSIVE = 1,
	VBD_COPY_PRESERVE_MODE = 2,
	VBD_COPY_PRESERVE_MTIME = 4,
	VBD_COPY_VERIFY_SHA256 = 8,
};

/* X(SYMBOL, json name): when the receiver replaces a file that it has */
#define VBD_COPY_OVERWRITE_MAP(X)                          \
	X(VBD_COPY_OVERWRITE_NEVER, "never")               \
	X(VBD_COPY_OVERWRITE_IF_NEWER, "if_newer")         \
	X(VBD_COPY_OVERWRITE_IF_DIFFERENT, "if_different") \
	X(VBD_COPY_OVERWRITE_ALWAYS, "always")

enum vbd_copy_overwrite { VBD_COPY_OVERWRITE_MAP(VBD_ENUM_ROW) VBD_COPY_OVERWRITE_COUNT };

/* X(SYMBOL, json name, text): why a file was not copied, and why a copy ended; the number on the
 * wire is the place here */
#define VBD_COPY_FAULT_MAP(X)                                                                     \
	X(VBD_COPY_FAULT_OK, "ok", "nothing is wrong")                                            \
	X(VBD_COPY_FAULT_EXISTS, "exists",                                                        \
		"the file exists, and `overwrite` does not allow to replace it")                  \
	X(VBD_COPY_FAULT_SAME, "same", "the file exists with this size and time")                 \
	X(VBD_COPY_FAULT_NOT_FOUND, "not_found", "there is no such file or directory")            \
	X(VBD_COPY_FAULT_PERMISSION, "permission_denied", "the file system denies the access")    \
	X(VBD_COPY_FAULT_OUTSIDE, "outside_export", "the path leads out of the export")           \
	X(VBD_COPY_FAULT_NOT_REGULAR, "not_regular", "this is no regular file and no directory")  \
	X(VBD_COPY_FAULT_IS_DIRECTORY, "is_directory",                                            \
		"this is a directory, and a file was expected, "                                  \
		"or the copy is not recursive")                                                   \
	X(VBD_COPY_FAULT_NOT_DIRECTORY, "not_directory", "a file is where a directory is needed") \
	X(VBD_COPY_FAULT_NAME_TOO_LONG, "name_too_long",                                          \
		"the name is too long for the file system")                                       \
	X(VBD_COPY_FAULT_NO_SPACE, "no_space", "the file system is full")                         \
	X(VBD_COPY_FAULT_QUOTA, "disk_quota", "the disk quota of verbsd's user is used up")       \
	X(VBD_COPY_FAULT_READ_ONLY, "read_only", "the file system is mounted read-only")          \
	X(VBD_COPY_FAULT_TOO_LARGE, "too_large", "the file is larger than the export allows")     \
	X(VBD_COPY_FAULT_TOO_MANY, "too_many_files",                                              \
		"the copy has more files than the export allows")                                 \
	X(VBD_COPY_FAULT_CHANGED, "changed", "the source has changed while it was read")          \
	X(VBD_COPY_FAULT_CORRUPT, "corrupt",                                                      \
		"the bytes do not have the checksum that the sender told")                        \
	X(VBD_COPY_FAULT_IO, "io_error", "the file system reports an error")                      \
	X(VBD_COPY_FAULT_REFUSED, "refused",                                                      \
		"the peer has no such export, does not allow this access, "                       \
		"or the secrets differ")                                                          \
	X(VBD_COPY_FAULT_PROTOCOL, "protocol_error", "the peer broke the protocol")               \
	X(VBD_COPY_FAULT_CANCELLED, "cancelled", "a client cancelled the copy")                   \
	X(VBD_COPY_FAULT_TIMEOUT, "timed_out", "the deadline of the copy has passed")             \
	X(VBD_COPY_FAULT_NO_RESOURCES, "no_resources", "memory or another limit is used up")      \
	X(VBD_COPY_FAULT_DISCONNECTED, "disconnected", "the connection ended")

enum vbd_copy_fault { VBD_COPY_FAULT_MAP(VBD_ENUM_ROW) VBD_COPY_FAULT_COUNT };

/** vbd_copy_fault_name - "no_space" */
const char *vbd_copy_fault_name(enum vbd_copy_fault fault);

/** vbd_copy_fault_text - "the file system is full" */
const char *vbd_copy_fault_text(enum vbd_copy_fault fault);

/** vbd_copy_message_name - "hello" */
const char *vbd_copy_message_name(enum vbd_copy_message_type type);

/** vbd_copy_overwrite_name - "if_newer" */
const char *vbd_copy_overwrite_name(enum vbd_copy_overwrite overwrite);

/* The staging memory of a receiver: `slots` of `slot_bytes` each, one behind the other. All zero:
 * none. */
struct vbd_copy_window {
	uint64_t addr;
	uint32_t rkey;
	uint32_t slot_bytes;
	uint32_t slots;
};

struct vbd_copy_hello {
	uint32_t version_min, version_max;
	bool pull; /* the server sends; else the client does */
	uint32_t options;
	enum vbd_copy_overwrite overwrite;
	uint8_t nonce[VBD_COPY_NONCE_BYTES];
	char export[64];     /* a name, as of vbd_name_valid() */
	const uint8_t *path; /* of the source or destination in the export; not empty, no NUL */
	uint32_t path_bytes;
};

enum vbd_copy_entry_type { VBD_COPY_FILE = 1, VBD_COPY_DIRECTORY = 2 };

/* A file or directory. Its number is the place of the entry in the copy, from 0 on. */
struct vbd_copy_entry {
	enum vbd_copy_entry_type type;
	uint32_t mode;	     /* the permission bits, 0777 at most */
	int64_t mtime_ns;    /* since 1970 */
	uint64_t size_bytes; /* 0 for a directory */
	const uint8_t *path; /* beneath the path of HELLO; empty (entry 0 only): that path itself.
				Relative, no NUL, no empty, "." or ".." component */
	uint32_t path_bytes; /* <= VBD_COPY_PATH_BYTES */
};

/* The state of an entry at the receiver, in WANT and DONE. */
struct vbd_copy_verdict {
	uint32_t entry;
	enum vbd_copy_fault fault; /* WANT: OK: send it. EXISTS, SAME: it stays as it is. */
	uint64_t offset_bytes;	   /* WANT with OK: send the bytes from here on; else 0 */
};

struct vbd_copy_piece {
	uint32_t entry;
	uint32_t length_bytes; /* > 0 unless `last` */
	uint64_t offset_bytes; /* in the file */
	uint32_t crc32c;       /* of the bytes */
	bool last;	       /* the file ends with this piece */
};

/* A decoded message; only the members of its type are set. */
struct vbd_copy_message {
	enum vbd_copy_message_type type;
	union {
		struct vbd_copy_hello hello;
		struct {
			uint32_t version;
			bool needs_proof;
			uint8_t nonce[VBD_COPY_NONCE_BYTES];
		} challenge;
		struct {
			uint8_t mac[VBD_COPY_MAC_BYTES]; /* zeros if no proof is needed */
		} proof;
		struct {
			uint8_t mac[VBD_COPY_MAC_BYTES];
			struct vbd_copy_window window;
		} ready;
		struct {
			struct vbd_copy_window window;
		} start;
		struct {
			uint32_t first; /* the number of the first one */
			uint32_t count;
			bool last;	   /* no page follows */
			const uint8_t *at; /* for vbd_copy_next_entry() */
			uint32_t left_bytes;
		} entries;
		struct {
			uint32_t count;
			const uint8_t *at; /* for vbd_copy_next_verdict() */
		} verdicts;		   /* WANT, DONE */
		struct {
			uint32_t count;
			uint16_t slots[VBD_COPY_SLOTS_MAX]; /* each < VBD_COPY_SLOTS_MAX */
		} free;
		struct {
			uint32_t entry;
			uint8_t digest[VBD_COPY_SUM_BYTES];
		} sum;
		struct {
			uint32_t entry;
			enum vbd_copy_fault fault; /* not OK */
		} dropped;
		struct {
			uint64_t files, bytes; /* that were sent */
		} end;
		struct {
			enum vbd_copy_fault fault; /* not OK */
			char text[VBD_COPY_TEXT_BYTES +
				  1]; /* printable UTF-8, one line; may be empty */
		} bye;
	};
};

/**
 * vbd_copy_decode - check and decode a message of the peer
 * @bytes: stay the caller's; @ret_message points into them
 *
 * Checks the whole message, also every entry and verdict, so the functions that return the next one
 * can't fail. Returns VBD_E_BAD_VALUE, whose text says what is wrong with which message.
 */
enum vbd_status vbd_copy_decode(const uint8_t *bytes, uint32_t len_bytes,
	struct vbd_copy_message *ret_message, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_copy_next_entry - the next entry of ENTRIES; false after the last one */
bool vbd_copy_next_entry(struct vbd_copy_message *message, struct vbd_copy_entry *ret_entry);

/** vbd_copy_next_verdict - the next verdict of WANT or DONE; false after the last one */
bool vbd_copy_next_verdict(struct vbd_copy_message *message, struct vbd_copy_verdict *ret_verdict);

/**
 * vbd_copy_encode - write a message of a type without a list: neither ENTRIES nor WANT nor DONE
 * @to:      VBD_COPY_MESSAGE_BYTES
 * @message: in range, or the peer refuses it; only a text of BYE that is no printable line is left
 *           out
 *
 * Returns the length in bytes.
 */
uint32_t vbd_copy_encode(uint8_t *to, const struct vbd_copy_message *message);

/* A message with a list, while it is written. */
struct vbd_copy_list {
	uint8_t *to; /* VBD_COPY_MESSAGE_BYTES, the caller's */
	uint32_t len_bytes;
	uint32_t count;
};

/** vbd_copy_list_begin - begin ENTRIES (@first: the number of the first entry), WANT or DONE */
void vbd_copy_list_begin(
	struct vbd_copy_list *list, uint8_t *to, enum vbd_copy_message_type type, uint32_t first);

/** vbd_copy_list_entry, vbd_copy_list_verdict - append one; false if the message is full */
bool vbd_copy_list_entry(
	struct vbd_copy_list *list, const struct vbd_copy_entry *entry) VBD_MUST_CHECK;
bool vbd_copy_list_verdict(
	struct vbd_copy_list *list, const struct vbd_copy_verdict *verdict) VBD_MUST_CHECK;

/** vbd_copy_list_end - complete the message; @last: see `entries`. Returns its length in bytes. */
uint32_t vbd_copy_list_end(struct vbd_copy_list *list, bool last);

/** vbd_copy_encode_slot - write the header of a slot; @to: VBD_COPY_SLOT_HEADER_BYTES, @count: 1 to
 * VBD_COPY_PIECES_MAX. The bytes of the pieces follow the header, without gaps. */
void vbd_copy_encode_slot(uint8_t *to, const struct vbd_copy_piece *pieces, uint32_t count);

/**
 * vbd_copy_decode_slot - check and decode the header of a slot, which the caller has copied out of
 * the window first: the peer may write there at any time
 * @slot_bytes: of the window; the pieces fit into it
 * @ret_pieces: VBD_COPY_PIECES_MAX; @ret_count: their number
 *
 * Returns VBD_E_BAD_VALUE.
 */
enum vbd_status vbd_copy_decode_slot(const uint8_t *header, uint32_t slot_bytes,
	struct vbd_copy_piece *ret_pieces, uint32_t *ret_count,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_copy_mac - the proof of PROOF (@server false) or READY (@server true): HMAC-SHA-256 with the
 * secret, over a text that names the side, both nonces and the whole HELLO, so that it proves
 * nothing for another copy
 * @hello: the message HELLO as it was sent; @nonce: of CHALLENGE
 */
enum vbd_status vbd_copy_mac(const uint8_t *secret, uint32_t secret_bytes, bool server,
	const uint8_t *hello, uint32_t hello_bytes, const uint8_t nonce[VBD_COPY_NONCE_BYTES],
	uint8_t ret_mac[VBD_COPY_MAC_BYTES], struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_copy_mac_equal - compare in constant time */
bool vbd_copy_mac_equal(const uint8_t a[VBD_COPY_MAC_BYTES], const uint8_t b[VBD_COPY_MAC_BYTES]);

#endif
