/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/graph/queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/format.h"
#include "kernel/graph/object.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"

static const char *const names[] = {
    [QUEUE_ACCEPTANCE] = "acceptanceQueue",
    [QUEUE_RUN] = "runQueue",
};

struct ends {
    int64_t head, tail;
};

static int get_ends(struct kernel *kernel, enum queue_name queue, struct ends *ends,
                    struct error *error)
{
    int64_t numbers[2];

    if (keys_require(kernel, names[queue], &kernel->value, error) != 0)
        return -1;
    if (!keys_read_numbers(buf_string(&kernel->value), numbers, 2) || numbers[1] < numbers[0])
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not a queue",
                         names[queue]);
    *ends = (struct ends){.head = numbers[0], .tail = numbers[1]};
    return 0;
}

static int set_ends(struct kernel *kernel, enum queue_name queue, struct ends ends,
                    struct error *error)
{
    char text[64];

    format_text(text, sizeof text, "[%" PRId64 ",%" PRId64 "]", ends.head, ends.tail);
    return keys_set(kernel, names[queue], text, error);
}

int queue_init(struct kernel *kernel, struct error *error)
{
    struct ends empty = {1, 1};

    if (set_ends(kernel, QUEUE_RUN, empty, error) != 0)
        return -1;
    return set_ends(kernel, QUEUE_ACCEPTANCE, empty, error);
}

int queue_add_text(struct kernel *kernel, enum queue_name queue, const json_t *item,
                   const struct buf *text, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct ends ends;

    if (get_ends(kernel, queue, &ends, error) != 0)
        return -1;
    keys_name(key, "%s.%" PRId64, names[queue], ends.tail);
    ends.tail++;
    if (keys_note_new(kernel, key, error) != 0 ||
        (text != NULL ? keys_put_work_text(kernel, key, text, item, error)
                      : keys_put_work(kernel, key, item, error)) != 0)
        return -1;
    return set_ends(kernel, queue, ends, error);
}

int queue_add(struct kernel *kernel, enum queue_name queue, const json_t *item, struct error *error)
{
    return queue_add_text(kernel, queue, item, NULL, error);
}

int queue_put_first(struct kernel *kernel, enum queue_name queue, const json_t *item,
                    struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct ends ends;

    if (get_ends(kernel, queue, &ends, error) != 0)
        return -1;
    if (ends.head == 0) /* more items were put in front than were ever taken */
        return queue_add(kernel, queue, item, error);
    ends.head--;
    keys_name(key, "%s.%" PRId64, names[queue], ends.head);
    if (keys_set_json(kernel, key, item, error) != 0)
        return -1;
    return set_ends(kernel, queue, ends, error);
}

int queue_take(struct kernel *kernel, enum queue_name queue, json_t **item, struct buf *text,
               struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct ends ends;

    *item = NULL;
    if (get_ends(kernel, queue, &ends, error) != 0)
        return -1;
    if (ends.head == ends.tail)
        return 0;
    keys_name(key, "%s.%" PRId64, names[queue], ends.head);
    ends.head++;
    if (keys_get_work(kernel, key, item, text, error) != 0)
        return -1;
    if (keys_delete(kernel, key, error) == 0 && set_ends(kernel, queue, ends, error) == 0)
        return 0;
    json_decref(*item);
    return -1;
}

int queue_length(struct kernel *kernel, enum queue_name queue, int64_t *length, struct error *error)
{
    struct ends ends;

    if (get_ends(kernel, queue, &ends, error) != 0)
        return -1;
    *length = ends.tail - ends.head;
    return 0;
}

int queue_look(struct kernel *kernel, enum queue_name queue, int64_t index, json_t **item,
               struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct ends ends;

    *item = NULL;
    if (get_ends(kernel, queue, &ends, error) != 0)
        return -1;
    if (index >= ends.tail - ends.head)
        return 0;
    keys_name(key, "%s.%" PRId64, names[queue], ends.head + index);
    return keys_get_shared_json(kernel, key, item, error);
}

/* Takes over the item. */
static int add_new(struct kernel *kernel, json_t *item, struct error *error)
{
    int result;

    if (item == NULL)
        return error_memory(error, "work for the queue");
    result = queue_add(kernel, QUEUE_ACCEPTANCE, item, error);
    json_decref(item);
    return result;
}

int queue_send(struct kernel *kernel, const char *target, const json_t *message,
               struct error *error)
{
    return add_new(kernel,
                   json_pack("{s:s,s:s,s:O}", "type", "send", "target", target, "msg", message),
                   error);
}

int queue_new_send(struct kernel *kernel, const char *target, const json_t *message,
                   struct error *error)
{
    const char *result = json_string_value(json_object_get(message, "result"));
    const json_t *methargs = json_object_get(message, "methargs");

    if (refcount_increment(kernel, target, REFCOUNT_KERNEL, error) != 0 ||
        (result != NULL && refcount_increment(kernel, result, REFCOUNT_KERNEL, error) != 0) ||
        refcount_increment_all(kernel, json_object_get(methargs, "slots"), error) != 0)
        return -1;
    return queue_send(kernel, target, message, error);
}

int queue_release_send(struct kernel *kernel, const json_t *send, struct error *error)
{
    const json_t *message = json_object_get(send, "msg");
    const char *target = json_string_value(json_object_get(send, "target"));
    const char *result = json_string_value(json_object_get(message, "result"));
    const json_t *methargs = json_object_get(message, "methargs");

    if (refcount_decrement(kernel, target, REFCOUNT_KERNEL, error) != 0 ||
        (result != NULL && refcount_decrement(kernel, result, REFCOUNT_KERNEL, error) != 0))
        return -1;
    return refcount_decrement_all(kernel, json_object_get(methargs, "slots"), error);
}

int queue_notify(struct kernel *kernel, int64_t vat, const char *kpid, struct error *error)
{
    char id[32];

    format_text(id, sizeof id, "v%" PRId64, vat);
    if (refcount_increment(kernel, kpid, REFCOUNT_KERNEL, error) != 0)
        return -1;
    return add_new(kernel, json_pack("{s:s,s:s,s:s}", "type", "notify", "vatID", id, "kpid", kpid),
                   error);
}

static const char list_key[] = "kernel.quarantined";

struct quarantine_ends {
    int64_t head, tail;
};

static const char *vat_name(char name[32], int64_t vat)
{
    snprintf(name, 32, "v%" PRId64, vat);
    return name;
}

static const char *vat_key(char key[KEYS_NAME_SIZE], int64_t vat, const char *name)
{
    return keys_name(key, "v%" PRId64 ".%s", vat, name);
}

static const char *item_key(char key[KEYS_NAME_SIZE], int64_t vat, int64_t number)
{
    return keys_name(key, "v%" PRId64 ".held.%" PRId64, vat, number);
}

/* Returns true in *any if a list of quarantined vats exists. */
static int any_quarantined(struct kernel *kernel, bool *any, struct error *error)
{
    *any = false;
    if (kernel->no_quarantine)
        return 0;
    if (keys_has(kernel, list_key, any, error) != 0)
        return -1;
    kernel->no_quarantine = !*any;
    return 0;
}

int quarantine_is(struct kernel *kernel, int64_t vat, bool *is, struct error *error)
{
    char name[32];

    if (any_quarantined(kernel, is, error) != 0)
        return -1;
    return *is ? keys_has_text(kernel, list_key, vat_name(name, vat), is, error) : 0;
}

int quarantine_reason(struct kernel *kernel, int64_t vat, bool *is, struct buf *reason,
                      struct error *error)
{
    char key[KEYS_NAME_SIZE];

    if (quarantine_is(kernel, vat, is, error) != 0)
        return -1;
    if (!*is || keys_require(kernel, vat_key(key, vat, "quarantine"), reason, error) == 0)
        return 0;
    if (error->damaged_vat != vat)
        return -1;
    return buf_append_string(reason, error->text) == 0 ? 0 : error_memory(error, "a reason");
}

/* ---- the items ---- */

static int get_quarantine_ends(struct kernel *kernel, int64_t vat, struct quarantine_ends *ends,
                               struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t numbers[2];

    if (keys_require(kernel, vat_key(key, vat, "held"), &kernel->value, error) != 0)
        return -1;
    if (!keys_read_numbers(buf_string(&kernel->value), numbers, 2) || numbers[1] < numbers[0])
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not a queue", key);
    *ends = (struct quarantine_ends){.head = numbers[0], .tail = numbers[1]};
    return 0;
}

static int set_quarantine_ends(struct kernel *kernel, int64_t vat, struct quarantine_ends ends,
                               struct error *error)
{
    char key[KEYS_NAME_SIZE], text[64];

    snprintf(text, sizeof text, "[%" PRId64 ",%" PRId64 "]", ends.head, ends.tail);
    return keys_set(kernel, vat_key(key, vat, "held"), text, error);
}

int quarantine_begin(struct kernel *kernel, int64_t vat, const char *reason, struct error *error)
{
    char key[KEYS_NAME_SIZE], name[32];
    bool exists;

    if (quarantine_is(kernel, vat, &exists, error) != 0)
        return -1;
    if (exists)
        return keys_set(kernel, vat_key(key, vat, "quarantine"), reason, error);
    kernel->no_quarantine = false;
    if (keys_has(kernel, list_key, &exists, error) != 0 ||
        (!exists && keys_set(kernel, list_key, "[]", error) != 0) ||
        keys_append_text(kernel, list_key, vat_name(name, vat), error) != 0 ||
        keys_set(kernel, vat_key(key, vat, "quarantine"), reason, error) != 0)
        return -1;
    return set_quarantine_ends(kernel, vat, (struct quarantine_ends){1, 1}, error);
}

int quarantine_vat_of(struct kernel *kernel, const json_t *item, int64_t *vat, struct error *error)
{
    const char *target = json_string_value(json_object_get(item, "target"));
    const char *vat_id = json_string_value(json_object_get(item, "vatID"));
    bool is;

    *vat = 0;
    if (any_quarantined(kernel, &is, error) != 0)
        return -1;
    if (!is)
        return 0;
    if (vat_id != NULL && !reference_read_number(vat_id, 'v', vat))
        *vat = 0;
    if (target != NULL && reference_kref_kind(target) == REFERENCE_OBJECT &&
        object_living_owner(kernel, target, vat, error) != 0)
        return -1;
    if (*vat != 0 && quarantine_is(kernel, *vat, &is, error) != 0)
        return -1;
    if (!is)
        *vat = 0;
    return 0;
}

int quarantine_hold(struct kernel *kernel, int64_t vat, const json_t *item, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct quarantine_ends ends;

    if (get_quarantine_ends(kernel, vat, &ends, error) != 0 ||
        keys_set_json(kernel, item_key(key, vat, ends.tail), item, error) != 0)
        return -1;
    ends.tail++;
    return set_quarantine_ends(kernel, vat, ends, error);
}

int quarantine_look(struct kernel *kernel, int64_t vat, json_t **item, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct quarantine_ends ends;

    *item = NULL;
    if (get_quarantine_ends(kernel, vat, &ends, error) != 0)
        return -1;
    return ends.head < ends.tail ? keys_get_json(kernel, item_key(key, vat, ends.head), item, error)
                                 : 0;
}

int quarantine_take(struct kernel *kernel, int64_t vat, json_t **item, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct quarantine_ends ends;

    if (quarantine_look(kernel, vat, item, error) != 0)
        return -1;
    if (*item == NULL)
        return 0;
    if (get_quarantine_ends(kernel, vat, &ends, error) == 0 &&
        keys_delete(kernel, item_key(key, vat, ends.head), error) == 0) {
        ends.head++;
        if (set_quarantine_ends(kernel, vat, ends, error) == 0)
            return 0;
    }
    json_decref(*item);
    *item = NULL;
    return -1;
}

/* ---- the end of a quarantine ---- */

/* Starts with the last item, since each goes to the front. */
static int requeue_quarantined(struct kernel *kernel, int64_t vat, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct quarantine_ends ends;
    int result = get_quarantine_ends(kernel, vat, &ends, error);

    while (result == 0 && ends.tail > ends.head) {
        json_t *item;

        ends.tail--;
        item_key(key, vat, ends.tail);
        result = keys_get_json(kernel, key, &item, error);
        if (result != 0)
            break;
        result = queue_put_first(kernel, QUEUE_RUN, item, error);
        json_decref(item);
        if (result == 0)
            result = keys_delete(kernel, key, error);
    }
    return result;
}

static int forget_list_if_empty(struct kernel *kernel, struct error *error)
{
    bool empty;

    if (keys_is(kernel, list_key, "[]", &empty, error) != 0)
        return -1;
    return empty ? keys_delete(kernel, list_key, error) : 0;
}

int quarantine_release(struct kernel *kernel, int64_t vat, struct error *error)
{
    char key[KEYS_NAME_SIZE], name[32];
    bool is;

    if (quarantine_is(kernel, vat, &is, error) != 0)
        return -1;
    if (!is)
        return 0;
    if (requeue_quarantined(kernel, vat, error) != 0 ||
        keys_delete(kernel, vat_key(key, vat, "held"), error) != 0 ||
        keys_delete(kernel, vat_key(key, vat, "quarantine"), error) != 0 ||
        keys_remove_text(kernel, list_key, vat_name(name, vat), &is, error) != 0)
        return -1;
    return forget_list_if_empty(kernel, error);
}
