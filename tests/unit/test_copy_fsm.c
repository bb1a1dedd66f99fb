/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies/copy_fsm.h"

#include "tests/unit/unit.h"

#define DOCUMENT  VBD_SOURCE_DIR "/docs/copy-protocol.md"
#define BEGINNING "<!-- the table begins -->\n"
#define ENDING	  "<!-- the table ends -->\n"

static const struct vbd_rule *rule_of(unsigned int state, unsigned int event)
{
	return vbd_copy_rule((enum vbd_copy_state)state, (enum vbd_copy_event)event);
}

static bool is_message(unsigned int event)
{
	return event <= VBD_COPY_EV_SLOT_CAME;
}

static bool is_stopping(unsigned int state)
{
	return state >= VBD_COPY_CLOSING;
}

TEST(test_copy_fsm__every_pair_is_decided)
{
	for (unsigned int state = 0; state < VBD_COPY_STATE_COUNT; state++) {
		for (unsigned int event = 0; event < VBD_COPY_EVENT_COUNT; event++) {
			const struct vbd_rule *rule = rule_of(state, event);

			assert_non_null(rule->note);
			assert_true(rule->note[0] != '\0');
			assert_in_range(rule->next, 0, VBD_COPY_STATE_COUNT - 1);
			assert_in_range(rule->action, 0, VBD_COPY_ACTION_COUNT - 1);
		}
	}
}

static unsigned int reach_next(bool reached[VBD_COPY_STATE_COUNT])
{
	unsigned int found = 0;

	for (unsigned int state = 0; state < VBD_COPY_STATE_COUNT; state++) {
		for (unsigned int event = 0; reached[state] && event < VBD_COPY_EVENT_COUNT;
			event++) {
			found += !reached[rule_of(state, event)->next];
			reached[rule_of(state, event)->next] = true;
		}
	}
	return found;
}

TEST(test_copy_fsm__every_state_can_be_reached_and_every_action_happens)
{
	bool reached[VBD_COPY_STATE_COUNT] = {false};
	bool happens[VBD_COPY_ACTION_COUNT] = {false};

	reached[VBD_COPY_CONNECTING] = reached[VBD_COPY_AWAIT_HELLO] = true;
	while (reach_next(reached))
		continue;
	for (unsigned int state = 0; state < VBD_COPY_STATE_COUNT; state++) {
		assert_true(reached[state]);
		for (unsigned int event = 0; event < VBD_COPY_EVENT_COUNT; event++)
			happens[rule_of(state, event)->action] = true;
	}
	for (unsigned int action = 0; action < VBD_COPY_ACTION_COUNT; action++)
		assert_true(happens[action]);
}

/* The messages that a state expects. The other ones end the copy. */
TEST(test_copy_fsm__a_state_refuses_each_message_that_it_does_not_expect)
{
#define BIT(event) (UINT32_C(1) << VBD_COPY_EV_##event)
	static const uint32_t expected[VBD_COPY_CLOSING] = {
		[VBD_COPY_AWAIT_HELLO] = BIT(HELLO),
		[VBD_COPY_AWAIT_CHALLENGE] = BIT(CHALLENGE),
		[VBD_COPY_AWAIT_PROOF] = BIT(PROOF),
		[VBD_COPY_AWAIT_READY] = BIT(READY),
		[VBD_COPY_AWAIT_START] = BIT(START),
		[VBD_COPY_SENDING] = BIT(WANT) | BIT(FREE) | BIT(FILES_DONE),
		[VBD_COPY_RECEIVING] =
			BIT(ENTRIES) | BIT(SUM) | BIT(DROPPED) | BIT(SLOT_CAME) | BIT(END),
		[VBD_COPY_FINISHING] = BIT(FREE) | BIT(END_OK),
	};

	for (unsigned int state = 0; state < VBD_COPY_CLOSING; state++) {
		for (unsigned int event = 0; is_message(event); event++) {
			const struct vbd_rule *rule = rule_of(state, event);
			bool ends = rule->next == VBD_COPY_STOPPING;

			if (event == VBD_COPY_EV_BYE)
				assert_true(ends && rule->action == VBD_COPY_ACT_STOP);
			else if (expected[state] & UINT32_C(1) << event)
				assert_true(!ends && rule->action != VBD_COPY_ACT_NONE);
			else
				assert_true(ends && rule->action == VBD_COPY_ACT_SEND_BYE);
		}
	}
}

/* Sending and receiving begin behind the checks only, whatever the peer says. */
TEST(test_copy_fsm__no_message_leads_past_a_check)
{
	for (unsigned int state = 0; state < VBD_COPY_STATE_COUNT; state++) {
		for (unsigned int event = 0; event < VBD_COPY_EVENT_COUNT; event++) {
			const struct vbd_rule *rule = rule_of(state, event);
			bool begins = rule->action == VBD_COPY_ACT_BEGIN_SENDING ||
				      rule->action == VBD_COPY_ACT_BEGIN_RECEIVING;

			if (rule->next != state && (rule->next == VBD_COPY_SENDING ||
							   rule->next == VBD_COPY_RECEIVING))
				assert_true(begins);
			if (begins || rule->action == VBD_COPY_ACT_SEND_READY)
				assert_true(state == VBD_COPY_PREPARING && !is_message(event));
			if (rule->next == VBD_COPY_PREPARING && state != VBD_COPY_PREPARING)
				assert_true(rule->action == VBD_COPY_ACT_CHECK_PROOF ||
					    rule->action == VBD_COPY_ACT_CHECK_READY ||
					    rule->action == VBD_COPY_ACT_CHECK_START);
		}
	}
}

TEST(test_copy_fsm__what_may_come_any_time_ends_every_state)
{
	for (unsigned int state = 0; state < VBD_COPY_CLOSING; state++) {
		const struct vbd_rule *gone = rule_of(state, VBD_COPY_EV_DISCONNECTED);

		assert_int_equal(rule_of(state, VBD_COPY_EV_FAIL)->next, VBD_COPY_STOPPING);
		assert_int_equal(rule_of(state, VBD_COPY_EV_CANCEL)->next, VBD_COPY_CANCELLING);
		assert_int_equal(gone->next,
			state == VBD_COPY_CONFIRMING ? VBD_COPY_CLOSING : VBD_COPY_STOPPING);
		assert_int_equal(gone->action, VBD_COPY_ACT_STOP);
	}
}

TEST(test_copy_fsm__what_stops_ends_when_nothing_uses_the_memory)
{
	assert_int_equal(rule_of(VBD_COPY_CLOSING, VBD_COPY_EV_IDLE)->next, VBD_COPY_DONE);
	assert_int_equal(rule_of(VBD_COPY_STOPPING, VBD_COPY_EV_IDLE)->next, VBD_COPY_FAILED);
	assert_int_equal(rule_of(VBD_COPY_CANCELLING, VBD_COPY_EV_IDLE)->next, VBD_COPY_CANCELLED);
	for (unsigned int state = 0; state < VBD_COPY_STATE_COUNT; state++) {
		for (unsigned int event = 0; event < VBD_COPY_EVENT_COUNT; event++) {
			const struct vbd_rule *rule = rule_of(state, event);

			if (is_stopping(state)) {
				assert_int_equal(rule->action, VBD_COPY_ACT_NONE);
				assert_true(rule->next == state || event == VBD_COPY_EV_IDLE);
			} else {
				assert_false(vbd_copy_state_ended(rule->next));
				if (is_stopping(rule->next))
					assert_true(rule->action == VBD_COPY_ACT_STOP ||
						    rule->action == VBD_COPY_ACT_SEND_BYE);
			}
		}
	}
}

TEST(test_copy_fsm__each_message_has_its_event)
{
	for (unsigned int type = 1; type < VBD_COPY_MSG_COUNT; type++) {
		enum vbd_copy_event event = vbd_copy_event_of((enum vbd_copy_message_type)type);

		assert_true(is_message(event));
		if (type != VBD_COPY_MSG_DONE)
			assert_string_equal(vbd_copy_event_name(event),
				vbd_copy_message_name((enum vbd_copy_message_type)type));
	}
	assert_int_equal(vbd_copy_event_of(VBD_COPY_MSG_DONE), VBD_COPY_EV_FILES_DONE);
}

/* The table in the document. */

static bool is_same(const struct vbd_rule *a, const struct vbd_rule *b)
{
	return a->next == b->next && a->action == b->action && strcmp(a->note, b->note) == 0;
}

/* A row for all events with the rule of @first, unless one before has it too. */
static void print_row(FILE *out, unsigned int state, unsigned int first)
{
	const struct vbd_rule *rule = rule_of(state, first);

	for (unsigned int event = 0; event < first; event++) {
		if (is_same(rule_of(state, event), rule))
			return;
	}
	(void)fprintf(out, "| %s | ", vbd_copy_state_name((enum vbd_copy_state)state));
	for (unsigned int event = first; event < VBD_COPY_EVENT_COUNT; event++) {
		if (is_same(rule_of(state, event), rule))
			(void)fprintf(out, "%s%s", event == first ? "" : ", ",
				vbd_copy_event_name((enum vbd_copy_event)event));
	}
	(void)fprintf(out, " | %s | %s | %s |\n", vbd_copy_state_name(rule->next),
		vbd_copy_action_name(rule->action), rule->note);
}

static char *print_table(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	(void)fputs("| state | events | next state | action | why |\n|---|---|---|---|---|\n", out);
	for (unsigned int state = 0; state < VBD_COPY_STATE_COUNT; state++) {
		for (unsigned int event = 0; event < VBD_COPY_EVENT_COUNT; event++)
			print_row(out, state, event);
	}
	(void)fclose(out);
	return text;
}

static char *read_document(void)
{
	FILE *file = fopen(DOCUMENT, "re");
	char *text = NULL;
	size_t room = 0;

	assert_non_null(file);
	assert_true(getdelim(&text, &room, '\0', file) > 0);
	(void)fclose(file);
	return text;
}

TEST(test_copy_fsm__the_document_has_the_table)
{
	char *document = read_document();
	char *table = print_table();
	char *found = strstr(document, BEGINNING);

	assert_non_null(found);
	found += strlen(BEGINNING);
	assert_non_null(strstr(found, ENDING));
	*strstr(found, ENDING) = '\0';
	if (strcmp(found, table) != 0)
		fail_msg("the table in %s is another one; if that of the code is right: "
			 "test_copy_fsm --write",
			DOCUMENT);
	free(document);
	free(table);
}

static int write_document(void)
{
	char *document = read_document();
	char *table = print_table();
	char *begin = strstr(document, BEGINNING), *end = strstr(document, ENDING);
	FILE *file = begin && end ? fopen(DOCUMENT, "we") : NULL;

	if (file) {
		*begin = '\0';
		(void)fprintf(file, "%s%s%s%s", document, BEGINNING, table, end);
		(void)fclose(file);
	}
	free(document);
	free(table);
	return file ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--write") == 0)
		return write_document();
	return unit_run(argc, argv, NULL, NULL);
}
