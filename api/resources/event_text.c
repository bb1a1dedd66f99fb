/* SPDX-License-Identifier: Apache-2.0 */

#include "api/json/writer.h"
#include "api/resources/common_json.h"
#include "api/resources/event_query.h"
#include "daemon/daemon.h"

struct vbd_event_text *vbd_event_text_print(const char *fmt, ...)
{
	struct vbd_event_text *text = malloc(sizeof(*text));
	va_list ap;
	int len = -1;

	if (!text)
		return NULL;
	va_start(ap, fmt);
	len = vasprintf(&text->bytes, fmt, ap);
	va_end(ap);
	if (len < 0) {
		free(text);
		return NULL;
	}
	text->refs = 1;
	text->len_bytes = (size_t)len;
	return text;
}

void vbd_event_text_unref(struct vbd_event_text *text)
{
	if (!text || --text->refs)
		return;
	free(text->bytes);
	free(text);
}

static struct vbd_event_text *encode(const struct vbd_daemon *daemon, const struct vbd_event *event)
{
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_event_text *text = NULL;
	size_t len;
	char *data;

	vbd_put_event(&out, daemon, event);
	data = vbd_encode_end(&out, &len);
	if (data)
		text = vbd_event_text_print("id: %s-%" PRIu64 "\ndata: %s\n\n",
			vbd_event_run(daemon, event), event->seq, data);
	free(data);
	return text;
}

struct vbd_event_text *vbd_event_text_of(struct vbd_event_texts *texts,
	const struct vbd_daemon *daemon, const struct vbd_event *event)
{
	const size_t at = event->seq % VBD_EVENT_TEXTS;

	if (!texts->slots[at].text || texts->slots[at].seq != event->seq) {
		struct vbd_event_text *text = encode(daemon, event);

		if (!text)
			return NULL;
		vbd_event_text_unref(texts->slots[at].text);
		texts->slots[at].seq = event->seq;
		texts->slots[at].text = text;
	}
	texts->slots[at].text->refs++;
	return texts->slots[at].text;
}

void vbd_event_texts_fini(struct vbd_event_texts *texts)
{
	for (size_t i = 0; i < VBD_EVENT_TEXTS; i++) {
		vbd_event_text_unref(texts->slots[i].text);
		texts->slots[i].text = NULL;
	}
}
