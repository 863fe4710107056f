/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/vat_meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"

static const char unlimited[] = "unlimited";

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
