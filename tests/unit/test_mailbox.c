/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mailbox.h"

#include "tests/unit/unit.h"

#include <poll.h>
#include <pthread.h>

#define SENDERS 4
#define ENTRIES 20000

struct entry {
	struct vbd_mailbox_item item; /* first member */
	unsigned int sender;
	unsigned int number;
	uint64_t content;
};

struct sender {
	struct vbd_mailbox *box;
	struct entry *entries;
	unsigned int id;
};

static int setup(void **state)
{
	struct vbd_mailbox *box = malloc(sizeof(*box));
	struct vbd_error err = {0};

	assert_non_null(box);
	memset(box, 0xa5, sizeof(*box)); /* no member depends on what the memory had */
	assert_int_equal(vbd_mailbox_init(box, &err), VBD_OK);
	*state = box;
	return 0;
}

static int teardown(void **state)
{
	struct vbd_mailbox *box = *state;

	vbd_mailbox_fini(box);
	vbd_mailbox_fini(box);
	free(box);
	return 0;
}

#define MAILBOX_TEST(name) TEST_WITH(name, struct vbd_mailbox *box, setup, teardown)

static bool readable(const struct vbd_mailbox *box)
{
	struct pollfd fd = {.fd = vbd_mailbox_fd(box), .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

MAILBOX_TEST(test_mailbox__an_empty_box_gives_nothing_and_is_silent)
{
	assert_null(vbd_mailbox_take(box));
	assert_null(vbd_mailbox_take(box));
	assert_false(readable(box));
	vbd_mailbox_rearm(box);
	assert_false(readable(box));
}

MAILBOX_TEST(test_mailbox__items_come_out_in_the_order_they_were_sent)
{
	struct vbd_mailbox_item items[5];

	/* Each round empties the box at another place of the queue. */
	for (unsigned int round = 1; round <= 5; round++) {
		for (unsigned int i = 0; i < round; i++) {
			items[i].kind = i;
			vbd_mailbox_send(box, &items[i]);
		}
		for (unsigned int i = 0; i < round; i++) {
			struct vbd_mailbox_item *item = vbd_mailbox_take(box);

			assert_ptr_equal(item, &items[i]);
			assert_int_equal(item->kind, i);
		}
		assert_null(vbd_mailbox_take(box));
	}
}

MAILBOX_TEST(test_mailbox__what_is_left_waits_until_the_receiver_wakes)
{
	struct vbd_mailbox_item left, sent;

	vbd_mailbox_leave(box, &left);
	assert_false(readable(box));
	vbd_mailbox_send(box, &sent);
	assert_true(readable(box));
	vbd_mailbox_rearm(box);
	assert_ptr_equal(vbd_mailbox_take(box), &left);
	assert_ptr_equal(vbd_mailbox_take(box), &sent);
	vbd_mailbox_leave(box, &left);
	assert_ptr_equal(vbd_mailbox_take(box), &left);
	assert_null(vbd_mailbox_take(box));
	assert_false(readable(box));
}

MAILBOX_TEST(test_mailbox__an_item_may_be_sent_again_once_it_is_taken)
{
	struct vbd_mailbox_item a = {.kind = 1};
	struct vbd_mailbox_item b = {.kind = 2};

	vbd_mailbox_send(box, &a);
	vbd_mailbox_send(box, &b);
	assert_ptr_equal(vbd_mailbox_take(box), &a);
	vbd_mailbox_send(box, &a);
	assert_ptr_equal(vbd_mailbox_take(box), &b);
	assert_ptr_equal(vbd_mailbox_take(box), &a);
	assert_null(vbd_mailbox_take(box));
}

MAILBOX_TEST(test_mailbox__the_receiver_is_woken_once_until_it_rearms)
{
	struct vbd_mailbox_item items[3];

	vbd_mailbox_send(box, &items[0]);
	assert_true(readable(box));
	vbd_mailbox_send(box, &items[1]);
	vbd_mailbox_rearm(box);
	assert_false(readable(box));
	assert_ptr_equal(vbd_mailbox_take(box), &items[0]);
	assert_ptr_equal(vbd_mailbox_take(box), &items[1]);
	assert_null(vbd_mailbox_take(box));
	vbd_mailbox_send(box, &items[2]);
	assert_true(readable(box));
	assert_ptr_equal(vbd_mailbox_take(box), &items[2]);
}

static void *send_all(void *arg)
{
	struct sender *sender = arg;

	for (unsigned int i = 0; i < ENTRIES; i++) {
		struct entry *entry = &sender->entries[i];

		entry->sender = sender->id;
		entry->number = i;
		entry->content = (uint64_t)sender->id << 32 | i;
		vbd_mailbox_send(sender->box, &entry->item);
	}
	return NULL;
}

/* Waits in poll() without a limit: a lost wake-up hangs the test. */
static void receive_all(struct vbd_mailbox *box)
{
	unsigned int next[SENDERS] = {0};
	unsigned int total = 0;

	while (total < SENDERS * ENTRIES) {
		struct pollfd fd = {.fd = vbd_mailbox_fd(box), .events = POLLIN};
		struct vbd_mailbox_item *item;

		assert_int_equal(poll(&fd, 1, -1), 1);
		vbd_mailbox_rearm(box);
		while ((item = vbd_mailbox_take(box))) {
			struct entry *entry = VBD_CONTAINER_OF(item, struct entry, item);

			assert_int_equal(entry->number, next[entry->sender]);
			assert_true(
				entry->content == ((uint64_t)entry->sender << 32 | entry->number));
			next[entry->sender]++;
			total++;
		}
	}
}

MAILBOX_TEST(test_mailbox__every_item_of_every_thread_arrives_once_and_in_order)
{
	struct sender senders[SENDERS];
	pthread_t threads[SENDERS];

	for (unsigned int i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){
			.box = box,
			.entries = calloc(ENTRIES, sizeof(struct entry)),
			.id = i,
		};
		assert_non_null(senders[i].entries);
		assert_int_equal(pthread_create(&threads[i], NULL, send_all, &senders[i]), 0);
	}
	receive_all(box);
	assert_null(vbd_mailbox_take(box));
	for (unsigned int i = 0; i < SENDERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		free(senders[i].entries);
	}
}
