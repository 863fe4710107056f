/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input/selection.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/number.h"

enum { NANOSECONDS = 1000000000 };

/* Parses a number at *text, if there is one. */
static bool selection_take_number(const char **text, int64_t *number)
{
    uint64_t taken;

    if (**text < '0' || **text > '9')
        return true;
    if (!number_take(text, &taken) || taken > INT64_MAX)
        return false;
    *number = (int64_t)taken;
    return true;
}

int selection_take_range(void *place, const char *option, char *value, struct error *error)
{
    struct range *range = place;
    const char *at = value;

    *range = (struct range){0, INT64_MAX, true};
    if (!selection_take_number(&at, &range->first))
        goto wrong;
    if (*at == '\0' && at != value) {
        range->last = range->first;
        return 0;
    }
    if (*at++ == '-' && selection_take_number(&at, &range->last) && *at == '\0' &&
        value[1] != '\0' && range->first <= range->last)
        return 0;
wrong:
    return error_set(error, ERROR_USAGE, "%s needs a range, such as 5, 5-9, 5- or -9, not '%s'",
                     option, value);
}

/* Parses non-negative seconds; *rest is what follows. */
static bool take_seconds(const char *text, double *seconds, char **rest)
{
    if ((*text < '0' || *text > '9') && *text != '.')
        return false;
    *seconds = strtod(text, rest);
    return *rest != text && isfinite(*seconds) && *seconds < 9e9;
}

static bool take_date(const char *text, double *seconds)
{
    struct tm date = {0};
    char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &date);
    double fraction = 0;

    if (rest == NULL || (*rest == '.' && !take_seconds(rest, &fraction, &rest)) ||
        strcmp(rest, "Z") != 0)
        return false;
    *seconds = (double)timegm(&date) + fraction;
    return *seconds >= 0;
}

static int take_moment(int64_t *nanoseconds, const char *option, const char *value,
                       struct error *error)
{
    double seconds;
    char *rest;

    if (!take_date(value, &seconds) && (!take_seconds(value, &seconds, &rest) || *rest != '\0'))
        return error_set(
            error, ERROR_USAGE,
            "%s needs a time, such as 1795219394.5 or 2026-11-21T00:03:14.5Z, not '%s'", option,
            value);
    /* To the microsecond, the precision of a double. */
    *nanoseconds = llround(seconds * 1e6) * 1000;
    return 0;
}

static void set_range(struct range *range)
{
    if (!range->set)
        *range = (struct range){0, INT64_MAX, true};
}

int selection_take_since(void *place, const char *option, char *value, struct error *error)
{
    struct range *range = place;

    set_range(range);
    return take_moment(&range->first, option, value, error);
}

int selection_take_until(void *place, const char *option, char *value, struct error *error)
{
    struct range *range = place;

    set_range(range);
    return take_moment(&range->last, option, value, error);
}

int selection_take_duration(void *place, const char *option, char *value, struct error *error)
{
    static const struct {
        const char *unit;
        double nanoseconds;
    } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1}};
    double number;
    char *rest;

    if (take_seconds(value, &number, &rest)) {
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            if (strcmp(rest, units[i].unit) == 0) {
                *(int64_t *)place = llround(number * units[i].nanoseconds);
                return 0;
            }
        }
    }
    return error_set(error, ERROR_USAGE,
                     "%s needs a duration, such as 0.5, 0.5s, 20ms or 300us, not '%s'", option,
                     value);
}

void selection_free(struct selection *selection)
{
    option_list_free(&selection->vats);
    option_list_free(&selection->kinds);
    if (selection->seen != NULL)
        names_free(selection->seen);
    free(selection->seen);
    selection->seen = NULL;
}

int selection_begin(struct selection *selection, struct error *error)
{
    if (selection->kinds.count == 0)
        return 0;
    selection->seen = calloc(1, sizeof *selection->seen);
    return selection->seen != NULL ? 0 : error_memory(error, "the selection");
}

static bool has_word(const struct option_list *words, const char *word, const char *other)
{
    for (size_t i = 0; i < words->count; i++) {
        if (strcmp(words->items[i], word) == 0 || strcmp(words->items[i], other) == 0)
            return true;
    }
    return words->count == 0;
}

bool selection_in_range(const struct range *range, int64_t number)
{
    return !range->set || (number != MODEL_NONE && number >= range->first && number <= range->last);
}

bool selection_has_vat(const struct selection *selection, const char *id, const char *name)
{
    return has_word(&selection->vats, id, name);
}

/* Without memory for a name, it is only missing among the suggestions. */
static void see_kind(const struct selection *selection, const struct model_delivery *delivery)
{
    if (selection->seen == NULL)
        return;
    (void)names_intern(selection->seen, delivery->kind, strlen(delivery->kind));
    (void)names_intern(selection->seen, delivery->method, strlen(delivery->method));
}

bool selection_takes(const struct selection *selection, const struct model_delivery *delivery)
{
    see_kind(selection, delivery);
    return selection_has_vat(selection, delivery->vat_id, delivery->vat_name) &&
           has_word(&selection->kinds, delivery->kind, delivery->method) &&
           selection_in_range(&selection->cranks, delivery->crank_num) &&
           selection_in_range(&selection->blocks, delivery->block_height) &&
           selection_in_range(&selection->runs, (int64_t)delivery->run) &&
           selection_in_range(&selection->times, delivery->start) &&
           (selection->minimum == 0 || delivery->total >= selection->minimum);
}

/* Phases and blocks have no kind or crank to select by. */
static bool is_about_deliveries(const struct selection *selection)
{
    return selection->kinds.count > 0 || selection->cranks.set;
}

bool selection_takes_phase(const struct selection *selection, const struct phase_span *span,
                           uint64_t run)
{
    return !is_about_deliveries(selection) && has_word(&selection->vats, span->vat_id, "") &&
           selection_in_range(&selection->blocks, span->block_height) &&
           selection_in_range(&selection->runs, (int64_t)run) &&
           selection_in_range(&selection->times, span->start) &&
           (selection->minimum == 0 || span->total >= selection->minimum);
}

bool selection_takes_block(const struct selection *selection, const struct phase_block *block,
                           uint64_t run)
{
    return !is_about_deliveries(selection) && selection->vats.count == 0 &&
           selection_in_range(&selection->blocks, block->height) &&
           selection_in_range(&selection->runs, (int64_t)run) &&
           selection_in_range(&selection->times, block->start) &&
           (selection->minimum == 0 || block->total >= selection->minimum);
}

bool selection_takes_inbound(const struct selection *selection, const struct model_inbound *inbound)
{
    return !is_about_deliveries(selection) && selection->vats.count == 0 &&
           selection->minimum == 0 &&
           selection_in_range(&selection->blocks, inbound->block_height) &&
           selection_in_range(&selection->runs, (int64_t)inbound->run) &&
           selection_in_range(&selection->times, inbound->time);
}

static void explain_kind(const struct names *seen, const char *word)
{
    struct similar similar = {.word = word};
    const char *hint;

    for (uint32_t i = 0; i < seen->count; i++) {
        const char *name = names_text(seen, i);

        if (strcmp(word, name) == 0)
            return;
        if (name[0] != '\0')
            similar_try(&similar, name);
    }
    hint = similar_hint(&similar, "");
    log_line("--kind %s: no such kind or method%s", word,
             hint[0] != '\0' ? hint : "; slogreport summary --by kind lists them");
}

void selection_explain_kinds(const struct selection *selection)
{
    for (size_t i = 0; selection->seen != NULL && i < selection->kinds.count; i++)
        explain_kind(selection->seen, selection->kinds.items[i]);
}

void selection_explain(const struct selection *selection, uint64_t chosen, uint64_t all)
{
    if (all > 0)
        selection_explain_kinds(selection);
    if (all == 0)
        log_line("no deliveries to report");
    else if (chosen == 0 && all == 1)
        log_line("the only delivery was not chosen");
    else if (chosen == 0)
        log_line("none of the %" PRIu64 " deliveries was chosen", all);
}
