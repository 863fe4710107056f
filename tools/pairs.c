/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/digest.h"

/*
 * A ratio this many spreads (in logarithms) above the usual one stands out: of
 * values spread normally, one in some hundred would.
 */
#define OUTSTANDING_SPREADS 3.5

/* Clocks and schedulers alone make so much of a difference. */
#define SMALLEST_SPREAD 1.02

static const char *const part_names[PAIR_PARTS] = {
    [PAIR_TOTAL] = "total",
    [PAIR_PIPE] = "pipe",
    [PAIR_WORKER] = "worker",
    [PAIR_KERNEL] = "kernel",
};

const char *pair_part_name(enum pair_part part)
{
    return part_names[part];
}

/* ---- taking in ---------------------------------------------------------- */

static size_t add_word(struct pairs *pairs, const char *word)
{
    size_t at = pairs->words.length;

    buf_append(&pairs->words, word, strlen(word) + 1);
    return at;
}

static int number_of(struct pairs *pairs, const struct model_delivery *delivery, uint32_t *number)
{
    struct buf key = {0};

    buf_printf(&key, "%" PRId64 " %s", delivery->delivery_num, delivery->vat_id);
    *number = buf_failed(&key) ? NAMES_NONE : names_intern(&pairs->keys, key.data, key.length);
    buf_free(&key);
    return *number == NAMES_NONE ? -1 : 0;
}

static struct pair *add_pair(struct pairs *pairs, const struct model_delivery *delivery)
{
    struct pair *array =
        array_reserve(pairs->pairs, &pairs->capacity, pairs->count + 1, sizeof *array);
    struct pair *pair;

    if (array == NULL)
        return NULL;
    pairs->pairs = array;
    pair = &array[pairs->count++];
    *pair = (struct pair){.delivery_num = delivery->delivery_num, .ratio = NAN};
    pair->vat_id = add_word(pairs, delivery->vat_id);
    pair->description = add_word(pairs, delivery->description);
    return buf_failed(&pairs->words) ? NULL : pair;
}

static struct pair_side side_of(const struct model_delivery *delivery)
{
    return (struct pair_side){
        .present = true,
        .ok = delivery->status == MODEL_OK,
        .timed = delivery->pipe != MODEL_NONE && !delivery->clock_changed,
        .crank_num = delivery->crank_num,
        .parts = {[PAIR_TOTAL] = delivery->total,
                  [PAIR_PIPE] = delivery->pipe,
                  [PAIR_WORKER] = delivery->worker,
                  [PAIR_KERNEL] = delivery->kernel},
        .compute = delivery->compute,
        .instructions = delivery->instructions,
        .syscalls = delivery->syscalls,
        .result_digest = delivery->result_digest,
        .syscall_digest = delivery->syscall_digest,
        .description_digest =
            digest_add(DIGEST_START, delivery->description, strlen(delivery->description)),
    };
}

int pairs_add(struct pairs *pairs, int side, const struct model_delivery *delivery,
              struct error *error)
{
    struct pair *pair;
    uint32_t number;

    /* A replayed delivery, or one that is not whole, is not the one that was done. */
    if (delivery->replay || delivery->total == MODEL_NONE || delivery->delivery_num == MODEL_NONE)
        return 0;
    if (number_of(pairs, delivery, &number) != 0)
        return error_memory(error, "the deliveries to compare");
    pair = number < pairs->count ? &pairs->pairs[number] : add_pair(pairs, delivery);
    if (pair == NULL)
        return error_memory(error, "the deliveries to compare");
    pair->sides[side] = side_of(delivery);
    return 0;
}

/* ---- what is usual ------------------------------------------------------ */

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof values[0], compare_doubles);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static bool is_timed(const struct pair *pair)
{
    return pair->sides[0].timed && pair->sides[1].timed;
}

/* The logarithms of one part's ratios, where both are more than nought; how many. */
static size_t collect(const struct pairs *pairs, enum pair_part part, double *logs,
                      struct pair_usual *usual)
{
    size_t count = 0;

    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->pairs[i];
        int64_t a = pair->sides[0].parts[part], b = pair->sides[1].parts[part];

        if (!is_timed(pair))
            continue;
        usual->sums[0] += a;
        usual->sums[1] += b;
        usual->count++;
        if (a > 0 && b > 0)
            logs[count++] = log((double)b / (double)a);
    }
    return count;
}

/* The median, and the median distance from it, which a few outliers do not move. */
static struct pair_usual usual_of(const struct pairs *pairs, enum pair_part part, double *logs)
{
    struct pair_usual usual = {.ratio = 1, .spread = SMALLEST_SPREAD};
    size_t count = collect(pairs, part, logs, &usual);
    double middle;

    if (count == 0)
        return usual;
    middle = median(logs, count);
    usual.ratio = exp(middle);
    for (size_t i = 0; i < count; i++)
        logs[i] = fabs(logs[i] - middle);
    usual.spread = fmax(exp(median(logs, count)), SMALLEST_SPREAD);
    return usual;
}

static int64_t beyond_usual(const struct pairs *pairs, const struct pair *pair, enum pair_part part)
{
    double expected = (double)pair->sides[0].parts[part] * pairs->usual[part].ratio;

    return (int64_t)((double)pair->sides[1].parts[part] - expected);
}

static void compute_pair(struct pairs *pairs, struct pair *pair)
{
    int64_t a = pair->sides[0].parts[PAIR_TOTAL], b = pair->sides[1].parts[PAIR_TOTAL];

    pairs->both += pair->sides[0].present && pair->sides[1].present;
    pairs->only[0] += !pair->sides[1].present;
    pairs->only[1] += !pair->sides[0].present;
    if (!is_timed(pair) || a <= 0 || b <= 0)
        return;
    pair->ratio = (double)b / (double)a;
    pair->excess = beyond_usual(pairs, pair, PAIR_TOTAL);
}

int pairs_compute(struct pairs *pairs, struct error *error)
{
    double *logs = calloc(pairs->count + 1, sizeof *logs);

    if (logs == NULL)
        return error_memory(error, "the deliveries to compare");
    for (int part = 0; part < PAIR_PARTS; part++)
        pairs->usual[part] = usual_of(pairs, (enum pair_part)part, logs);
    free(logs);
    for (size_t i = 0; i < pairs->count; i++)
        compute_pair(pairs, &pairs->pairs[i]);
    return 0;
}

/* ---- one pair ----------------------------------------------------------- */

static bool both_said_and_differ(double a, double b)
{
    return !isnan(a) && !isnan(b) && a != b;
}

unsigned pair_differences(const struct pair *pair)
{
    const struct pair_side *a = &pair->sides[0], *b = &pair->sides[1];
    unsigned differences = 0;

    if (!a->present || !b->present)
        return 0;
    differences |= a->description_digest != b->description_digest ? PAIR_INPUT : 0;
    differences |= a->ok != b->ok || a->result_digest != b->result_digest ? PAIR_RESULT : 0;
    differences |= a->syscall_digest != b->syscall_digest ? PAIR_SYSCALLS : 0;
    differences |= both_said_and_differ(a->compute, b->compute) ? PAIR_COMPUTE : 0;
    differences |= both_said_and_differ(a->instructions, b->instructions) ? PAIR_INSTRUCTIONS : 0;
    return differences;
}

bool pair_is_slower(const struct pairs *pairs, const struct pair *pair)
{
    const struct pair_usual *usual = &pairs->usual[PAIR_TOTAL];

    return !isnan(pair->ratio) &&
           log(pair->ratio / usual->ratio) > OUTSTANDING_SPREADS * log(usual->spread);
}

enum pair_part pair_where(const struct pairs *pairs, const struct pair *pair)
{
    enum pair_part most = PAIR_PIPE;

    for (int part = PAIR_PIPE; part < PAIR_PARTS; part++) {
        if (beyond_usual(pairs, pair, (enum pair_part)part) > beyond_usual(pairs, pair, most))
            most = (enum pair_part)part;
    }
    return most;
}

void pairs_free(struct pairs *pairs)
{
    free(pairs->pairs);
    names_free(&pairs->keys);
    buf_free(&pairs->words);
    *pairs = (struct pairs){0};
}
