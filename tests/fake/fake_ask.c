/* SPDX-License-Identifier: Apache-2.0 */
/* Questions by SIDR to a verbsd, which is this program. */
#include "tests/fake/fake.h"

#include "base/thread.h"

#include <pthread.h>

struct vbd_pv_ask {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool replied;
	struct vbd_pv_answer answer;
};

static struct fake_id *first_listener(struct sockaddr_storage *dst)
{
	struct fake_id *listener = NULL;

	for (unsigned int i = 0; i < VBD_PV_REPORT_PORTS && !listener; i++) {
		((struct sockaddr_in *)dst)->sin_port = htons((uint16_t)(VBD_PV_REPORT_PORT + i));
		listener = fake_listener_on((const struct sockaddr *)dst);
	}
	return listener && fake_id_is_ud(listener) && listener->device ? listener : NULL;
}

static void push(struct vbd_pv_ask *ask, const struct vbd_pv_question *question)
{
	const struct rdma_conn_param param = {
		.private_data = question->bytes,
		.private_data_len = question->count,
	};
	struct sockaddr_storage dst = question->dst;
	struct fake_id *listener = first_listener(&dst);

	ask->answer.asked = true;
	g_fake.questions++;
	if (g_fake.peers_mute)
		return;
	ask->answer.answered = true;
	if (!listener)
		return;
	fake_request_push(listener, listener->device, (const struct sockaddr *)&dst,
		(const struct sockaddr *)&question->src, &param)
		->ask = ask;
	ask->answer.answered = false;
}

static struct vbd_pv_ask *begin(const struct vbd_pv_question *question)
{
	struct vbd_pv_ask *ask;

	fake_lock();
	if (!g_fake.loopback || !question->count) {
		fake_unlock();
		return NULL;
	}
	ask = fake_allocate(sizeof(*ask));
	(void)pthread_mutex_init(&ask->lock, NULL);
	vbd_cond_init(&ask->changed);
	push(ask, question);
	ask->replied = ask->answer.answered;
	fake_unlock();
	return ask;
}

void fake_ask_replied(struct vbd_pv_ask *ask, const uint8_t *bytes, uint8_t count)
{
	(void)pthread_mutex_lock(&ask->lock);
	ask->replied = true;
	ask->answer.answered = true;
	ask->answer.reply_count = 1;
	ask->answer.replies[0].count = count;
	memcpy(ask->answer.replies[0].bytes, bytes, count);
	(void)pthread_cond_signal(&ask->changed);
	(void)pthread_mutex_unlock(&ask->lock);
}

static void end(struct vbd_pv_ask *ask, unsigned int within_ms, struct vbd_pv_answer *ret_answer)
{
	struct timespec until = vbd_cond_deadline(within_ms);

	*ret_answer = (struct vbd_pv_answer){0};
	if (!ask)
		return;
	(void)pthread_mutex_lock(&ask->lock);
	while (!ask->replied && pthread_cond_timedwait(&ask->changed, &ask->lock, &until) == 0)
		;
	(void)pthread_mutex_unlock(&ask->lock);
	fake_lock();
	vbd_list_for_each (link, &g_fake.ids) {
		struct fake_id *id = VBD_CONTAINER_OF(link, struct fake_id, link);

		if (id->ask == ask)
			id->ask = NULL;
	}
	fake_unlock();
	*ret_answer = ask->answer;
	(void)pthread_cond_destroy(&ask->changed);
	(void)pthread_mutex_destroy(&ask->lock);
	free(ask);
}

void vbd_pv_ask(const struct vbd_pv_question *question, struct vbd_pv_answer *ret_answer)
{
	end(begin(question), VBD_PV_ASK_MS, ret_answer);
}

bool vbd_pv_tell(
	const struct vbd_pv_question *questions, unsigned int count, unsigned int within_ms)
{
	struct vbd_pv_ask **asks = fake_allocate(count * sizeof(struct vbd_pv_ask *));
	bool all = true;

	/* However slowly the machine runs the tests: a peer that is not mute answers. */
	fake_lock();
	within_ms = g_fake.peers_mute ? within_ms : VBD_PV_ASK_MS;
	fake_unlock();
	for (unsigned int i = 0; i < count; i++)
		asks[i] = begin(&questions[i]);
	for (unsigned int i = 0; i < count; i++) {
		struct vbd_pv_answer answer;

		/* The others have had the same time. */
		end(asks[i], all ? within_ms : 0, &answer);
		all = all && (!asks[i] || answer.answered);
	}
	free(asks);
	return all;
}

unsigned int fake_questions(void)
{
	unsigned int questions;

	fake_lock();
	questions = g_fake.questions;
	fake_unlock();
	return questions;
}

void fake_peers_mute(bool mute)
{
	fake_lock();
	g_fake.peers_mute = mute;
	fake_unlock();
}
