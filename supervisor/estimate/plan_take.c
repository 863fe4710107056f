/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_value.h"
#include "base/lines.h"
#include "supervisor/estimate/plan.h"

/* Where in the plan the lines are. */
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

static int take_start(struct taking *taking, const json_t *delivery, struct error *error)
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

/* Whether the description of a delivery, "(o+0).METHOD -> p-60", is of this method. */
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
static int take_call(struct taking *taking, const json_t *delivery, struct error *error)
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

static int take_line(struct taking *taking, const char *line, size_t length, struct error *error)
{
    json_t *object = json_value_read(line, length, JSON_ALLOW_NUL, NULL);
    int result = 0;

    if (object == NULL)
        return error_set(error, ERROR_INPUT, "the counts are no JSON lines of gaspipe run");
    if (strcmp(text_of(object, "kind"), "delivery") == 0)
        result = strcmp(text_of(object, "description"), "startVat") == 0
                     ? take_start(taking, object, error)
                     : take_call(taking, object, error);
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
        if (length > 0 && take_line(&taking, line, length, error) != 0)
            return -1;
    skip_starts(&taking);
    if (taking.point < plan->count)
        return error_set(error, ERROR_INPUT, "the counts have no call %" PRIu64 " of %s of %s",
                         taking.calls + 1, plan->points[taking.point].method,
                         suite->contracts[plan->points[taking.point].contract].name);
    return 0;
}
