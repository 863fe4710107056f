/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"
#include "store/store.h"

static const char unlimited[] = "unlimited";

int vat_meter_set(struct kernel *kernel, const char *meter_id, const struct vat_meter *meter,
                  struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int result;

    keys_name(key, "%s.remaining", meter_id);
    if (meter->remaining == VAT_METER_UNLIMITED)
        result = keys_set(kernel, key, unlimited, error);
    else
        result = keys_set_number(kernel, key, meter->remaining, error);
    if (result != 0)
        return -1;
    return keys_set_number(kernel, keys_name(key, "%s.threshold", meter_id), meter->threshold,
                           error);
}

int vat_meter_create(struct kernel *kernel, int64_t remaining, int64_t threshold,
                     char meter_id[KERNEL_REF_SIZE], struct error *error)
{
    struct vat_meter meter = {.remaining = remaining, .threshold = threshold};
    int64_t number;

    if (keys_take_number(kernel, "meter.nextID", &number, error) != 0)
        return -1;
    snprintf(meter_id, KERNEL_REF_SIZE, "m%" PRId64, number);
    return vat_meter_set(kernel, meter_id, &meter, error);
}

static int get_field(struct kernel *kernel, const char *meter_id, const char *name, int64_t *number,
                     bool *found, struct error *error)
{
    char key[KEYS_NAME_SIZE];

    keys_name(key, "%s.%s", meter_id, name);
    if (keys_get(kernel, key, &kernel->value, found, error) != 0)
        return -1;
    if (*found && strcmp(buf_string(&kernel->value), unlimited) == 0)
        *number = VAT_METER_UNLIMITED;
    else if (*found && !keys_read_numbers(buf_string(&kernel->value), number, 1))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not a number", key);
    return 0;
}

int vat_meter_get(struct kernel *kernel, const char *meter_id, struct vat_meter *meter, bool *found,
                  struct error *error)
{
    int64_t number;

    *found = false;
    if (strlen(meter_id) >= KERNEL_REF_SIZE || !reference_read_number(meter_id, 'm', &number))
        return 0;
    if (get_field(kernel, meter_id, "remaining", &meter->remaining, found, error) != 0 || !*found)
        return *found ? -1 : 0;
    return get_field(kernel, meter_id, "threshold", &meter->threshold, found, error);
}

int vat_meter_deduct(struct kernel *kernel, const char *meter_id, int64_t computrons,
                     struct vat_meter *left, bool *crossed, struct error *error)
{
    int64_t before;
    bool found;

    *crossed = false;
    if (vat_meter_get(kernel, meter_id, left, &found, error) != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_SYSTEM, "the store is damaged: no meter %s", meter_id);
    if (left->remaining == VAT_METER_UNLIMITED)
        return 0;
    before = left->remaining;
    left->remaining = before > computrons ? before - computrons : 0;
    *crossed = left->remaining < left->threshold && before >= left->threshold;
    return vat_meter_set(kernel, meter_id, left, error);
}

/* ---- their records ---- */

static const struct {
    const char *name;
    size_t offset;
    const char *option; /* the operator's name for it; NULL: it cannot be set */
    bool of_kernel;
} fields[] = {
    {"compute", offsetof(struct kernel_limits, compute), "compute", false},
    {"instructions", offsetof(struct kernel_limits, instructions), "instructions", false},
    {"cost", offsetof(struct kernel_limits, cost), "cost", false},
    {"countedInstructions", offsetof(struct kernel_limits, counted_instructions), NULL, false},
    {"meteredCost", offsetof(struct kernel_limits, metered_cost), NULL, false},
    {"heapBytes", offsetof(struct kernel_limits, heap_bytes), "heap", false},
    {"syscalls", offsetof(struct kernel_limits, syscalls), "syscalls", true},
    {"storeBytes", offsetof(struct kernel_limits, store_bytes), "store-bytes", true},
    {"messageBytes", offsetof(struct kernel_limits, message_bytes), "message-bytes", true},
    {"transferBytes", offsetof(struct kernel_limits, transfer_bytes), "transfer-bytes", true},
};

enum { FIELDS = sizeof fields / sizeof *fields };

static const char *record_name(char key[KEYS_NAME_SIZE], int64_t vat, const char *name)
{
    return keys_vat_part(key, vat, ".", name);
}

static int64_t *field_of(struct kernel_limits *limits, size_t field)
{
    return (int64_t *)((char *)limits + fields[field].offset);
}

bool limits_is_record(struct iovec key)
{
    static const char *const names[] = {".limits", ".storeBytes"};
    const char *text = key.iov_base;
    const char *dot = key.iov_len > 0 && *text == 'v' ? memchr(text, '.', key.iov_len) : NULL;
    const size_t left = dot != NULL ? key.iov_len - (size_t)(dot - text) : 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (left == strlen(names[i]) && memcmp(dot, names[i], left) == 0)
            return true;
    }
    return false;
}

static json_t *make_limits_record(const struct kernel_limits *limits)
{
    struct kernel_limits copy = *limits;
    json_t *record = json_object();

    for (size_t i = 0; i < FIELDS; i++) {
        if (*field_of(&copy, i) > 0 &&
            json_object_set_new(record, fields[i].name, json_integer(*field_of(&copy, i))) != 0) {
            json_decref(record);
            return NULL;
        }
    }
    return record;
}

int limits_create(struct kernel *kernel, int64_t vat, const struct kernel_limits *limits,
                  struct error *error)
{
    json_t *record = make_limits_record(limits);
    char key[KEYS_NAME_SIZE];
    int result = 0;

    if (record == NULL)
        return error_memory(error, "the limits of a vat");
    if (json_object_size(record) > 0)
        result = keys_set_json(kernel, record_name(key, vat, "limits"), record, error);
    if (result == 0 && limits->store_bytes > 0)
        result = keys_set_number(kernel, record_name(key, vat, "storeBytes"), 0, error);
    json_decref(record);
    return result;
}

int limits_read(struct kernel *kernel, int64_t vat, struct kernel_limits *limits,
                struct error *error)
{
    char key[KEYS_NAME_SIZE];
    json_t *record;
    bool found;

    memset(limits, 0, sizeof *limits);
    record_name(key, vat, "limits");
    if (keys_has(kernel, key, &found, error) != 0)
        return -1;
    if (!found)
        return 0;
    if (keys_get_shared_json(kernel, key, &record, error) != 0)
        return -1;
    for (size_t i = 0; i < FIELDS; i++)
        *field_of(limits, i) = json_integer_value(json_object_get(record, fields[i].name));
    json_decref(record);
    return 0;
}

/* ---- changing a limit ---- */

static size_t field_named(const char *option)
{
    size_t i = 0;

    while (i < FIELDS && (fields[i].option == NULL || strcmp(fields[i].option, option) != 0))
        i++;
    return i;
}

/* As the options of run have them; 0 is no limit. */
static int check_bounds(const char *name, int64_t value, struct error *error)
{
    static const struct {
        const char *name;
        int64_t min, max;
    } bounds[] = {{"compute", 1, INT32_MAX},
                  {"heap", KERNEL_HEAP_MIN, KERNEL_HEAP_MAX},
                  {"transfer-bytes", 1, KERNEL_TRANSFER_MAX}};

    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        if (strcmp(name, bounds[i].name) == 0 && value != 0 &&
            (value < bounds[i].min || value > bounds[i].max))
            return error_set(error, ERROR_INPUT, "%s is 0 or from %" PRId64 " to %" PRId64, name,
                             bounds[i].min, bounds[i].max);
    }
    return 0;
}

int limits_look(struct kernel *kernel, int64_t vat, const char *name, struct limit_change *change,
                struct error *error)
{
    const size_t field = field_named(name);
    struct kernel_limits limits;

    if (field == FIELDS)
        return error_set(
            error, ERROR_INPUT,
            "unknown limit '%s'; expected compute, instructions, cost, heap, syscalls, "
            "store-bytes, message-bytes or transfer-bytes",
            name);
    if (limits_read(kernel, vat, &limits, error) != 0)
        return -1;
    if (check_bounds(name, change->value, error) != 0)
        return -1;
    change->name = fields[field].option;
    change->before = *field_of(&limits, field);
    change->of_kernel = fields[field].of_kernel;
    if (strcmp(name, "store-bytes") == 0 && change->before == 0 && change->value > 0)
        return error_set(error, ERROR_INPUT,
                         "the vat was made without --max-store-bytes: its store was not measured");
    return 0;
}

/* The operator's value replaces the default; 0 then means no limit. */
static void drop_default(struct kernel_limits *limits, const char *option)
{
    if (strcmp(option, "instructions") == 0)
        limits->counted_instructions = 0;
    if (strcmp(option, "cost") == 0)
        limits->metered_cost = 0;
}

int limits_change(struct kernel *kernel, int64_t vat, const struct limit_change *change,
                  struct error *error)
{
    const size_t field = field_named(change->name);
    struct kernel_limits limits;
    char key[KEYS_NAME_SIZE];
    json_t *record;
    int result;

    if (field == FIELDS)
        return error_set(error, ERROR_SYSTEM, "the store is damaged: no limit '%s'", change->name);
    if (limits_read(kernel, vat, &limits, error) != 0)
        return -1;
    *field_of(&limits, field) = change->value;
    drop_default(&limits, change->name);
    record = make_limits_record(&limits);
    if (record == NULL)
        return error_memory(error, "the limits of a vat");
    result = keys_set_json(kernel, record_name(key, vat, "limits"), record, error);
    json_decref(record);
    return result;
}

/* ---- enforcing limits ---- */

static int take_syscall(struct delivery_state *delivery, struct error *error)
{
    const int64_t limit = delivery->limits.syscalls;

    delivery->syscall_count++;
    if (limit == 0 || delivery->syscall_count <= limit)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "more than the %" PRId64 " syscalls that a delivery may make (--max-syscalls)",
                     limit);
}

static int64_t capdata_size(const json_t *capdata)
{
    const json_t *slot;
    size_t size = json_string_length(json_object_get(capdata, "body"));
    size_t i;

    json_array_foreach(json_object_get(capdata, "slots"), i, slot)
    {
        size += json_string_length(slot);
    }
    return (int64_t)size;
}

static int64_t largest_resolution(const json_t *resolutions)
{
    const json_t *resolution;
    int64_t largest = 0;
    size_t i;

    json_array_foreach(resolutions, i, resolution)
    {
        const int64_t size = capdata_size(json_array_get(resolution, 2));

        if (size > largest)
            largest = size;
    }
    return largest;
}

static int64_t message_size(const struct vat_syscall *syscall)
{
    switch (syscall->kind) {
    case VAT_SYSCALL_STORE_GET:
    case VAT_SYSCALL_STORE_DELETE:
    case VAT_SYSCALL_STORE_NEXT_KEY:
        return (int64_t)syscall->key.length;
    case VAT_SYSCALL_STORE_SET:
        return (int64_t)(syscall->key.length + syscall->value.length);
    case VAT_SYSCALL_RESOLVE:
        return largest_resolution(syscall->resolutions);
    case VAT_SYSCALL_SEND:
    case VAT_SYSCALL_CALL_NOW:
    case VAT_SYSCALL_EXIT:
        return capdata_size(syscall->capdata);
    default:
        return 0;
    }
}

static int check_message_size(const struct delivery_state *delivery,
                              const struct vat_syscall *syscall, struct error *error)
{
    const int64_t limit = delivery->limits.message_bytes;

    if (limit == 0 || message_size(syscall) <= limit)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "%s: more than the %" PRId64
                     " bytes that a vat may send or store at a time (--max-message-bytes)",
                     syscall->name, limit);
}

/* Returns the bytes that the syscall's key has in the vatstore, key and value. */
static int old_size(struct kernel *kernel, const struct vat_syscall *syscall, int64_t *size,
                    struct error *error)
{
    const struct iovec key = {(void *)(uintptr_t)syscall->key.bytes, syscall->key.length};
    struct buf value = {0};
    bool found;
    int result = store_vat_get(kernel->store, kernel->crank.vat, key, &value, &found, error);

    if (result == 0)
        *size = found ? (int64_t)(syscall->key.length + value.length) : 0;
    buf_free(&value);
    return result;
}

static int take_store(struct kernel *kernel, const struct vat_syscall *syscall, struct error *error)
{
    const int64_t limit = kernel->crank.delivery.limits.store_bytes;
    int64_t size, before, after = 0;
    char key[KEYS_NAME_SIZE];

    if (limit == 0 ||
        (syscall->kind != VAT_SYSCALL_STORE_SET && syscall->kind != VAT_SYSCALL_STORE_DELETE))
        return 0;
    if (syscall->kind == VAT_SYSCALL_STORE_SET)
        after = (int64_t)(syscall->key.length + syscall->value.length);
    record_name(key, kernel->crank.vat, "storeBytes");
    if (old_size(kernel, syscall, &before, error) != 0 ||
        keys_get_number(kernel, key, &size, error) != 0)
        return -1;
    size += after - before;
    if (after > before && size > limit)
        return error_set(
            error, ERROR_INPUT,
            "more than the %" PRId64 " bytes that a vatstore may have (--max-store-bytes)", limit);
    return keys_set_number(kernel, key, size, error);
}

static int64_t transfer_limit(const struct delivery_state *delivery)
{
    const int64_t limit = delivery->limits.transfer_bytes;

    return limit > 0 && limit < KERNEL_TRANSFER_MAX ? limit : KERNEL_TRANSFER_MAX;
}

int limits_take_transfer(struct kernel *kernel, size_t bytes, struct error *error)
{
    struct delivery_state *delivery = &kernel->crank.delivery;
    const int64_t limit = transfer_limit(delivery);

    delivery->transferred += (int64_t)bytes;
    if (delivery->transferred <= limit)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "more than the %" PRId64
                     " bytes that a delivery may read and write through syscalls "
                     "(--max-transfer-bytes)",
                     limit);
}

int limits_take(struct kernel *kernel, const struct vat_syscall *syscall, struct error *error)
{
    struct delivery_state *delivery = &kernel->crank.delivery;

    if (take_syscall(delivery, error) != 0 || check_message_size(delivery, syscall, error) != 0)
        return -1;
    return take_store(kernel, syscall, error);
}
