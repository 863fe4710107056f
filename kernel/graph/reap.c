/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/graph/reap.h"

#include <inttypes.h>

#include "base/text/format.h"
#include "kernel/records/keys.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"

static const char queue_key[] = "reapQueue";
static const char default_key[] = "kernel.defaultReapDirtThreshold";

static json_t *threshold(int64_t value)
{
    return value > 0 ? json_integer(value) : json_string("never");
}

int reap_init(struct kernel *kernel, const struct kernel_options *options, struct error *error)
{
    json_t *thresholds = json_pack("{s:o,s:o}", "deliveries", threshold(options->reap_interval),
                                   "gcKrefs", threshold(options->reap_gc_references));
    int result = thresholds == NULL ? error_memory(error, "a kernel")
                                    : keys_set_json(kernel, default_key, thresholds, error);

    json_decref(thresholds);
    return result == 0 ? keys_set(kernel, queue_key, "[]", error) : -1;
}

int reap_schedule(struct kernel *kernel, int64_t vat, struct error *error)
{
    char id[32];
    bool queued;

    format_text(id, sizeof id, "v%" PRId64, vat);
    if (keys_has_text(kernel, queue_key, id, &queued, error) != 0)
        return -1;
    return queued ? 0 : keys_append_text(kernel, queue_key, id, error);
}

static json_t *make_item(const json_t *vat_id)
{
    return json_pack("{s:s,s:O}", "type", "bringOutYourDead", "vatID", vat_id);
}

int reap_look(struct kernel *kernel, int64_t index, json_t **item, struct error *error)
{
    json_t *queue;
    int result = 0;

    *item = NULL;
    if (keys_get_json(kernel, queue_key, &queue, error) != 0)
        return -1;
    if (index < (int64_t)json_array_size(queue)) {
        *item = make_item(json_array_get(queue, (size_t)index));
        result = *item != NULL ? 0 : error_memory(error, "work");
    }
    json_decref(queue);
    return result;
}

int reap_next(struct kernel *kernel, json_t **item, struct error *error)
{
    json_t *queue;
    int result;
    bool none;

    *item = NULL;
    if (keys_is(kernel, queue_key, "[]", &none, error) != 0)
        return -1;
    if (none)
        return 0;
    if (keys_get_json(kernel, queue_key, &queue, error) != 0)
        return -1;
    *item = make_item(json_array_get(queue, 0));
    json_array_remove(queue, 0);
    result = *item != NULL ? keys_set_json(kernel, queue_key, queue, error)
                           : error_memory(error, "work");
    json_decref(queue);
    return result;
}

static const char *dirt_key(char key[KEYS_NAME_SIZE], int64_t vat)
{
    return keys_name(key, "v%" PRId64 ".reapDirt", vat);
}

/* Adds where a threshold could be reached; whether it is. */
static bool add_one(json_t *dirt, const json_t *own, const json_t *defaults, const char *name,
                    int64_t more)
{
    const json_t *limit = json_object_get(own, name);
    int64_t sum = json_integer_value(json_object_get(dirt, name)) + more;

    if (limit == NULL)
        limit = json_object_get(defaults, name);
    if (more == 0 || !json_is_integer(limit) || json_integer_value(limit) <= 0)
        return false;
    json_object_set_new(dirt, name, json_integer(sum));
    return sum >= json_integer_value(limit);
}

static int add_dirt(struct kernel *kernel, int64_t vat, const struct vat_record *record,
                    int64_t gc_references, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    json_t *defaults = NULL, *dirt = NULL;
    bool due;
    int result = -1;

    if (keys_get_shared_json(kernel, default_key, &defaults, error) != 0 ||
        keys_get_json(kernel, dirt_key(key, vat), &dirt, error) != 0)
        goto out;
    due = add_one(dirt, record->reap_threshold, defaults, "deliveries", 1);
    due = add_one(dirt, record->reap_threshold, defaults, "gcKrefs", gc_references) || due;
    result = keys_set_json(kernel, key, dirt, error);
    if (result == 0 && due)
        result = reap_schedule(kernel, vat, error);
out:
    json_decref(dirt);
    json_decref(defaults);
    return result;
}

int reap_add_dirt(struct kernel *kernel, int64_t vat, int64_t gc_references, struct error *error)
{
    struct vat_reading reading;
    int result = 0;

    if (vat_record_read(kernel, vat, &reading, error) != 0)
        return -1;
    if (reading.record.runtime == KERNEL_VAT_LIVESLOTS)
        result = add_dirt(kernel, vat, &reading.record, gc_references, error);
    vat_record_free(&reading);
    return result;
}

int reap_clear_dirt(struct kernel *kernel, int64_t vat, struct error *error)
{
    char key[KEYS_NAME_SIZE];

    return keys_set(kernel, dirt_key(key, vat), "{}", error);
}
