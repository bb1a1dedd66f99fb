/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/admission.h"

#include "base/addr.h"
#include "tests/unit/unit.h"

static const struct vbd_admission_limits few = {
	.seats = 4, .seats_per_source = 2, .reserve = 1, .waiting = 8, .feeds = 1};

static struct vbd_source_key source(const char *text)
{
	struct sockaddr_storage addr;

	assert_true(vbd_addr_parse(text, 0, &addr));
	return vbd_source_of_address(&addr);
}

static bool same_source(const char *a, const char *b)
{
	const struct vbd_source_key left = source(a), right = source(b);

	return memcmp(&left, &right, sizeof(left)) == 0;
}

/* Seat a client that may need the seat of @victim; NULL: of nobody. */
static void assert_seated(struct vbd_admission *admission, const char *from, struct vbd_seat *seat,
	const struct vbd_seat *victim)
{
	const struct vbd_source_key key = source(from);
	struct vbd_seat *sent_away = NULL;

	assert_true(vbd_seat_take(admission, &key, seat, &sent_away));
	assert_ptr_equal(sent_away, victim);
}

TEST(test_admission__a_source_is_what_one_user_can_have)
{
	const struct vbd_source_key one = vbd_source_of_uid(1), two = vbd_source_of_uid(2);

	assert_true(same_source("127.0.0.1", "127.255.0.9"));
	assert_true(same_source("127.0.0.1", "::1"));
	assert_true(same_source("127.0.0.1", "::ffff:127.0.0.2"));
	assert_true(same_source("192.0.2.1", "::ffff:192.0.2.1"));
	assert_true(same_source("2001:db8::1", "2001:db8::ffff:1"));
	assert_false(same_source("192.0.2.1", "192.0.2.2"));
	assert_false(same_source("2001:db8::1", "2001:db8:0:1::1"));
	assert_false(same_source("127.0.0.1", "192.0.2.1"));
	assert_memory_not_equal(&one, &two, sizeof(one));
}

TEST(test_admission__the_oldest_stranger_of_the_source_goes_first)
{
	struct vbd_admission *admission = vbd_admission_create(&few);
	struct vbd_seat seats[6];

	assert_seated(admission, "192.0.2.9", &seats[0], NULL);
	assert_seated(admission, "192.0.2.1", &seats[1], NULL);
	assert_seated(admission, "192.0.2.1", &seats[2], NULL);
	assert_seated(admission, "192.0.2.1", &seats[3], &seats[1]);
	vbd_seat_set_known(&seats[2]);
	assert_seated(admission, "192.0.2.1", &seats[4], &seats[3]);
	assert_seated(admission, "192.0.2.8", &seats[5], NULL);
	assert_seated(admission, "192.0.2.7", &seats[1], &seats[0]);
	for (size_t i = 0; i < VBD_ARRAY_LEN(seats); i++)
		vbd_seat_give_up(admission, &seats[i]);
	vbd_admission_destroy(admission);
}

TEST(test_admission__a_flood_of_one_source_takes_no_seat_of_another)
{
	static const char *const sources[] = {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"};
	struct vbd_admission *admission = vbd_admission_create(&few);
	struct vbd_seat seats[4], flood[4];

	for (size_t i = 0; i < VBD_ARRAY_LEN(seats); i++)
		assert_seated(admission, sources[i], &seats[i], NULL);
	assert_seated(admission, "192.0.2.4", &flood[0], &seats[3]);
	for (size_t i = 1; i < VBD_ARRAY_LEN(flood); i++)
		assert_seated(admission, "192.0.2.4", &flood[i], &flood[i - 1]);
	for (size_t i = 0; i < VBD_ARRAY_LEN(seats); i++)
		vbd_seat_give_up(admission, &seats[i]);
	vbd_seat_give_up(admission, &flood[3]);
	vbd_admission_destroy(admission);
}

TEST(test_admission__a_stranger_that_was_answered_goes_before_one_that_came_first)
{
	struct vbd_admission *admission = vbd_admission_create(&few);
	struct vbd_seat seats[3];

	assert_seated(admission, "192.0.2.1", &seats[0], NULL);
	assert_seated(admission, "192.0.2.1", &seats[1], NULL);
	vbd_seat_set_tried(admission, &seats[1]);
	assert_seated(admission, "192.0.2.1", &seats[2], &seats[1]);
	for (size_t i = 0; i < VBD_ARRAY_LEN(seats); i++)
		vbd_seat_give_up(admission, &seats[i]);
	vbd_admission_destroy(admission);
}

TEST(test_admission__the_known_keep_their_seats_and_others_get_the_reserve)
{
	struct vbd_admission *admission = vbd_admission_create(&few);
	const struct vbd_source_key key = source("192.0.2.1");
	struct vbd_seat seats[5];
	struct vbd_seat *victim;

	for (size_t i = 0; i < 2; i++) {
		assert_seated(admission, "192.0.2.1", &seats[i], NULL);
		vbd_seat_set_known(&seats[i]);
	}
	assert_seated(admission, "192.0.2.1", &seats[2], NULL);
	assert_false(vbd_seat_may_ask(admission, &seats[2]));
	assert_seated(admission, "192.0.2.1", &seats[3], &seats[2]);
	vbd_seat_set_known(&seats[3]);
	assert_false(vbd_seat_take(admission, &key, &seats[4], &victim));
	assert_null(victim);
	assert_false(vbd_seat_may_ask(admission, &seats[3]));
	vbd_seat_give_up(admission, &seats[0]);
	assert_true(vbd_seat_may_ask(admission, &seats[3]));
	assert_true(vbd_seat_may_ask(admission, &seats[3]));
	assert_seated(admission, "192.0.2.1", &seats[4], NULL);
	assert_false(vbd_seat_may_ask(admission, &seats[4]));
	for (size_t i = 0; i < VBD_ARRAY_LEN(seats); i++)
		vbd_seat_give_up(admission, &seats[i]);
	vbd_admission_destroy(admission);
}

TEST(test_admission__a_stranger_leaves_the_reserve_for_a_seat)
{
	struct vbd_admission *admission = vbd_admission_create(&few);
	struct vbd_seat seats[6];

	for (size_t i = 0; i < 2; i++) {
		assert_seated(admission, "192.0.2.1", &seats[i], NULL);
		vbd_seat_set_known(&seats[i]);
	}
	assert_seated(admission, "192.0.2.1", &seats[2], NULL);
	assert_true(seats[2].in_reserve);
	vbd_seat_give_up(admission, &seats[0]);
	assert_true(vbd_seat_may_ask(admission, &seats[2]));
	assert_false(seats[2].in_reserve);
	/* The seat is one of a stranger now, and the reserve is empty. */
	assert_seated(admission, "192.0.2.1", &seats[3], &seats[2]);
	assert_false(seats[3].in_reserve);
	vbd_seat_set_known(&seats[3]);
	assert_seated(admission, "192.0.2.1", &seats[4], NULL);
	assert_seated(admission, "192.0.2.1", &seats[5], &seats[4]);
	assert_true(seats[5].in_reserve);
	/* Others have all their seats. */
	assert_seated(admission, "192.0.2.2", &seats[0], NULL);
	assert_seated(admission, "192.0.2.2", &seats[2], NULL);
	assert_false(seats[2].in_reserve);
	for (size_t i = 0; i < VBD_ARRAY_LEN(seats); i++)
		vbd_seat_give_up(admission, &seats[i]);
	vbd_admission_destroy(admission);
}

TEST(test_admission__strangers_go_by_age_and_those_of_the_reserve_last)
{
	const struct vbd_admission_limits limits = {
		.seats = 2, .seats_per_source = 2, .reserve = 3, .waiting = 8, .feeds = 1};
	struct vbd_admission *admission = vbd_admission_create(&limits);
	struct vbd_seat seats[6];

	for (size_t i = 0; i < 2; i++) {
		assert_seated(admission, "192.0.2.1", &seats[i], NULL);
		vbd_seat_set_known(&seats[i]);
	}
	for (size_t i = 2; i < 5; i++)
		assert_seated(admission, "192.0.2.1", &seats[i], NULL);
	/* A stranger that was answered goes before those that came first. */
	vbd_seat_set_tried(admission, &seats[3]);
	assert_seated(admission, "192.0.2.1", &seats[5], &seats[3]);
	vbd_seat_give_up(admission, &seats[0]);
	assert_seated(admission, "192.0.2.1", &seats[0], NULL);
	assert_false(seats[0].in_reserve);
	assert_ptr_equal(vbd_seat_oldest_stranger(admission), &seats[0]);
	assert_ptr_equal(vbd_seat_oldest_stranger(admission), &seats[2]);
	/* A client that is known is no stranger, in the reserve either. */
	vbd_seat_set_known(&seats[4]);
	vbd_seat_set_tried(admission, &seats[4]);
	assert_ptr_equal(vbd_seat_oldest_stranger(admission), &seats[5]);
	assert_null(vbd_seat_oldest_stranger(admission));
	vbd_seat_give_up(admission, &seats[4]);
	vbd_seat_give_up(admission, &seats[1]);
	vbd_admission_destroy(admission);
}

TEST(test_admission__control_has_a_quarter_and_a_source_half_of_the_waits)
{
	static const char *const sources[] = {"192.0.2.1", "192.0.2.2"};
	struct vbd_admission *admission = vbd_admission_create(&few);
	struct vbd_seat seats[2];

	for (size_t i = 0; i < 2; i++)
		assert_seated(admission, sources[i], &seats[i], NULL);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			vbd_share_take(admission, &seats[0], VBD_SHARE_WAITING, false, NULL),
			VBD_SHARE_GRANTED);
	assert_int_equal(vbd_share_take(admission, &seats[0], VBD_SHARE_WAITING, false, NULL),
		VBD_SHARE_OF_SOURCE);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			vbd_share_take(admission, &seats[1], VBD_SHARE_WAITING, false, NULL),
			VBD_SHARE_GRANTED);
	assert_int_equal(vbd_share_take(admission, &seats[1], VBD_SHARE_WAITING, false, NULL),
		VBD_SHARE_KEPT);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			vbd_share_take(admission, &seats[0], VBD_SHARE_WAITING, true, NULL),
			VBD_SHARE_GRANTED);
	assert_int_equal(vbd_share_take(admission, &seats[0], VBD_SHARE_WAITING, true, NULL),
		VBD_SHARE_USED_UP);
	vbd_share_give_back(admission, &seats[0], VBD_SHARE_WAITING, false, NULL);
	assert_int_equal(vbd_share_take(admission, &seats[1], VBD_SHARE_WAITING, false, NULL),
		VBD_SHARE_GRANTED);
	assert_int_equal(vbd_share_count(admission, VBD_SHARE_WAITING), 8);
	assert_int_equal(vbd_share_take(admission, &seats[1], VBD_SHARE_FEEDS, false, NULL),
		VBD_SHARE_GRANTED);
	for (size_t i = 0; i < 2; i++)
		vbd_seat_give_up(admission, &seats[i]);
	vbd_admission_destroy(admission);
}

/* A caller may come from many addresses. */
TEST(test_admission__a_caller_has_half_of_the_waits_from_all_its_sources)
{
	static const char *const sources[] = {"192.0.2.1", "192.0.2.2"};
	struct vbd_admission *admission = vbd_admission_create(&few);
	uint32_t alice = 0, bob = 0;
	struct vbd_seat seats[2];

	for (size_t i = 0; i < 2; i++)
		assert_seated(admission, sources[i], &seats[i], NULL);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			vbd_share_take(admission, &seats[i % 2], VBD_SHARE_WAITING, false, &alice),
			VBD_SHARE_GRANTED);
	assert_int_equal(alice, 4);
	assert_int_equal(vbd_share_take(admission, &seats[0], VBD_SHARE_WAITING, false, &alice),
		VBD_SHARE_OF_CALLER);
	assert_int_equal(vbd_share_take(admission, &seats[0], VBD_SHARE_WAITING, false, &bob),
		VBD_SHARE_GRANTED);
	vbd_share_give_back(admission, &seats[1], VBD_SHARE_WAITING, false, &alice);
	assert_int_equal(alice, 3);
	assert_int_equal(vbd_share_take(admission, &seats[1], VBD_SHARE_WAITING, false, &alice),
		VBD_SHARE_GRANTED);
	/* The role control is not counted. */
	assert_int_equal(vbd_share_take(admission, &seats[1], VBD_SHARE_WAITING, true, &alice),
		VBD_SHARE_GRANTED);
	vbd_share_give_back(admission, &seats[1], VBD_SHARE_WAITING, true, &alice);
	assert_int_equal(alice, 4);
	for (size_t i = 0; i < 2; i++)
		vbd_seat_give_up(admission, &seats[i]);
	vbd_admission_destroy(admission);
}
