/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/against.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "tools/command/against_changes.h"
#include "tools/command/commands.h"
#include "tools/input/feed.h"

#define FIRST_HALF "first-half"

/* ---- the selection ------------------------------------------------------ */

/* Options of the selection by their names, and which member of struct selection each replaces. */
enum against_word {
    WORD_VAT,
    WORD_KIND,
    WORD_CRANK,
    WORD_BLOCK,
    WORD_RUN,
    WORD_SINCE,
    WORD_UNTIL,
    WORD_MIN_DURATION,
    AGAINST_WORDS
};

static const char *const word_names[AGAINST_WORDS] = {
    [WORD_VAT] = "vat",     [WORD_KIND] = "kind",
    [WORD_CRANK] = "crank", [WORD_BLOCK] = "block",
    [WORD_RUN] = "run",     [WORD_SINCE] = "since",
    [WORD_UNTIL] = "until", [WORD_MIN_DURATION] = "min-duration"};

/* The word before the first '='; AGAINST_WORDS if it is none. */
static enum against_word word_of(const char *text)
{
    const size_t length = strcspn(text, "=");
    int word = 0;

    if (text[length] == '\0')
        return AGAINST_WORDS;
    while (word < AGAINST_WORDS &&
           (strlen(word_names[word]) != length || strncmp(text, word_names[word], length) != 0))
        word++;
    return (enum against_word)word;
}

bool against_is_selection(const char *value)
{
    return strcmp(value, FIRST_HALF) == 0 || word_of(value) != AGAINST_WORDS;
}

/* The selection of the deliveries to compare with; its lists are owned, as those of an option. */
struct against_selection {
    struct selection selection;
    char *text; /* what the lists borrow from; owned */
    bool replaced[AGAINST_WORDS];
};

/* The first occurrence of a word replaces the command line's value. */
static void forget(struct against_selection *against, enum against_word word)
{
    struct selection *selection = &against->selection;

    if (against->replaced[word])
        return;
    against->replaced[word] = true;
    if (word == WORD_VAT)
        option_list_free(&selection->vats);
    else if (word == WORD_KIND)
        option_list_free(&selection->kinds);
    else if ((word == WORD_SINCE && !against->replaced[WORD_UNTIL]) ||
             (word == WORD_UNTIL && !against->replaced[WORD_SINCE]))
        selection->times = (struct range){0};
}

static int take_word(struct against_selection *against, char *text, struct error *error)
{
    struct selection *selection = &against->selection;
    const enum against_word word = word_of(text);
    char *value = text + strcspn(text, "=") + 1, option[48];

    if (word == AGAINST_WORDS)
        return error_set(error, ERROR_USAGE,
                         "--against needs vat=, kind=, crank=, block=, run=, since=, until= or "
                         "min-duration=, with commas between, not '%s'",
                         text);
    forget(against, word);
    snprintf(option, sizeof option, "--against %s", word_names[word]);
    switch (word) {
    case WORD_VAT:
        return option_list_add(&selection->vats, value, error);
    case WORD_KIND:
        return option_list_add(&selection->kinds, value, error);
    case WORD_CRANK:
        return selection_take_range(&selection->cranks, option, value, error);
    case WORD_BLOCK:
        return selection_take_range(&selection->blocks, option, value, error);
    case WORD_RUN:
        return selection_take_range(&selection->runs, option, value, error);
    case WORD_SINCE:
        return selection_take_since(&selection->times, option, value, error);
    case WORD_UNTIL:
        return selection_take_until(&selection->times, option, value, error);
    default:
        return selection_take_duration(&selection->minimum, option, value, error);
    }
}

static int copy_list(struct option_list *copy, const struct option_list *list, struct error *error)
{
    *copy = (struct option_list){0};
    for (size_t i = 0; i < list->count; i++)
        if (option_list_add(copy, list->items[i], error) != 0)
            return -1;
    return 0;
}

static int parse_against(struct against_selection *against, const struct options *options,
                         struct error *error)
{
    char *rest, *word;

    against->selection = options->selection;
    against->selection.vats = against->selection.kinds = (struct option_list){0};
    against->selection.seen = NULL;
    if (copy_list(&against->selection.vats, &options->selection.vats, error) != 0 ||
        copy_list(&against->selection.kinds, &options->selection.kinds, error) != 0)
        return -1;
    if (!against_is_selection(options->against) || strcmp(options->against, FIRST_HALF) == 0)
        return 0;
    against->text = strdup(options->against);
    if (against->text == NULL)
        return error_memory(error, "--against");
    for (word = strtok_r(against->text, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest))
        if (take_word(against, word, error) != 0)
            return -1;
    return against->replaced[WORD_KIND] ? selection_begin(&against->selection, error) : 0;
}

/* ---- halves ------------------------------------------------------------- */

struct starts {
    const struct selection *selection;
    int64_t *moments; /* of live deliveries, nanoseconds since the epoch; owned */
    size_t count, capacity;
};

static int starts_on_delivery(void *context, const struct model_delivery *delivery,
                              struct error *error)
{
    struct starts *starts = context;
    int64_t *moments;

    if (delivery->replay || delivery->start == MODEL_NONE ||
        !selection_takes(starts->selection, delivery))
        return 0;
    moments = array_reserve(starts->moments, &starts->capacity, starts->count + 1, sizeof *moments);
    if (moments == NULL)
        return error_memory(error, "the times of deliveries");
    starts->moments = moments;
    moments[starts->count++] = delivery->start;
    return 0;
}

static int by_moment(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

/* Reads the files once to find where the second half of the selected deliveries begins. */
static int find_half(struct against_selection *against, const struct options *options,
                     struct error *error)
{
    struct starts starts = {.selection = &options->selection};
    struct feed feed = options_feed(options);
    struct range *times = &against->selection.times;
    struct tally tally;
    int result;

    for (char *const *file = options->files; *file != NULL; file++)
        if (strcmp(*file, "-") == 0)
            return error_set(error, ERROR_USAGE,
                             "--against " FIRST_HALF " reads twice, which stdin does not allow");
    feed.vats = NULL; /* the second reading reports them */
    feed.sink = (struct model_sink){.delivery = starts_on_delivery, .context = &starts};
    result = feed_run(&feed, &tally, error);
    tally_free(&tally);
    if (result == 0 && starts.count > 0) {
        qsort(starts.moments, starts.count, sizeof *starts.moments, by_moment);
        times->first = times->set ? times->first : 0;
        times->last = starts.moments[starts.count / 2] - 1;
        times->set = true;
    }
    free(starts.moments);
    return result;
}

/* ---- two summaries ------------------------------------------------------ */

struct against {
    const struct selection *selection, *before; /* before NULL: one side is read */
    struct change_side *side;                   /* of `selection` */
    struct change_side *side_before;
    const struct option_list *vats; /* that --against names; NULL: none */
    uint64_t run;
};

static int against_on_delivery(void *context, const struct model_delivery *delivery,
                               struct error *error)
{
    struct against *against = context;

    const bool now = selection_takes(against->selection, delivery);

    if (against->before != NULL && selection_takes(against->before, delivery))
        return change_side_add(against->side_before, delivery, error);
    return now ? change_side_add(against->side, delivery, error) : 0;
}

static void against_on_phase(void *context, const struct phase_span *span)
{
    struct against *against = context;

    if (against->before != NULL && selection_takes_phase(against->before, span, against->run))
        groups_add_phase(&against->side_before->groups, span);
    else if (selection_takes_phase(against->selection, span, against->run))
        groups_add_phase(&against->side->groups, span);
}

static void against_on_note(void *context, const struct model_note *note)
{
    ((struct against *)context)->run += note->kind == MODEL_NOTE_KERNEL;
}

static void explain_sides(const struct against *against, const char *words, uint64_t all)
{
    const uint64_t before = against->before != NULL ? against->side_before->chosen : 0;

    selection_explain(against->selection, against->side->chosen + before, all);
    if (against->before == NULL || all == 0)
        return;
    selection_explain_kinds(against->before);
    if (before == 0 && against->side->chosen > 0)
        log_line("--against %s: none of the %" PRIu64 " deliveries was chosen", words, all);
}

static int read_side(const struct options *options, char *const *files, struct against *against,
                     struct error *error)
{
    struct feed feed = options_feed(options);
    struct tally tally;
    int result;

    against->run = 1;
    feed.files = files;
    if (against->vats != NULL)
        feed.vats = against->vats;
    feed.sink = (struct model_sink){.delivery = against_on_delivery,
                                    .phase = against_on_phase,
                                    .note = against_on_note,
                                    .context = against};
    result = feed_run(&feed, &tally, error);
    if (result == 0)
        explain_sides(against, options->against, tally.totals.deliveries);
    tally_free(&tally);
    return result;
}

/* A phase belongs to no vat's, kind's or crank's deliveries: of none or both sides. */
static bool divides_phases(const struct against_selection *against)
{
    return !against->replaced[WORD_VAT] && !against->replaced[WORD_KIND] &&
           !against->replaced[WORD_CRANK] && !against->replaced[WORD_MIN_DURATION];
}

/* A word that is neither a file nor a selection may be a typo. */
static int check_against_word(const char *word, struct error *error)
{
    struct similar similar = {.word = word};
    const char *hint;

    if (against_is_selection(word) || access(word, F_OK) == 0)
        return 0;
    similar_try(&similar, FIRST_HALF);
    hint = similar_hint(&similar, "");
    return hint[0] == '\0' ? 0
                           : error_set(error, ERROR_USAGE,
                                       "--against %s: no such file or selection%s", word, hint);
}

static int read_sides(const struct options *options, struct against_selection *selection,
                      struct changes *changes, struct error *error)
{
    char *const file[] = {(char *)options->against, NULL};
    struct against against = {.selection = &options->selection, .side = &changes->before};

    if (check_against_word(options->against, error) != 0 ||
        (!against_is_selection(options->against) && read_side(options, file, &against, error) != 0))
        return -1;
    against.side = &changes->now;
    if (against_is_selection(options->against)) {
        against.before = &selection->selection;
        against.side_before = &changes->before;
        against.vats = selection->replaced[WORD_VAT] ? &selection->selection.vats : NULL;
        changes->with_phases = divides_phases(selection);
        if (strcmp(options->against, FIRST_HALF) == 0 && find_half(selection, options, error) != 0)
            return -1;
    }
    return read_side(options, options->files, &against, error);
}

int against_run(const struct options *options, struct error *error)
{
    struct against_selection selection = {0};
    struct changes changes = {.against = options->against,
                              .is_file = !against_is_selection(options->against),
                              .with_phases = true,
                              .by = options->by_given ? options->by : NULL};
    int result = parse_against(&selection, options, error);

    changes_init(&changes);
    if (result == 0)
        result = read_sides(options, &selection, &changes, error);
    if (result == 0)
        result = changes_write(&changes, options->json, error);
    changes_free(&changes);
    selection_free(&selection.selection);
    free(selection.text);
    return result;
}
