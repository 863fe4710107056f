/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/plan.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/lines.h"

/* ---- which calls ---- */

struct point *plan_find(const struct plan *plan, const struct point *like)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct point *point = &plan->points[i];

        if (point->contract == like->contract && point->count == like->count &&
            point->size == like->size && (point->method == NULL) == (like->method == NULL) &&
            (like->method == NULL || strcmp(point->method, like->method) == 0))
            return point;
    }
    return NULL;
}

static int plan_add(struct plan *plan, const struct point *point, struct error *error)
{
    struct point *larger;

    if (plan_find(plan, point) != NULL)
        return 0;
    if (plan->count == PLAN_POINTS_MAX)
        return error_set(error, ERROR_INPUT,
                         "the suite needs more than %d different calls; --only PATTERN takes a "
                         "part of it",
                         PLAN_POINTS_MAX);
    larger = array_reserve(plan->points, &plan->capacity, plan->count + 1, sizeof *larger);
    if (larger == NULL)
        return error_memory(error, "the calls of a suite");
    plan->points = larger;
    plan->points[plan->count++] = *point;
    return 0;
}

static int plan_add_loads(struct plan *plan, const struct suite_operation *operation,
                          struct error *error)
{
    for (size_t i = 0; i < operation->loads.count; i++) {
        struct point point = {.contract = operation->loads.values[i]};

        if (plan_add(plan, &point, error) != 0)
            return -1;
        point.method = operation->method;
        point.count = 1;
        if (plan_add(plan, &point, error) != 0)
            return -1;
    }
    return 0;
}

static int plan_add_calls(struct plan *plan, const struct suite_operation *operation,
                          const char *method, struct error *error)
{
    const size_t sizes = operation->sizes.count;

    for (size_t i = 0; i < operation->counts.count; i++) {
        for (size_t j = 0; j < (sizes > 0 ? sizes : 1); j++) {
            const struct point point = {
                .contract = operation->contract,
                .method = method,
                .count = operation->counts.values[i],
                .size = sizes > 0 ? operation->sizes.values[j] : 0,
            };

            if (plan_add(plan, &point, error) != 0)
                return -1;
        }
    }
    return 0;
}

int plan_make(struct plan *plan, const struct suite *suite, struct error *error)
{
    *plan = (struct plan){0};
    for (size_t i = 0; i < suite->operation_count; i++) {
        const struct suite_operation *operation = &suite->operations[i];
        int result;

        if (operation->loads.count > 0)
            result = plan_add_loads(plan, operation, error);
        else
            result = plan_add_calls(plan, operation, operation->method, error);
        if (result == 0 && operation->loads.count == 0 && operation->base != NULL)
            result = plan_add_calls(plan, operation, operation->base, error);
        if (result != 0)
            return -1;
    }
    return 0;
}

void plan_free(struct plan *plan)
{
    free(plan->points);
    *plan = (struct plan){0};
}

/* ---- the deliveries ---- */

/* A call's arguments: two numbers, or the eight bytes of two 32-bit numbers, little-endian. */
static void write_arguments(const struct point *point, bool as_bytes, struct buf *out)
{
    const uint64_t both = point->size << 32 | point->count;
    unsigned char bytes[8], text[16];

    if (!as_bytes) {
        buf_printf(out, "[%" PRIu64 ",%" PRIu64 "]", point->count, point->size);
        return;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(both >> (8 * i));
    EVP_EncodeBlock(text, bytes, sizeof bytes);
    buf_printf(out, "[{\"base64\":\"%s\"}]", (const char *)text);
}

void plan_write(const struct plan *plan, const struct suite *suite, struct buf *out)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct point *point = &plan->points[i];
        const struct suite_contract *contract = &suite->contracts[point->contract];

        for (uint64_t j = 0; point->method != NULL && j <= suite->calls; j++) {
            buf_append_string(out, "{\"vat\":");
            json_text_string(out, contract->name, strlen(contract->name));
            buf_append_string(out, ",\"method\":");
            json_text_string(out, point->method, strlen(point->method));
            buf_append_string(out, ",\"args\":");
            write_arguments(point, contract->takes_bytes, out);
            buf_append_string(out, "}\n");
        }
    }
}

/* ---- measurements ---- */

/* The state of reading the lines. */
struct taking {
    struct plan *plan;
    const struct suite *suite;
    size_t point;   /* that the next call belongs to */
    uint64_t calls; /* that it had before */
};

static void add_sample(struct sample *sample, const json_t *value)
{
    const double number = json_number_value(value);

    if (!json_is_number(value))
        return;
    sample->sum += number;
    if (sample->count == 0 || number < sample->least)
        sample->least = number;
    if (sample->count == 0 || number > sample->most)
        sample->most = number;
    sample->count++;
}

static void add_samples(struct point *point, const json_t *delivery)
{
    static const char *const members[MEASURES] = {
        [MEASURE_INSTRUCTIONS] = "instructions",
        [MEASURE_COMPUTRONS] = "compute",
        [MEASURE_BLOCK_COST] = "blockCost",
        [MEASURE_GAS] = "gasBurnt",
    };

    for (size_t i = 0; i < MEASURES; i++)
        add_sample(&point->samples[i], json_object_get(delivery, members[i]));
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

static int check_status(const json_t *delivery, const char *method, struct error *error)
{
    if (strcmp(text_of(delivery, "status"), "ok") == 0)
        return 0;
    return error_set(error, ERROR_DELIVERY, "%s of contract %s failed: %s", method,
                     text_of(delivery, "vat"), text_of(delivery, "error"));
}

static int take_plan_start(struct taking *taking, const json_t *delivery, struct error *error)
{
    const char *vat = text_of(delivery, "vat");

    for (size_t i = 0; i < taking->suite->contract_count; i++) {
        const struct point like = {.contract = i};
        struct point *point;

        if (strcmp(taking->suite->contracts[i].name, vat) != 0)
            continue;
        point = plan_find(taking->plan, &like);
        if (point != NULL)
            add_samples(point, delivery);
    }
    return check_status(delivery, "the start", error);
}

/* Returns true if a delivery's description, "(o+0).METHOD -> p-60", names this method. */
static bool is_of_method(const char *description, const char *method)
{
    static const char root[] = "(o+0).";
    const char *name = description + strlen(root);
    const size_t length = strlen(method);

    return strncmp(description, root, strlen(root)) == 0 && strncmp(name, method, length) == 0 &&
           (name[length] == '\0' || name[length] == ' ');
}

static void skip_starts(struct taking *taking)
{
    while (taking->point < taking->plan->count &&
           taking->plan->points[taking->point].method == NULL)
        taking->point++;
}

/* Other deliveries than the plan's are what its calls caused, such as of promises. */
static int take_plan_call(struct taking *taking, const json_t *delivery, struct error *error)
{
    struct point *point;
    const char *vat;

    skip_starts(taking);
    if (taking->point >= taking->plan->count)
        return 0;
    point = &taking->plan->points[taking->point];
    vat = taking->suite->contracts[point->contract].name;
    if (strcmp(text_of(delivery, "vat"), vat) != 0 ||
        !is_of_method(text_of(delivery, "description"), point->method))
        return 0;
    if (check_status(delivery, point->method, error) != 0)
        return -1;
    if (taking->calls > 0)
        add_samples(point, delivery);
    if (taking->calls++ == taking->suite->calls) {
        taking->point++;
        taking->calls = 0;
    }
    return 0;
}

static int take_plan_line(struct taking *taking, const char *line, size_t length,
                          struct error *error)
{
    json_t *object = json_value_read(line, length, JSON_ALLOW_NUL, NULL);
    int result = 0;

    if (object == NULL)
        return error_set(error, ERROR_INPUT, "the counts are no JSON lines of gaspipe run");
    if (strcmp(text_of(object, "kind"), "delivery") == 0)
        result = strcmp(text_of(object, "description"), "startVat") == 0
                     ? take_plan_start(taking, object, error)
                     : take_plan_call(taking, object, error);
    json_decref(object);
    return result;
}

int plan_take(struct plan *plan, const struct suite *suite, const struct buf *lines,
              struct error *error)
{
    struct taking taking = {.plan = plan, .suite = suite};
    const char *line;
    size_t place = 0, length;

    while (lines_next(lines, &place, &line, &length))
        if (length > 0 && take_plan_line(&taking, line, length, error) != 0)
            return -1;
    skip_starts(&taking);
    if (taking.point < plan->count)
        return error_set(error, ERROR_INPUT, "the counts have no call %" PRIu64 " of %s of %s",
                         taking.calls + 1, plan->points[taking.point].method,
                         suite->contracts[plan->points[taking.point].contract].name);
    return 0;
}
