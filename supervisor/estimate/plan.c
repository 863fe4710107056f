/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/plan.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"

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

/* What a call is told: two numbers, or the eight bytes of two 32-bit numbers, little-endian. */
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
