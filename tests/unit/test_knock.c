/* SPDX-License-Identifier: Apache-2.0 */
/* Against the real kernel: every address of 127.0.0.0/8 is this host. */
#include "rdma/provider/ask.h"

#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define PORT_ROCE 4791

static struct sockaddr_storage four(const char *text)
{
	struct sockaddr_storage addr = {.ss_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, text, &((struct sockaddr_in *)&addr)->sin_addr), 1);
	return addr;
}

/* The socket of a device of RoCE v2 on a host that has one. */
static int open_door(struct sockaddr_storage addr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	((struct sockaddr_in *)&addr)->sin_port = htons(PORT_ROCE);
	assert_true(fd >= 0);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)) == 0)
		return fd;
	(void)close(fd); /* this host has such a device */
	return -1;
}

static void knock_at(const struct sockaddr_storage *src, const struct sockaddr_storage *dst,
	size_t large_bytes, struct vbd_pv_knock *ret_knock)
{
	const struct vbd_pv_question question = {.src = *src, .dst = *dst};
	struct vbd_pv_answer answer;

	vbd_pv_knock(&question, false, large_bytes, ret_knock, &answer);
	assert_int_equal(answer.reply_count, 0);
}

static void test_knock__a_host_that_hears_is_up(void **state)
{
	const struct sockaddr_storage any = {.ss_family = AF_UNSPEC};
	const struct sockaddr_storage host = four("127.83.12.5");
	int door = open_door(host);
	struct vbd_pv_knock knock = {0};

	(void)state;
	knock_at(&any, &host, 0, &knock);
	assert_true(knock.done);
	assert_true(knock.answered);
	assert_true(knock.rtt_ns > 0);
	assert_false(knock.refused);
	assert_false(knock.forbidden);
	if (door >= 0)
		(void)close(door);
}

static void test_knock__a_host_without_a_device_says_so(void **state)
{
	const struct sockaddr_storage src = four("127.0.0.1");
	const struct sockaddr_storage host = four("127.83.12.6");
	int door = open_door(four("0.0.0.0"));
	struct vbd_pv_knock knock = {0};

	(void)state;
	if (door < 0)
		skip();
	(void)close(door);
	knock_at(&src, &host, 0, &knock);
	assert_true(knock.answered);
	assert_true(knock.refused);
}

static void test_knock__large_datagrams_that_come_are_not_lost(void **state)
{
	const struct sockaddr_storage any = {.ss_family = AF_UNSPEC};
	const struct sockaddr_storage host = four("127.83.12.8");
	struct vbd_pv_knock knock = {.large_lost = true};

	(void)state;
	knock_at(&any, &host, 4112, &knock);
	assert_true(knock.answered);
	assert_false(knock.large_lost);
	assert_string_equal(knock.firewall, "");
}

static void test_knock__an_address_that_is_not_reached_is_no_answer(void **state)
{
	const struct sockaddr_storage src = four("127.0.0.1");
	const struct sockaddr_storage host = four("255.255.255.255");
	struct vbd_pv_knock knock = {.answered = true};

	(void)state;
	knock_at(&src, &host, 0, &knock);
	assert_false(knock.answered);
	assert_false(knock.refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_knock__a_host_that_hears_is_up),
		cmocka_unit_test(test_knock__a_host_without_a_device_says_so),
		cmocka_unit_test(test_knock__large_datagrams_that_come_are_not_lost),
		cmocka_unit_test(test_knock__an_address_that_is_not_reached_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
