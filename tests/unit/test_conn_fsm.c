/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_fsm.h"

#include "rdma/conn/timeline.h"
#include "rdma/data/transfer.h"
#include "rdma/device/op.h"
#include "rdma/names/reason.h"
#include "tests/unit/openapi.h"
#include "tests/unit/unit.h"

/* The names of a table, in its order. */
struct names {
	const char *values[OPENAPI_ENUM_MAX];
	size_t count;
};

static void add_name(struct names *names, const char *name)
{
	assert_non_null(name);
	assert_true(name[0] != '\0');
	for (size_t i = 0; i < names->count; i++)
		assert_string_not_equal(names->values[i], name);
	names->values[names->count++] = name;
}

/* Asserts equal sets of values; the contract may list them in another order. */
static void assert_same(const struct names *names, const struct openapi_enum *contract)
{
	for (size_t i = 0; i < names->count; i++) {
		if (!openapi_enum_has(contract, names->values[i]))
			fail_msg("openapi.yaml does not know \"%s\"", names->values[i]);
	}
	assert_int_equal(names->count, contract->count);
}

TEST(test_conn_fsm__every_pair_is_decided)
{
	for (unsigned int state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		for (unsigned int event = 0; event < VBD_CONN_EVENT_COUNT; event++) {
			const struct vbd_rule *rule = vbd_conn_rule(
				(enum vbd_conn_state)state, (enum vbd_conn_event)event);

			if (!rule->note || rule->note[0] == '\0')
				fail_msg("%s on %s is not decided",
					vbd_conn_state_name((enum vbd_conn_state)state),
					vbd_conn_event_name((enum vbd_conn_event)event));
			assert_in_range(rule->next, 0, VBD_CONN_STATE_COUNT - 1);
			assert_in_range(rule->action, 0, VBD_CONN_ACTION_COUNT - 1);
		}
	}
}

TEST(test_conn_fsm__what_changes_nothing_does_nothing)
{
	for (unsigned int state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		for (unsigned int event = 0; event < VBD_CONN_EVENT_COUNT; event++) {
			const struct vbd_rule *rule = vbd_conn_rule(
				(enum vbd_conn_state)state, (enum vbd_conn_event)event);
			bool idle = rule->action == VBD_CONN_DO_IGNORE ||
				    rule->action == VBD_CONN_DO_REFUSE ||
				    rule->action == VBD_CONN_DO_COUNT ||
				    rule->action == VBD_CONN_DO_NAME_CAUSE ||
				    rule->action == VBD_CONN_DO_NOTIFY ||
				    rule->action == VBD_CONN_DO_GO_RTR ||
				    rule->action == VBD_CONN_DO_CONNECT ||
				    rule->action == VBD_CONN_DO_BRING_UP ||
				    rule->action == VBD_CONN_DO_OPEN ||
				    rule->action == VBD_CONN_DO_ACCEPT ||
				    rule->action == VBD_CONN_DO_GO_ON ||
				    rule->action == VBD_CONN_DO_MOVE_QP ||
				    rule->action == VBD_CONN_DO_PARKED ||
				    rule->action == VBD_CONN_DO_REST ||
				    rule->action == VBD_CONN_DO_FORCE;

			/* A QP may be moved to ERR before it was ever in RTS; a try retreats into
			 * a state, and goes on with its retreat there. */
			if (rule->action != VBD_CONN_DO_PARK && rule->action != VBD_CONN_DO_RETREAT)
				assert_int_equal(rule->next == state, idle);
		}
	}
}

TEST(test_conn_fsm__an_ended_connection_stays_ended)
{
	for (unsigned int state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		bool terminal = vbd_conn_state_terminal((enum vbd_conn_state)state);

		assert_int_equal(terminal, state == VBD_CONN_CLOSED || state == VBD_CONN_FAILED);
		for (unsigned int event = 0; terminal && event < VBD_CONN_EVENT_COUNT; event++)
			assert_int_equal(vbd_conn_rule((enum vbd_conn_state)state,
						 (enum vbd_conn_event)event)
						 ->next,
				state);
	}
}

/* A state with a QP drains it; a state without one does not; an ended state has no QP. */
TEST(test_conn_fsm__a_qp_is_never_left_behind)
{
	for (unsigned int state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		bool has_qp = state == VBD_CONN_CONNECTING || state == VBD_CONN_RETRYING ||
			      state == VBD_CONN_ACCEPTING || state == VBD_CONN_AWAITING_REMOTE ||
			      state == VBD_CONN_ESTABLISHED || state == VBD_CONN_DRAINING;

		for (unsigned int event = 0; event < VBD_CONN_EVENT_COUNT; event++) {
			const struct vbd_rule *rule = vbd_conn_rule(
				(enum vbd_conn_state)state, (enum vbd_conn_event)event);

			if (has_qp && vbd_conn_state_terminal(rule->next))
				assert_int_equal(rule->action, VBD_CONN_DO_FINISH);
			if (!has_qp) {
				assert_int_not_equal(rule->action, VBD_CONN_DO_DRAIN);
				assert_int_not_equal(rule->action, VBD_CONN_DO_FINISH);
				assert_int_not_equal(rule->action, VBD_CONN_DO_FORCE);
			}
		}
	}
}

/* Events from kernel, peer and operator can come in every state. */
TEST(test_conn_fsm__what_may_come_any_time_ends_every_open_state)
{
	static const enum vbd_conn_event any_time[] = {
		VBD_CONN_EV_UNREACHABLE,
		VBD_CONN_EV_REJECTED,
		VBD_CONN_EV_DISCONNECTED,
		VBD_CONN_EV_DEVICE_REMOVAL,
		VBD_CONN_EV_UNEXPECTED_CM,
		VBD_CONN_EV_CALL_FAILED,
		VBD_CONN_EV_CMD_CLOSE,
		VBD_CONN_EV_SHUTDOWN,
	};

	for (unsigned int state = 0; state < VBD_CONN_DRAINING; state++) {
		for (size_t i = 0; i < VBD_ARRAY_LEN(any_time); i++) {
			enum vbd_conn_state next =
				vbd_conn_rule((enum vbd_conn_state)state, any_time[i])->next;

			/* The try has failed already: only a command ends the next ones. */
			if (state == VBD_CONN_RETRYING && any_time[i] < VBD_CONN_EV_CMD_ACCEPT) {
				assert_int_equal(next, VBD_CONN_RETRYING);
				continue;
			}

			assert_true(next == VBD_CONN_DRAINING || vbd_conn_state_terminal(next));
		}
	}
}

TEST(test_conn_fsm__every_waiting_state_has_a_deadline)
{
	for (unsigned int state = 0; state < VBD_CONN_DRAINING; state++) {
		const struct vbd_rule *rule =
			vbd_conn_rule((enum vbd_conn_state)state, VBD_CONN_EV_DEADLINE);

		if (state != VBD_CONN_ESTABLISHED && state != VBD_CONN_RETRYING)
			assert_int_not_equal(rule->next, state);
	}
	assert_int_equal(
		vbd_conn_rule(VBD_CONN_RETRYING, VBD_CONN_EV_DEADLINE)->action, VBD_CONN_DO_FORCE);
	assert_int_equal(
		vbd_conn_rule(VBD_CONN_DRAINING, VBD_CONN_EV_DEADLINE)->action, VBD_CONN_DO_FORCE);
}

TEST(test_conn_fsm__only_a_request_can_be_decided)
{
	for (unsigned int state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		bool refused = state != VBD_CONN_REQUESTED;

		assert_int_equal(
			vbd_conn_rule((enum vbd_conn_state)state, VBD_CONN_EV_CMD_ACCEPT)->action ==
				VBD_CONN_DO_REFUSE,
			refused);
		assert_int_equal(
			vbd_conn_rule((enum vbd_conn_state)state, VBD_CONN_EV_CMD_REJECT)->action ==
				VBD_CONN_DO_REFUSE,
			refused);
	}
}

TEST(test_conn_fsm__only_where_a_qp_waits_for_a_client_is_it_moved_by_hand)
{
	for (unsigned int state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		bool movable = state == VBD_CONN_AWAITING_REMOTE || state == VBD_CONN_ESTABLISHED;

		assert_int_equal(
			vbd_conn_rule((enum vbd_conn_state)state, VBD_CONN_EV_CMD_MOVE)->action,
			movable ? VBD_CONN_DO_MOVE_QP : VBD_CONN_DO_REFUSE);
	}
}

TEST(test_conn_fsm__the_states_are_those_of_the_contract)
{
	struct openapi_enum contract;
	struct names names = {0};

	for (unsigned int i = 0; i < VBD_CONN_STATE_COUNT; i++) {
		add_name(&names, vbd_conn_state_name((enum vbd_conn_state)i));
		assert_true(vbd_conn_state_waits_for((enum vbd_conn_state)i)[0] != '\0');
	}
	openapi_read_enum("ConnectionState", &contract);
	assert_same(&names, &contract);
}

TEST(test_conn_fsm__events_and_actions_have_names_of_their_own)
{
	struct names names = {0};

	for (unsigned int i = 0; i < VBD_CONN_EVENT_COUNT; i++)
		add_name(&names, vbd_conn_event_name((enum vbd_conn_event)i));
	names.count = 0;
	for (unsigned int i = 0; i < VBD_CONN_ACTION_COUNT; i++)
		add_name(&names, vbd_conn_action_name((enum vbd_conn_action)i));
}

TEST(test_conn_fsm__the_other_names_are_those_of_the_contract)
{
	struct openapi_enum contract;
	struct names names = {0};

	for (unsigned int i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++)
		add_name(&names, vbd_reason_name((enum vbd_reason)i));
	openapi_read_enum("EndReason", &contract);
	assert_same(&names, &contract);

	names.count = 0;
	for (unsigned int i = 0; i < VBD_TRANSFER_STATE_COUNT; i++)
		add_name(&names, vbd_transfer_state_name((enum vbd_transfer_state)i));
	openapi_read_property_enum("Transfer", "state", &contract);
	assert_same(&names, &contract);

	names.count = 0;
	for (unsigned int i = 0; i < VBD_SERVICE_COUNT; i++)
		add_name(&names, vbd_service_name((enum vbd_service)i));
	openapi_read_enum("Service", &contract);
	assert_same(&names, &contract);

	names.count = 0;
	for (unsigned int i = 0; i < VBD_TIMELINE_KIND_COUNT; i++)
		add_name(&names, vbd_timeline_kind_name((enum vbd_timeline_kind)i));
	openapi_read_property_enum("TimelineEntry", "kind", &contract);
	assert_same(&names, &contract);
}

TEST(test_conn_fsm__the_ops_of_a_transfer_are_those_of_the_contract)
{
	struct openapi_enum contract;
	struct names names = {0};

	/* Clients can't request the operations on memory windows as a transfer. */
	for (unsigned int i = 0; i < VBD_OP_BIND_WINDOW; i++)
		add_name(&names, vbd_op_name((enum vbd_op)i));
	openapi_read_enum("TransferOp", &contract);
	assert_same(&names, &contract);
}

/* The golden table. */

static int print_pair(char *line, size_t line_bytes, unsigned int state, unsigned int event)
{
	const struct vbd_rule *rule =
		vbd_conn_rule((enum vbd_conn_state)state, (enum vbd_conn_event)event);

	return snprintf(line, line_bytes, "%s %s -> %s %s\n",
		vbd_conn_state_name((enum vbd_conn_state)state),
		vbd_conn_event_name((enum vbd_conn_event)event), vbd_conn_state_name(rule->next),
		vbd_conn_action_name(rule->action));
}

static void print_table(void)
{
	char line[200];

	for (unsigned int state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		for (unsigned int event = 0; event < VBD_CONN_EVENT_COUNT; event++) {
			(void)print_pair(line, sizeof(line), state, event);
			(void)fputs(line, stdout);
		}
	}
}

TEST(test_conn_fsm__the_table_equals_the_reviewed_one)
{
	FILE *golden = fopen(VBD_SOURCE_DIR "/tests/unit/conn_fsm.golden", "r");
	char expected[200];
	char line[200];

	assert_non_null(golden);
	for (unsigned int state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		for (unsigned int event = 0; event < VBD_CONN_EVENT_COUNT; event++) {
			(void)print_pair(line, sizeof(line), state, event);
			if (!fgets(expected, sizeof(expected), golden))
				expected[0] = '\0';
			if (strcmp(line, expected) != 0)
				fail_msg("the table says \"%s\", the golden file \"%s\"; if the "
					 "table is right: test_conn_fsm --print "
					 ">tests/unit/conn_fsm.golden",
					line, expected);
		}
	}
	assert_null(fgets(expected, sizeof(expected), golden));
	(void)fclose(golden);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--print") == 0) {
		print_table();
		return 0;
	}
	return unit_run(argc, argv, NULL, NULL);
}
