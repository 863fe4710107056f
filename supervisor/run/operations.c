/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/operations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "supervisor/run/run_vats.h"

bool operations_are_none(const struct operations *operations)
{
    return operations->set_limits.count + operations->skips.count + operations->releases.count +
               operations->terminations.count ==
           0;
}

void operations_free(struct operations *operations)
{
    option_list_free(&operations->set_limits);
    option_list_free(&operations->skips);
    option_list_free(&operations->releases);
    option_list_free(&operations->terminations);
}

/* ---- vats by what people call them ---- */

/* The number of "v7"; 0: it is another text. */
static int64_t operations_number_of(const char *name)
{
    uint64_t number = 0;

    if (name[0] != 'v' || !number_read(name + 1, INT64_MAX, &number))
        return 0;
    return (int64_t)number;
}

/* The caller frees the vat. */
static int operations_find_vat(struct kernel *kernel, const char *name, struct kernel_vat *vat,
                               struct error *error)
{
    int64_t id = 0;
    bool found = false;

    if (kernel_vat_named(kernel, name, &id, &found, error) != 0)
        return -1;
    if (!found)
        id = operations_number_of(name);
    if (id != 0 && kernel_vat_get(kernel, id, vat, &found, error) != 0)
        return -1;
    return found ? 0 : error_set(error, ERROR_INPUT, "no vat '%s' lives", name);
}

/* ---- one operation ---- */

struct operation {
    const char *option;
    int (*queue)(struct kernel *kernel, int64_t vat, struct error *error);
};

static int queue_one(struct kernel *kernel, const struct operation *operation, const char *name,
                     struct kernel_vat *vat, struct error *error)
{
    if (operations_find_vat(kernel, name, vat, error) != 0)
        return -1;
    return operation->queue(kernel, vat->id, error);
}

static int queue_all(struct kernel *kernel, const struct operation *operation,
                     const struct option_list *vats, struct error *error)
{
    for (size_t i = 0; i < vats->count; i++) {
        struct kernel_vat vat = {0};
        int result = queue_one(kernel, operation, vats->items[i], &vat, error);

        kernel_vat_free(&vat);
        if (result != 0)
            return error_prefix(error, "%s %s", operation->option, vats->items[i]);
    }
    return 0;
}

/* Later lines to them say why they do nothing. */
static int note_terminations(const struct operations *operations, struct store *store,
                             struct error *error)
{
    for (size_t i = 0; i < operations->terminations.count; i++) {
        if (run_vats_note_ended(store, operations->terminations.items[i],
                                "terminated by the operator", error) != 0)
            return -1;
    }
    return 0;
}

/* ---- limits ---- */

/* "NAME:N", up to a comma or the end; *next is behind it. */
static int set_one_limit(struct kernel *kernel, int64_t vat, char *text, char **next,
                         struct error *error)
{
    char *colon = strchr(text, ':'), *end = text + strcspn(text, ",");
    uint64_t value;

    *next = *end == ',' ? end + 1 : end;
    *end = '\0';
    if (colon == NULL || colon > end || !number_read(colon + 1, INT64_MAX, &value))
        return error_set(error, ERROR_USAGE, "'%s' is not NAME:NUMBER", text);
    *colon = '\0';
    return kernel_set_limit(kernel, vat, text, (int64_t)value, error);
}

static int set_limits(struct kernel *kernel, const char *name, char *text, struct error *error)
{
    struct kernel_vat vat = {0};
    int result = operations_find_vat(kernel, name, &vat, error);

    do {
        if (result == 0)
            result = set_one_limit(kernel, vat.id, text, &text, error);
    } while (result == 0 && *text != '\0');
    kernel_vat_free(&vat);
    return result;
}

static int queue_limits(struct kernel *kernel, const struct option_list *list, struct error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        char *equals = strchr(list->items[i], '=');

        *equals = '\0'; /* the option's kind has seen to it that there is one */
        if (set_limits(kernel, list->items[i], equals + 1, error) != 0)
            return error_prefix(error, "--set-limit %s", list->items[i]);
    }
    return 0;
}

static int release_from_start(struct kernel *kernel, int64_t vat, struct error *error)
{
    return kernel_release(kernel, vat, true, error);
}

static int release_as_it_is(struct kernel *kernel, int64_t vat, struct error *error)
{
    return kernel_release(kernel, vat, false, error);
}

int operations_queue(const struct operations *operations, struct store *store,
                     struct kernel *kernel, struct error *error)
{
    static const struct operation skip = {"--skip-delivery", kernel_skip_delivery},
                                  terminate = {"--terminate", kernel_terminate};

    const struct operation release = {"--release", operations->from_start ? release_from_start
                                                                          : release_as_it_is};

    if (queue_limits(kernel, &operations->set_limits, error) != 0 ||
        queue_all(kernel, &skip, &operations->skips, error) != 0 ||
        queue_all(kernel, &release, &operations->releases, error) != 0 ||
        queue_all(kernel, &terminate, &operations->terminations, error) != 0)
        return -1;
    return note_terminations(operations, store, error);
}

/* ---- what is to be decided ---- */

static int tell_one(struct kernel *kernel, int64_t id, int64_t *count, struct error *error)
{
    struct buf reason = {0};
    struct kernel_vat vat;
    bool is, lives;
    int result = kernel_quarantine_reason(kernel, id, &is, &reason, error);

    if (result == 0 && is && (result = kernel_vat_get(kernel, id, &vat, &lives, error)) == 0) {
        log_line("vat %s is in quarantine: %s; run with --release, --upgrade or --terminate, or "
                 "with --set-limit or --skip-delivery",
                 vat.name[0] != '\0' ? vat.name : "without a name", buf_string(&reason));
        kernel_vat_free(&vat);
        ++*count;
    }
    buf_free(&reason);
    return result;
}

int operations_tell_quarantined(struct kernel *kernel, int64_t *count, struct error *error)
{
    int64_t id = 0;
    bool found = true;

    *count = 0;
    while (kernel_vat_next(kernel, id, &id, &found, error) == 0) {
        if (!found)
            return 0;
        if (tell_one(kernel, id, count, error) != 0)
            return -1;
    }
    return -1;
}
