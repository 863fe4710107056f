/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/profile/count_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"

/* What is sorted: an index, by a number, then by where it stands. */
struct ranked {
    size_t index;
    uint64_t number;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->number != y->number)
        return x->number < y->number ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Those stacks that have instructions of their own, most first. To be freed; NULL: no memory. */
static struct ranked *rank_stacks(const struct count_profile *profile, size_t *count)
{
    struct ranked *ranked = calloc(profile->stack_count + 1, sizeof *ranked);

    *count = 0;
    for (size_t i = 1; ranked != NULL && i < profile->stack_count; i++)
        if (profile->stacks[i].self > 0)
            ranked[(*count)++] = (struct ranked){i, profile->stacks[i].self};
    if (ranked != NULL)
        qsort(ranked, *count, sizeof *ranked, compare_ranked);
    return ranked;
}

static struct ranked *rank_functions(const struct count_profile *profile)
{
    struct ranked *ranked = calloc(profile->function_count + 1, sizeof *ranked);

    for (size_t i = 0; ranked != NULL && i < profile->function_count; i++)
        ranked[i] = (struct ranked){i, profile->functions[i].self};
    if (ranked != NULL)
        qsort(ranked, profile->function_count, sizeof *ranked, compare_ranked);
    return ranked;
}

/* ---- folded ---- */

/* Outermost first, with that between them. The depth is limited by counter/qemu/code/profile.h. */
static void put_frames(struct buf *out, const struct count_profile *profile, size_t index,
                       void (*put)(struct buf *out, const struct profile_function *function),
                       char between)
{
    const struct profile_stack *stack = &profile->stacks[index];

    if (stack->parent != 0) {
        put_frames(out, profile, stack->parent, put, between);
        buf_append_byte(out, between);
    }
    put(out, &profile->functions[stack->function]);
}

static void put_plain(struct buf *out, const struct profile_function *function)
{
    buf_printf(out, "%s`%s", function->object, function->name);
}

int count_profile_fold(struct buf *out, const struct count_profile *profile, struct error *error)
{
    size_t count;
    struct ranked *ranked = rank_stacks(profile, &count);

    if (ranked == NULL)
        return error_memory(error, "the profile");
    for (size_t i = 0; i < count; i++) {
        put_frames(out, profile, ranked[i].index, put_plain, ';');
        buf_printf(out, " %" PRIu64 "\n", ranked[i].number);
    }
    free(ranked);
    return 0;
}

/* ---- JSON ---- */

static void put_string(struct buf *out, const char *string)
{
    json_text_string(out, string, strlen(string));
}

static void put_quoted(struct buf *out, const struct profile_function *function)
{
    struct buf frame = {0};

    put_plain(&frame, function);
    json_text_string(out, frame.data, frame.length);
    buf_free(&frame);
}

/* Functions are in order of their objects. */
static uint64_t put_objects(struct buf *out, const struct count_profile *profile)
{
    const struct profile_function *functions = profile->functions;
    uint64_t all = 0;
    size_t next;

    for (size_t i = 0; i < profile->function_count; i = next) {
        uint64_t self = 0;

        for (next = i; next < profile->function_count &&
                       strcmp(functions[next].object, functions[i].object) == 0;
             next++)
            self += functions[next].self;
        buf_append_string(out, "{\"kind\":\"object\",\"object\":");
        put_string(out, functions[i].object);
        buf_printf(out, ",\"self\":%" PRIu64 "}\n", self);
        all += self;
    }
    return all;
}

static void put_functions(struct buf *out, const struct count_profile *profile,
                          const struct ranked *ranked)
{
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct profile_function *function = &profile->functions[ranked[i].index];

        buf_append_string(out, "{\"kind\":\"function\",\"object\":");
        put_string(out, function->object);
        buf_append_string(out, ",\"function\":");
        put_string(out, function->name);
        buf_printf(out, ",\"self\":%" PRIu64 ",\"total\":%" PRIu64, function->self,
                   function->total);
        if (function->source != NULL) {
            buf_append_string(out, ",\"file\":");
            put_string(out, function->source);
            buf_printf(out, ",\"line\":%d", function->line);
        }
        buf_append_string(out, "}\n");
    }
}

static void put_stacks(struct buf *out, const struct count_profile *profile,
                       const struct ranked *ranked, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_append_string(out, "{\"kind\":\"stack\",\"frames\":[");
        put_frames(out, profile, ranked[i].index, put_quoted, ',');
        buf_printf(out, "],\"self\":%" PRIu64 "}\n", ranked[i].number);
    }
}

/* In the order in which they come. */
static void put_places(struct buf *out, const struct count_profile *profile)
{
    for (size_t i = 0; i < profile->place_count; i++) {
        const struct profile_place *place = &profile->places[i];

        buf_append_string(out, "{\"kind\":\"line\",\"file\":");
        put_string(out, place->source);
        buf_printf(out, ",\"line\":%d,\"function\":", place->line);
        put_string(out, profile->functions[place->function].name);
        buf_printf(out, ",\"self\":%" PRIu64 "}\n", place->self);
    }
}

int count_profile_json(struct buf *out, const struct count_profile *profile, struct error *error)
{
    size_t count;
    struct ranked *functions = rank_functions(profile);
    struct ranked *stacks = rank_stacks(profile, &count);
    int result = 0;

    if (functions != NULL && stacks != NULL) {
        uint64_t all = put_objects(out, profile);

        put_functions(out, profile, functions);
        put_stacks(out, profile, stacks, count);
        put_places(out, profile);
        buf_printf(out, "{\"kind\":\"summary\",\"%s\":%" PRIu64 ",\"stacks\":%zu}\n", profile->unit,
                   all, count);
    } else {
        result = error_memory(error, "the profile");
    }
    free(functions);
    free(stacks);
    return result;
}

/* ---- sums, names ---- */

bool count_profile_is_within_itself(const struct count_profile *profile, size_t stack)
{
    size_t function = profile->stacks[stack].function;

    for (size_t outer = profile->stacks[stack].parent; outer != 0;
         outer = profile->stacks[outer].parent)
        if (profile->stacks[outer].function == function)
            return true;
    return false;
}

/* Stacks come behind their parents, so sums go inwards to outwards from the end. */
int count_profile_sum(struct count_profile *profile, struct error *error)
{
    uint64_t *totals = calloc(profile->stack_count, sizeof *totals);

    if (totals == NULL)
        return error_memory(error, "the profile");
    for (size_t i = profile->stack_count; i-- > 1;) {
        const struct profile_stack *stack = &profile->stacks[i];
        struct profile_function *function = &profile->functions[stack->function];

        totals[i] += stack->self;
        totals[stack->parent] += totals[i];
        function->self += stack->self;
        if (!count_profile_is_within_itself(profile, i))
            function->total += totals[i];
    }
    free(totals);
    return 0;
}

char *count_profile_fit_name(const char *name)
{
    char *copy = strdup(name);

    for (char *c = copy; c != NULL && *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;

        if (byte <= ' ' || byte >= 0x7f || byte == ';')
            *c = '_';
    }
    return copy;
}

void count_profile_free(struct count_profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++) {
        free(profile->functions[i].object);
        free(profile->functions[i].name);
        free(profile->functions[i].source);
    }
    for (size_t i = 0; i < profile->place_count; i++)
        free(profile->places[i].source);
    free(profile->places);
    free(profile->functions);
    free(profile->stacks);
    *profile = (struct count_profile){0};
}
