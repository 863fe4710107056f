/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/refcount.h"

#include <inttypes.h>

#include "base/text/format.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"

static int damaged(const char *kref, struct error *error)
{
    return error_set(error, ERROR_SYSTEM, "the store is damaged: %s.refCount cannot be", kref);
}

int refcount_of_object(struct kernel *kernel, const char *kref, struct object_counts *counts,
                       bool *exists, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t numbers[2];

    *counts = (struct object_counts){0};
    if (keys_get(kernel, keys_part(key, kref, ".refCount"), &kernel->value, exists, error) != 0)
        return -1;
    if (!*exists)
        return 0;
    if (!keys_read_numbers(buf_string(&kernel->value), numbers, 2) || numbers[0] > numbers[1])
        return damaged(kref, error);
    *counts = (struct object_counts){.reachable = numbers[0], .recognizable = numbers[1]};
    return 0;
}

int refcount_set_object(struct kernel *kernel, const char *kref, const struct object_counts *counts,
                        struct error *error)
{
    char key[KEYS_NAME_SIZE], text[48];

    if (counts->reachable < 0 || counts->reachable > counts->recognizable)
        return damaged(kref, error);
    format_text(text, sizeof text, "%" PRId64 ",%" PRId64, counts->reachable, counts->recognizable);
    return keys_set(kernel, keys_part(key, kref, ".refCount"), text, error);
}

static int change_promise(struct kernel *kernel, const char *kpid, int64_t change,
                          struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t count;

    keys_part(key, kpid, ".refCount");
    if (keys_get_number(kernel, key, &count, error) != 0)
        return -1;
    count += change;
    if (count < 0)
        return damaged(kpid, error);
    if (keys_set_number(kernel, key, count, error) != 0)
        return -1;
    return change < 0 && count == 0 ? reference_set_add(&kernel->maybe_free, kpid, error) : 0;
}

static int change_object(struct kernel *kernel, const char *koid, int64_t change,
                         enum refcount_holder holder, struct error *error)
{
    struct object_counts counts;
    bool exists;

    if (refcount_of_object(kernel, koid, &counts, &exists, error) != 0)
        return -1;
    if (change < 0 && !exists)
        return 0;
    counts.recognizable += change;
    if (holder == REFCOUNT_KERNEL)
        counts.reachable += change;
    if (change < 0 && (counts.reachable == 0 || counts.recognizable == 0) &&
        reference_set_add(&kernel->maybe_free, koid, error) != 0)
        return -1;
    return refcount_set_object(kernel, koid, &counts, error);
}

static int change_count(struct kernel *kernel, const char *kref, int64_t change,
                        enum refcount_holder holder, struct error *error)
{
    switch (reference_kref_kind(kref)) {
    case REFERENCE_PROMISE:
        return change_promise(kernel, kref, change, error);
    case REFERENCE_OBJECT:
        if (holder == REFCOUNT_EXPORT)
            return 0;
        return change_object(kernel, kref, change, holder, error);
    case REFERENCE_DEVICE:
        break;
    }
    return 0;
}

int refcount_increment(struct kernel *kernel, const char *kref, enum refcount_holder holder,
                       struct error *error)
{
    return change_count(kernel, kref, 1, holder, error);
}

int refcount_decrement(struct kernel *kernel, const char *kref, enum refcount_holder holder,
                       struct error *error)
{
    return change_count(kernel, kref, -1, holder, error);
}

static int change_all(struct kernel *kernel, const json_t *krefs, int64_t change,
                      struct error *error)
{
    enum reference_kind kind;
    const json_t *kref;
    size_t i;

    json_array_foreach(krefs, i, kref)
    {
        if (!reference_read_kref(&kind, json_string_value(kref)))
            return error_set(error, ERROR_SYSTEM, "the store is damaged: a list of references");
        if (change_count(kernel, json_string_value(kref), change, REFCOUNT_KERNEL, error) != 0)
            return -1;
    }
    return 0;
}

int refcount_increment_all(struct kernel *kernel, const json_t *krefs, struct error *error)
{
    return change_all(kernel, krefs, 1, error);
}

int refcount_decrement_all(struct kernel *kernel, const json_t *krefs, struct error *error)
{
    return change_all(kernel, krefs, -1, error);
}
