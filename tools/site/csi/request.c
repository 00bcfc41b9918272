/* SPDX-License-Identifier: MIT */
/* Walks over the fields of a message, and of the messages in it. */
#include "csi/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

/* Numbers of fields in csi.proto, version 1. */
enum { PUBLISH_VOLUME = 1, PUBLISH_TARGET = 4, PUBLISH_CAPABILITY = 5, PUBLISH_CONTEXT = 8 };
enum { TARGET_VOLUME = 1, TARGET_PATH = 2 };
enum { CAPABILITY_BLOCK = 1, CAPABILITY_MOUNT = 2 };
enum { MOUNT_FLAGS = 2 };
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };
/* And in the kubelet's pluginregistration. */
enum { STATUS_REGISTERED = 1, STATUS_REASON = 2 };

typedef int request_visit(struct request *request, const struct wire_field *field, struct error *err);

static int request_each(struct span message, request_visit *visit, struct request *request, struct error *err)
{
	struct wire_field field;
	int r;

	while ((r = wire_next(&message, &field, err)) > 0) {
		r = visit(request, &field, err);
		if (r < 0)
			return r;
	}
	return r;
}

/* Takes a text; of one that comes twice the last counts, as everywhere in protocol buffers. */
static int request_take(char **place, const struct wire_field *field, struct error *err)
{
	char *text;
	int r = wire_text(field, REQUEST_TEXT_MOST, &text, err);

	if (r < 0)
		return r;
	free(*place);
	*place = text;
	return 0;
}

/* Reads the message within a field. */
static int request_enter(const struct wire_field *field, request_visit *visit, struct request *request,
			 struct error *err)
{
	if (field->kind != WIRE_BYTES)
		return error_set(err, -EBADMSG, "field %u is no message", field->number);
	return request_each(field->bytes, visit, request, err);
}

/* ---- attributes ---- */

static int request_pair_field(struct request *request, const struct wire_field *field, struct error *err)
{
	struct request_pair *pair = &request->attributes[request->attribute_count];

	if (field->number == PAIR_KEY)
		return request_take(&pair->key, field, err);
	return field->number == PAIR_VALUE ? request_take(&pair->value, field, err) : 0;
}

static bool request_has(const struct request *request, const char *key)
{
	for (size_t i = 0; i < request->attribute_count; i++)
		if (!strcmp(request->attributes[i].key, key))
			return true;
	return false;
}

static int request_default(char **place, struct error *err)
{
	if (!*place)
		*place = strdup("");
	return *place ? 0 : error_no_memory(err);
}

static int request_add_attribute(struct request *request, const struct wire_field *field, struct error *err)
{
	struct request_pair *pair;
	int r;

	if (request->attribute_count == REQUEST_PAIRS)
		return error_set(err, -EBADMSG, "the volume has more than %u attributes", REQUEST_PAIRS);
	r = grow_one(request->attributes, request->attribute_count, err);
	if (r < 0)
		return r;
	pair = &request->attributes[request->attribute_count];
	*pair = (struct request_pair){ 0 };
	r = request_enter(field, request_pair_field, request, err);
	if (r == 0)
		r = request_default(&pair->key, err);
	if (r == 0)
		r = request_default(&pair->value, err);
	if (r == 0 && request_has(request, pair->key))
		r = error_set(err, -EBADMSG, "the volume has an attribute twice");
	if (r < 0) {
		free(pair->key);
		free(pair->value);
		return r;
	}
	request->attribute_count++;
	return 0;
}

/* ---- the requests ---- */

static int request_mount_field(struct request *request, const struct wire_field *field, struct error *err)
{
	int r;

	if (field->number != MOUNT_FLAGS)
		return 0;
	if (request->flag_count == REQUEST_PAIRS)
		return error_set(err, -EBADMSG, "the volume has more than %u mount options", REQUEST_PAIRS);
	r = grow_one(request->flags, request->flag_count, err);
	if (r < 0)
		return r;
	request->flags[request->flag_count] = NULL;
	r = request_take(&request->flags[request->flag_count], field, err);
	if (r == 0)
		request->flag_count++;
	return r;
}

static int request_capability_field(struct request *request, const struct wire_field *field, struct error *err)
{
	request->is_block |= field->number == CAPABILITY_BLOCK;
	return field->number == CAPABILITY_MOUNT ? request_enter(field, request_mount_field, request, err) : 0;
}

static int request_publish_field(struct request *request, const struct wire_field *field, struct error *err)
{
	switch (field->number) {
	case PUBLISH_VOLUME:
		return request_take(&request->volume, field, err);
	case PUBLISH_TARGET:
		return request_take(&request->target, field, err);
	case PUBLISH_CAPABILITY:
		request->has_capability = true;
		return request_enter(field, request_capability_field, request, err);
	case PUBLISH_CONTEXT:
		return request_add_attribute(request, field, err);
	}
	return 0;
}

static int request_target_field(struct request *request, const struct wire_field *field, struct error *err)
{
	if (field->number == TARGET_VOLUME)
		return request_take(&request->volume, field, err);
	return field->number == TARGET_PATH ? request_take(&request->target, field, err) : 0;
}

static int request_read(struct span message, request_visit *visit, struct request *ret, struct error *err)
{
	struct request request = { 0 };
	int r = request_each(message, visit, &request, err);

	if (r < 0)
		request_free(&request);
	else
		*ret = request;
	return r;
}

int request_publish(struct span message, struct request *ret, struct error *err)
{
	return request_read(message, request_publish_field, ret, err);
}

int request_target(struct span message, struct request *ret, struct error *err)
{
	return request_read(message, request_target_field, ret, err);
}

void request_free(struct request *request)
{
	for (size_t i = 0; i < request->attribute_count; i++) {
		free(request->attributes[i].key);
		free(request->attributes[i].value);
	}
	for (size_t i = 0; i < request->flag_count; i++)
		free(request->flags[i]);
	free(request->attributes);
	free(request->flags);
	free(request->volume);
	free(request->target);
	*request = (struct request){ 0 };
}

int request_status(struct span message, char **ret_reason, struct error *err)
{
	auto_free char *reason = NULL;
	struct wire_field field;
	bool is_registered = false;
	int r;

	while ((r = wire_next(&message, &field, err)) > 0) {
		if (field.number == STATUS_REGISTERED)
			is_registered = field.kind == WIRE_VARINT && field.value;
		else if (field.number == STATUS_REASON && (r = request_take(&reason, &field, err)) < 0)
			return r;
	}
	if (r == 0 && !is_registered)
		r = request_default(&reason, err);
	if (r == 0)
		*ret_reason = is_registered ? NULL : take_ptr(&reason);
	return r;
}
