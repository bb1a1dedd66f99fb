/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/cause.h"

#include "rdma/device/cm_silence.h"
#include "rdma/diagnose/facts.h"
#include "rdma/diagnose/words.h"

#define OUT(sym)  (UINT64_C(1) << VBD_OUTCOME_##sym)
#define CLUE(sym) VBD_CLUE_BIT(VBD_CLUE_##sym)
#define GUEST	  "`rdma.explain`"
#define GUESTS	  "`rdma.explain_two`"
#define UNIT(why) "`unit.test_cause`: " why

_Static_assert(VBD_OUTCOME_COUNT <= 64, "outcomes are the bits of a uint64_t");

struct row {
	const char *name;
	uint64_t outcomes;
	vbd_clue_set needs, against, supports;
	unsigned int weight;
	const char *staged;
	const char *text;
	const char *advice;
};

static const struct row rows[VBD_CAUSE_COUNT] = {
#define ROW(sym, code, outcomes, needs, against, supports, weight, staged, text, advice) \
	[VBD_CAUSE_##sym] = {                                                            \
		code, outcomes, needs, against, supports, weight, staged, text, advice},
	VBD_CAUSE_MAP(ROW)
#undef ROW
};

static unsigned int weight_of(const struct row *row, vbd_clue_set clues)
{
	unsigned int weight = row->weight;

	for (vbd_clue_set left = row->supports & clues; left; left &= left - 1)
		weight += VBD_CAUSE_SUPPORT;
	return weight;
}

static bool is_possible(const struct row *row, unsigned int outcome, vbd_clue_set clues)
{
	return (row->outcomes & UINT64_C(1) << outcome) && (clues & row->needs) == row->needs &&
	       !(clues & row->against);
}

size_t vbd_causes_weigh(unsigned int outcome, vbd_clue_set clues, enum vbd_cause_code *codes)
{
	size_t count = 0;

	for (unsigned int i = 0; i < VBD_CAUSE_COUNT; i++) {
		unsigned int weight = weight_of(&rows[i], clues);
		size_t at = count;

		if (!is_possible(&rows[i], outcome, clues))
			continue;
		for (; at > 0 && weight_of(&rows[codes[at - 1]], clues) < weight; at--)
			codes[at] = codes[at - 1];
		codes[at] = (enum vbd_cause_code)i;
		count++;
	}
	return count;
}

static void tell(enum vbd_cause_code code, vbd_clue_set clues, const struct vbd_facts *facts,
	struct vbd_diagnosis *diagnosis)
{
	const struct row *row = &rows[code];

	diagnosis->code = code;
	diagnosis->evidence = clues & (row->needs | row->supports);
	(void)vbd_words_fill(row->text, facts, diagnosis->text, sizeof(diagnosis->text));
	(void)vbd_words_fill(row->advice, facts, diagnosis->advice, sizeof(diagnosis->advice));
}

void vbd_causes_judge(const struct vbd_facts *facts, struct vbd_diagnoses *ret_diagnoses)
{
	enum vbd_cause_code codes[VBD_CAUSE_COUNT];
	vbd_clue_set clues = vbd_clues_find(facts);
	size_t count = vbd_causes_weigh(facts->incident.outcome, clues, codes);

	ret_diagnoses->count = 0;
	for (size_t i = 0; i < count && ret_diagnoses->count < VBD_DIAGNOSES_MAX; i++) {
		if (i && rows[codes[i]].weight < VBD_CAUSE_LAST_RESORT)
			break;
		tell(codes[i], clues, facts, &ret_diagnoses->items[ret_diagnoses->count++]);
	}
}

const char *vbd_cause_name(enum vbd_cause_code code)
{
	return rows[code].name;
}

const char *vbd_cause_text(enum vbd_cause_code code)
{
	return rows[code].text;
}

const char *vbd_cause_advice(enum vbd_cause_code code)
{
	return rows[code].advice;
}

const char *vbd_cause_staged(enum vbd_cause_code code)
{
	return rows[code].staged;
}
