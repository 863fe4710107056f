/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/span/cut_vat.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/json_value.h"
#include "supervisor/transcript/recorded_entry.h"

struct cut_vat *cut_vat_new(struct scan_span id, struct error *error)
{
    struct cut_vat *vat = calloc(1, sizeof *vat);

    if (vat != NULL && (vat->id = strndup(id.at, id.length)) != NULL &&
        (vat->bundles = json_array()) != NULL)
        return vat;
    cut_vat_free(vat);
    error_memory(error, "a vat");
    return NULL;
}

void cut_vat_free(struct cut_vat *vat)
{
    if (vat == NULL)
        return;
    free(vat->id);
    buf_free(&vat->name);
    buf_free(&vat->create);
    json_decref(vat->own_bundle);
    json_decref(vat->bundles);
    object_writer_free(&vat->writer);
    free(vat);
}

static int cut_vat_begin(struct cut_vat *vat, struct error *error)
{
    vat->is_open = true;
    vat->first = vat->last = vat->deliveries = 0;
    if (vat->own_bundle != NULL && json_array_append(vat->bundles, vat->own_bundle) != 0)
        return error_memory(error, "a span");
    if (object_writer_open(&vat->writer, error) != 0)
        return -1;
    return object_writer_add(&vat->writer, vat->create.data, vat->create.length, error);
}

int cut_vat_put(struct cut_vat *vat, const struct buf *lines, struct error *error)
{
    if (buf_failed(lines) || buf_failed(&vat->create))
        return error_memory(error, "a span");
    if (!vat->is_open && cut_vat_begin(vat, error) != 0)
        return -1;
    return object_writer_add(&vat->writer, lines->data, lines->length, error);
}

int cut_vat_put_delivery(struct cut_vat *vat, const struct source_event *event,
                         struct scan_span fingerprint, struct error *error)
{
    const struct recorded_entry entry = {
        .delivery_num = event->delivery_num, .replay = event->replay, .fingerprint = fingerprint};
    struct buf line = {0};
    int result;

    recorded_entry_put(&line, event->delivery, &entry);
    result = cut_vat_put(vat, &line, error);
    buf_free(&line);
    if (result != 0)
        return -1;
    if (vat->deliveries++ == 0)
        vat->first = event->delivery_num;
    vat->last = event->delivery_num;
    return 0;
}

/* A name as JSON has it, to be freed. */
static char *read_name(const struct buf *name)
{
    struct buf text = {0};
    char *copy = NULL;

    scan_unescape((struct scan_span){name->data, name->length}, &text);
    if (buf_string(&text) != NULL)
        copy = text.data;
    return copy;
}

static int hand_over(struct cut_vat *vat, const struct fleet_cut_target *target,
                     struct error *error)
{
    char transcript[FLEET_HASH_SIZE];
    char *name = read_name(&vat->name);
    struct fleet_cut_span span = {
        .vat_id = vat->id,
        .vat = name,
        .first = vat->first,
        .end = vat->last + 1,
        .deliveries = vat->deliveries,
        .transcript = transcript,
        .snapshot = vat->snapshot,
        .bundles = vat->bundles,
    };
    int result = name != NULL ? 0 : error_memory(error, "a vat's name");

    if (result == 0)
        result = object_writer_put(&vat->writer, target->transport, transcript, error);
    if (result == 0)
        result = target->add(target->context, &span, error);
    free(name);
    return result;
}

int cut_vat_end(struct cut_vat *vat, const struct fleet_cut_target *target, struct error *error)
{
    int result = 0;

    if (vat->is_open && vat->deliveries > 0)
        result = hand_over(vat, target, error);
    object_writer_free(&vat->writer);
    vat->is_open = false;
    vat->snapshot[0] = '\0';
    (void)json_array_clear(vat->bundles); /* it is an array */
    return result;
}

int cut_vat_need_bundle(struct cut_vat *vat, const char *object, const char *for_vat,
                        struct error *error)
{
    json_t *bundle = json_pack("{s:s,s:s}", "object", object, "vat", for_vat);

    return bundle != NULL && json_array_append_new(vat->bundles, bundle) == 0
               ? 0
               : error_memory(error, "a span");
}
