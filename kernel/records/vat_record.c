/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/vat_record.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/format.h"
#include "kernel/records/keys.h"
#include "kernel/records/limits.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"

enum { FIRST_OBJECT = 50, FIRST_PROMISE = 60, FIRST_DEVICE = 70, FIRST_DELIVERY = 1 };

static const char *const runtimes[] = {
    [KERNEL_VAT_PLAIN] = "plain",
    [KERNEL_VAT_LIVESLOTS] = "liveslots",
};

static const char *vat_field(char key[KEYS_NAME_SIZE], int64_t vat, const char *name)
{
    return keys_vat_part(key, vat, ".", name);
}

static const char *vat_record_id(char id[32], int64_t vat)
{
    format_text(id, 32, "v%" PRId64, vat);
    return id;
}

int vat_record_take_number(struct kernel *kernel, int64_t *vat, struct error *error)
{
    return keys_take_number(kernel, "vat.nextID", vat, error);
}

static int set_next_ids(struct kernel *kernel, int64_t vat, struct error *error)
{
    char key[KEYS_NAME_SIZE];

    if (keys_set_number(kernel, vat_field(key, vat, "o.nextID"), FIRST_OBJECT, error) != 0 ||
        keys_set_number(kernel, vat_field(key, vat, "p.nextID"), FIRST_PROMISE, error) != 0)
        return -1;
    return keys_set_number(kernel, vat_field(key, vat, "d.nextID"), FIRST_DEVICE, error);
}

/* Takes over the value. */
static int set_new_json(struct kernel *kernel, int64_t vat, const char *name, json_t *value,
                        struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int result;

    if (value == NULL)
        return error_memory(error, "a vat's record");
    result = keys_set_json(kernel, vat_field(key, vat, name), value, error);
    json_decref(value);
    return result;
}

int vat_record_set_bundle(struct kernel *kernel, int64_t vat, const char *bundle_id,
                          struct error *error)
{
    return set_new_json(kernel, vat, "source", json_pack("{s:s}", "bundleID", bundle_id), error);
}

static json_t *make_options(const struct vat_record *record)
{
    json_t *threshold =
        record->reap_threshold != NULL ? json_deep_copy(record->reap_threshold) : json_object();
    json_t *options =
        json_pack("{s:s,s:s,s:o,s:b}", "name", record->name, "runtime", runtimes[record->runtime],
                  "reapDirtThreshold", threshold, "critical", record->critical);

    if (options != NULL && record->meter_id != NULL)
        json_object_set_new(options, "meterID", json_string(record->meter_id));
    return options;
}

int vat_record_create(struct kernel *kernel, int64_t vat, const struct vat_record *record,
                      struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct vat_position start = {.delivery_num = FIRST_DELIVERY};
    struct kernel_limits limits = kernel->limits;

    if (record->brings_limit)
        limits.compute = 0;

    if (set_next_ids(kernel, vat, error) != 0 ||
        keys_set(kernel, vat_field(key, vat, "reapDirt"), "{}", error) != 0 ||
        vat_record_set_bundle(kernel, vat, record->bundle_id, error) != 0 ||
        set_new_json(kernel, vat, "options", make_options(record), error) != 0 ||
        limits_create(kernel, vat, &limits, error) != 0)
        return -1;
    return vat_record_set_position(kernel, vat, &start, error);
}

static bool read_runtime(const char *word, enum kernel_vat_runtime *runtime)
{
    for (size_t i = 0; word != NULL && i < sizeof runtimes / sizeof *runtimes; i++) {
        if (strcmp(word, runtimes[i]) == 0) {
            *runtime = (enum kernel_vat_runtime)i;
            return true;
        }
    }
    return false;
}

static bool read_options(struct vat_record *record, const json_t *options)
{
    record->name = json_string_value(json_object_get(options, "name"));
    record->reap_threshold = json_object_get(options, "reapDirtThreshold");
    record->meter_id = json_string_value(json_object_get(options, "meterID"));
    record->critical = json_is_true(json_object_get(options, "critical"));
    return record->name != NULL &&
           read_runtime(json_string_value(json_object_get(options, "runtime")), &record->runtime);
}

int vat_record_read(struct kernel *kernel, int64_t vat, struct vat_reading *reading,
                    struct error *error)
{
    char key[KEYS_NAME_SIZE];

    memset(reading, 0, sizeof *reading);
    if (keys_get_shared_json(kernel, vat_field(key, vat, "options"), &reading->options, error) !=
            0 ||
        keys_get_shared_json(kernel, vat_field(key, vat, "source"), &reading->source, error) != 0) {
        vat_record_free(reading);
        return -1;
    }
    reading->record.bundle_id = json_string_value(json_object_get(reading->source, "bundleID"));
    if (read_options(&reading->record, reading->options) && reading->record.bundle_id != NULL)
        return 0;
    vat_record_free(reading);
    return error_set(error, ERROR_SYSTEM, "the store is damaged: the records of v%" PRId64, vat);
}

void vat_record_free(struct vat_reading *reading)
{
    json_decref(reading->options);
    json_decref(reading->source);
    memset(reading, 0, sizeof *reading);
}

int vat_record_set_option(struct kernel *kernel, int64_t vat, const char *name, json_t *value,
                          struct error *error)
{
    char key[KEYS_NAME_SIZE];
    json_t *options;
    int result;

    if (keys_get_json(kernel, vat_field(key, vat, "options"), &options, error) != 0) {
        json_decref(value);
        return -1;
    }
    result = json_object_set_new(options, name, value) == 0
                 ? keys_set_json(kernel, key, options, error)
                 : error_memory(error, "a vat's options");
    json_decref(options);
    return result;
}

/* Counts the new references first, so that shared ones do not fall to 0. */
int vat_record_set_parameters(struct kernel *kernel, int64_t vat, const json_t *parameters,
                              struct error *error)
{
    char key[KEYS_NAME_SIZE];
    json_t *old;
    bool found;
    int result;

    if (refcount_increment_all(kernel, json_object_get(parameters, "slots"), error) != 0 ||
        keys_has(kernel, vat_field(key, vat, "vatParameters"), &found, error) != 0)
        return -1;
    if (found) {
        if (keys_get_json(kernel, key, &old, error) != 0)
            return -1;
        result = refcount_decrement_all(kernel, json_object_get(old, "slots"), error);
        json_decref(old);
        if (result != 0)
            return -1;
    }
    return keys_set_json(kernel, key, parameters, error);
}

int vat_record_position(struct kernel *kernel, int64_t vat, struct vat_position *position,
                        struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t numbers[3];

    if (keys_require(kernel, vat_field(key, vat, "deliveries"), &kernel->value, error) != 0)
        return -1;
    if (!keys_read_numbers(buf_string(&kernel->value), numbers, 3))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s", key);
    *position = (struct vat_position){
        .incarnation = numbers[0], .position = numbers[1], .delivery_num = numbers[2]};
    return 0;
}

int vat_record_set_position(struct kernel *kernel, int64_t vat, const struct vat_position *position,
                            struct error *error)
{
    char key[KEYS_NAME_SIZE], text[96];

    format_text(text, sizeof text, "[%" PRId64 ",%" PRId64 ",%" PRId64 "]", position->incarnation,
                position->position, position->delivery_num);
    return keys_set(kernel, vat_field(key, vat, "deliveries"), text, error);
}

int vat_record_is_terminated(struct kernel *kernel, int64_t vat, bool *terminated,
                             struct error *error)
{
    char id[32];

    return keys_has_text(kernel, "vats.terminated", vat_record_id(id, vat), terminated, error);
}

int vat_record_lives(struct kernel *kernel, int64_t vat, bool *lives, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    bool terminated;

    /* A damaged record is one. */
    if (keys_has(kernel, vat_field(key, vat, "o.nextID"), lives, error) != 0) {
        if (error->damaged_vat != vat)
            return -1;
        *lives = true;
    }
    if (!*lives)
        return 0;
    if (vat_record_is_terminated(kernel, vat, &terminated, error) != 0)
        return -1;
    *lives = !terminated;
    return 0;
}

int vat_record_first_terminated(struct kernel *kernel, int64_t *vat, struct error *error)
{
    const char *first;
    json_t *ids;
    int result = 0;
    bool none;

    *vat = 0;
    if (keys_is(kernel, "vats.terminated", "[]", &none, error) != 0)
        return -1;
    if (none)
        return 0;
    if (keys_get_json(kernel, "vats.terminated", &ids, error) != 0)
        return -1;
    first = json_string_value(json_array_get(ids, 0));
    if (!reference_read_number(first, 'v', vat))
        result = error_set(error, ERROR_SYSTEM, "the store is damaged: vats.terminated");
    json_decref(ids);
    return result;
}

int vat_record_forget_terminated(struct kernel *kernel, int64_t vat, struct error *error)
{
    char id[32];
    bool removed;

    return keys_remove_text(kernel, "vats.terminated", vat_record_id(id, vat), &removed, error);
}

/* Stored as vat.ended.NAME, so that the name is not taken for a new vat's. */
static int remember_ended(struct kernel *kernel, int64_t vat, const struct vat_record *record,
                          struct error *error)
{
    char key[KEYS_NAME_SIZE];
    json_t *ended = json_pack("{s:I,s:s,s:s}", "vat", (json_int_t)vat, "bundleID",
                              record->bundle_id, "runtime", runtimes[record->runtime]);
    int result;

    if (ended == NULL)
        return error_memory(error, "a vat's record");
    result = keys_set_json(kernel, keys_name(key, "vat.ended.%s", record->name), ended, error);
    json_decref(ended);
    return result;
}

static int remove_static(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct vat_reading reading;
    char key[KEYS_NAME_SIZE];
    bool removed;
    int result;

    if (vat_record_read(kernel, vat, &reading, error) != 0)
        return -1;
    result = remember_ended(kernel, vat, &reading.record, error);
    if (result == 0)
        result = keys_delete(kernel, keys_name(key, "vat.name.%s", reading.record.name), error);
    if (result == 0)
        result = keys_remove_text(kernel, "vat.names", reading.record.name, &removed, error);
    vat_record_free(&reading);
    return result;
}

int vat_record_mark_terminated(struct kernel *kernel, int64_t vat, struct error *error)
{
    char id[32];
    bool dynamic;

    if (keys_remove_text(kernel, "vat.dynamicIDs", vat_record_id(id, vat), &dynamic, error) != 0 ||
        (!dynamic && remove_static(kernel, vat, error) != 0))
        return -1;
    return keys_append_text(kernel, "vats.terminated", id, error);
}

int vat_record_name(struct kernel *kernel, const char *name, int64_t vat, struct error *error)
{
    char key[KEYS_NAME_SIZE], id[32];

    if (keys_set(kernel, keys_name(key, "vat.name.%s", name), vat_record_id(id, vat), error) != 0)
        return -1;
    return keys_append_text(kernel, "vat.names", name, error);
}

int vat_record_named(struct kernel *kernel, const char *name, int64_t *vat, bool *found,
                     struct error *error)
{
    char key[KEYS_NAME_SIZE];

    *vat = 0;
    if (strlen(name) > KERNEL_NAME_LIMIT) {
        *found = false;
        return 0;
    }
    keys_name(key, "vat.name.%s", name);
    if (keys_get(kernel, key, &kernel->value, found, error) != 0)
        return -1;
    if (*found && !reference_read_number(buf_string(&kernel->value), 'v', vat))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not a vat", key);
    return 0;
}

int vat_record_name_of(struct kernel *kernel, int64_t vat, struct buf *name, struct error *error)
{
    json_t *names;
    const json_t *element;
    size_t i;
    int result = 0;

    if (keys_get_json(kernel, "vat.names", &names, error) != 0)
        return -1;
    json_array_foreach(names, i, element)
    {
        const char *text = json_string_value(element);
        int64_t number;
        bool found;

        if (result == 0 && text != NULL && name->length == 0 &&
            (result = vat_record_named(kernel, text, &number, &found, error)) == 0 && found &&
            number == vat && buf_append_string(name, text) != 0)
            result = error_memory(error, "a vat's name");
    }
    json_decref(names);
    return result;
}

int vat_record_ended(struct kernel *kernel, const char *name, int64_t *vat, struct buf *bundle_id,
                     enum kernel_vat_runtime *runtime, bool *found, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    json_t *ended;
    const char *id;
    int result = 0;

    if (keys_has(kernel, keys_name(key, "vat.ended.%s", name), found, error) != 0)
        return -1;
    if (!*found)
        return 0;
    if (keys_get_json(kernel, key, &ended, error) != 0)
        return -1;
    *vat = json_integer_value(json_object_get(ended, "vat"));
    id = json_string_value(json_object_get(ended, "bundleID"));
    if (id == NULL || buf_append_string(bundle_id, id) != 0 ||
        !read_runtime(json_string_value(json_object_get(ended, "runtime")), runtime))
        result = error_set(error, ERROR_SYSTEM, "the store is damaged: %s", key);
    json_decref(ended);
    return result;
}

int vat_record_add_dynamic(struct kernel *kernel, int64_t vat, struct error *error)
{
    char id[32];

    return keys_append_text(kernel, "vat.dynamicIDs", vat_record_id(id, vat), error);
}

int vat_record_is_dynamic(struct kernel *kernel, int64_t vat, bool *dynamic, struct error *error)
{
    char id[32];

    return keys_has_text(kernel, "vat.dynamicIDs", vat_record_id(id, vat), dynamic, error);
}

int vat_record_next(struct kernel *kernel, int64_t after, int64_t *vat, bool *found,
                    struct error *error)
{
    int64_t end;

    *found = false;
    if (keys_get_number(kernel, "vat.nextID", &end, error) != 0)
        return -1;
    for (int64_t i = after + 1; i < end && !*found; i++) {
        *vat = i;
        if (vat_record_lives(kernel, i, found, error) != 0)
            return -1;
    }
    return 0;
}
