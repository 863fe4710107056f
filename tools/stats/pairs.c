/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/model/fnv1a.h"
#include "tools/stats/varint.h"

/* Identifies a delivery. The description is borrowed from packed bytes. */
struct pair_head {
    uint32_t vat;
    int64_t delivery_num;
    const char *description;
};

/* The bits kept of digests: two different ones agree with probability 2^-48. */
#define PAIR_DIGEST_MASK UINT64_C(0xffffffffffff)

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

double median(double *values, size_t count)
{
    qsort(values, count, sizeof values[0], compare_doubles);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/*
 * Packs deliveries into 20 to 50 bytes per side, since slogfiles of gigabytes have hundreds of
 * thousands. Failure stays in the buffer.
 */

enum { DIGEST_BYTES = 6 };

/* Doubles hold all integers up to here. */
#define MOST_EXACT 0x1p53

/* Flags at the beginning of a side. */
enum {
    IS_OK = 1,
    IS_TIMED = 2,
    IN_MICROSECONDS = 4, /* all parts are whole microseconds */
    HAS_COMPUTE = 8,
    HAS_INSTRUCTIONS = 16,
    HAS_BLOCK_COST = 32,
    HAS_PART = 64, /* shifted by the number of the part */
};

static void pair_pack_head(struct buf *bytes, const struct pair_head *head)
{
    varint_append(bytes, head->vat);
    varint_append_signed(bytes, head->delivery_num);
    buf_append(bytes, head->description, strlen(head->description) + 1);
}

static struct pair_head pair_unpack_head(const char *at)
{
    struct pair_head head;

    head.vat = (uint32_t)varint_read(&at);
    head.delivery_num = varint_read_signed(&at);
    head.description = at;
    return head;
}

/* Meters are whole numbers unless a slogfile invents others, marked by the lowest bit. */
static void pack_meter(struct buf *bytes, double meter)
{
    bool whole = meter >= 0 && meter < MOST_EXACT && meter == trunc(meter);

    if (isnan(meter))
        return;
    varint_append(bytes, whole ? (uint64_t)meter << 1 : 1);
    if (!whole)
        buf_append(bytes, &meter, sizeof meter);
}

static double unpack_meter(const char **at)
{
    uint64_t number = varint_read(at);
    double meter;

    if ((number & 1) == 0)
        return (double)(number >> 1);
    memcpy(&meter, *at, sizeof meter);
    *at += sizeof meter;
    return meter;
}

static unsigned pair_flags_of(const struct pair_side *side)
{
    unsigned flags = (side->ok ? IS_OK : 0) | (side->timed ? IS_TIMED : 0) | IN_MICROSECONDS;

    flags |= isnan(side->compute) ? 0 : HAS_COMPUTE;
    flags |= isnan(side->instructions) ? 0 : HAS_INSTRUCTIONS;
    flags |= isnan(side->block_cost) ? 0 : HAS_BLOCK_COST;
    for (unsigned part = 0; part < PAIR_PARTS; part++) {
        if (side->parts[part] == MODEL_NONE)
            continue;
        flags |= (unsigned)HAS_PART << part;
        if (side->parts[part] % 1000 != 0)
            flags &= ~(unsigned)IN_MICROSECONDS;
    }
    return flags;
}

static void pack_side(struct buf *bytes, const struct pair_side *side)
{
    unsigned flags = pair_flags_of(side);
    int64_t unit = (flags & IN_MICROSECONDS) != 0 ? 1000 : 1;

    varint_append(bytes, flags);
    for (unsigned part = 0; part < PAIR_PARTS; part++) {
        if (side->parts[part] != MODEL_NONE)
            varint_append_signed(bytes, side->parts[part] / unit);
    }
    pack_meter(bytes, side->compute);
    pack_meter(bytes, side->instructions);
    pack_meter(bytes, side->block_cost);
    varint_append(bytes, side->syscalls);
}

static struct pair_side unpack_side(const char **at)
{
    unsigned flags = (unsigned)varint_read(at);
    int64_t unit = (flags & IN_MICROSECONDS) != 0 ? 1000 : 1;
    struct pair_side side = {.present = true,
                             .ok = (flags & IS_OK) != 0,
                             .timed = (flags & IS_TIMED) != 0,
                             .compute = NAN,
                             .instructions = NAN,
                             .block_cost = NAN};

    for (unsigned part = 0; part < PAIR_PARTS; part++)
        side.parts[part] =
            (flags & (unsigned)HAS_PART << part) != 0 ? varint_read_signed(at) * unit : MODEL_NONE;
    if ((flags & HAS_COMPUTE) != 0)
        side.compute = unpack_meter(at);
    if ((flags & HAS_INSTRUCTIONS) != 0)
        side.instructions = unpack_meter(at);
    if ((flags & HAS_BLOCK_COST) != 0)
        side.block_cost = unpack_meter(at);
    side.syscalls = varint_read(at);
    return side;
}

static void append_digest(struct buf *bytes, uint64_t digest)
{
    for (int i = 0; i < DIGEST_BYTES; i++)
        buf_append_byte(bytes, (char)(digest >> 8 * i));
}

static uint64_t read_digest(const char **at)
{
    uint64_t digest = 0;

    for (int i = 0; i < DIGEST_BYTES; i++)
        digest |= (uint64_t)(unsigned char)*(*at)++ << 8 * i;
    return digest;
}

/* Packs the first side with its masked digests, for comparison with the other side's. */
static void pair_pack_first(struct buf *bytes, const struct pair_side *side)
{
    pack_side(bytes, side);
    append_digest(bytes, side->result_digest);
    append_digest(bytes, side->syscall_digest);
    append_digest(bytes, side->description_digest);
}

static struct pair_side pair_unpack_first(const char *at)
{
    struct pair_side side = unpack_side(&at);

    side.result_digest = read_digest(&at);
    side.syscall_digest = read_digest(&at);
    side.description_digest = read_digest(&at);
    return side;
}

/* Packs the second side with the result of the comparison instead of digests. */
static void pair_pack_second(struct buf *bytes, const struct pair_side *side, unsigned differences)
{
    varint_append(bytes, differences);
    pack_side(bytes, side);
}

static struct pair_side pair_unpack_second(const char *at, unsigned *differences)
{
    *differences = (unsigned)varint_read(&at);
    return unpack_side(&at);
}

/*
 * A ratio this many spreads (in logarithms) above the usual is an outlier: of normally distributed
 * values, one in some hundred.
 */
#define OUTSTANDING_SPREADS 3.5

/* Clocks and schedulers alone cause this much difference. */
#define SMALLEST_SPREAD 1.02

/* A power of two. */
enum { FIRST_SLOTS = 256 };

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

/* ---- finding ------------------------------------------------------------ */

static struct pair_head pairs_head_of(const struct pairs *pairs, size_t number)
{
    return pair_unpack_head(pairs->bytes.data + pairs->entries[number].head - 1);
}

/* The factor is 2^64 divided by the golden ratio (Knuth, TAOCP 3, 6.4). */
static size_t hash_delivery(uint32_t vat, int64_t delivery_num)
{
    uint64_t hash = ((uint64_t)delivery_num ^ (uint64_t)vat << 40) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(hash ^ hash >> 32);
}

/* The slot of this delivery, or an empty one for it. */
static uint32_t *slot_of(const struct pairs *pairs, uint32_t vat, int64_t delivery_num)
{
    size_t mask = pairs->slot_count - 1, slot = hash_delivery(vat, delivery_num) & mask;

    for (; pairs->slots[slot] != 0; slot = (slot + 1) & mask) {
        struct pair_head head = pairs_head_of(pairs, pairs->slots[slot] - 1);

        if (head.vat == vat && head.delivery_num == delivery_num)
            break;
    }
    return &pairs->slots[slot];
}

/* Makes space for one more; at most three quarters are full. */
static bool reserve_slot(struct pairs *pairs)
{
    size_t slot_count = pairs->slot_count == 0 ? FIRST_SLOTS : 2 * pairs->slot_count;
    uint32_t *slots;

    if (pairs->count + 1 <= pairs->slot_count / 4 * 3)
        return true;
    slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return false;
    free(pairs->slots);
    pairs->slots = slots;
    pairs->slot_count = slot_count;
    for (size_t i = 0; i < pairs->count; i++) {
        struct pair_head head = pairs_head_of(pairs, i);

        *slot_of(pairs, head.vat, head.delivery_num) = (uint32_t)i + 1;
    }
    return true;
}

/* ---- adding ---------------------------------------------------------- */

/* The offset of the next bytes, + 1. */
static uint32_t next_packed_place(const struct pairs *pairs)
{
    return (uint32_t)pairs->bytes.length + 1;
}

static struct pair_entry *pairs_add_entry(struct pairs *pairs, uint32_t vat,
                                          const struct model_delivery *delivery)
{
    struct pair_head head = {vat, delivery->delivery_num, delivery->description};
    struct pair_entry *entries =
        array_reserve(pairs->entries, &pairs->capacity, pairs->count + 1, sizeof *entries);

    if (entries == NULL)
        return NULL;
    pairs->entries = entries;
    entries[pairs->count] = (struct pair_entry){.head = next_packed_place(pairs)};
    pair_pack_head(&pairs->bytes, &head);
    return buf_failed(&pairs->bytes) ? NULL : &entries[pairs->count++];
}

static struct pair_entry *pairs_entry_of(struct pairs *pairs, const struct model_delivery *delivery)
{
    uint32_t vat = names_intern(&pairs->vats, delivery->vat_id, strlen(delivery->vat_id));
    struct pair_entry *entry;
    uint32_t *slot;

    if (vat == NAMES_NONE || !reserve_slot(pairs))
        return NULL;
    slot = slot_of(pairs, vat, delivery->delivery_num);
    if (*slot != 0)
        return &pairs->entries[*slot - 1];
    entry = pairs_add_entry(pairs, vat, delivery);
    if (entry != NULL)
        *slot = (uint32_t)pairs->count;
    return entry;
}

static struct pair_side pair_side_of(const struct model_delivery *delivery)
{
    const char *description = delivery->description;

    return (struct pair_side){
        .present = true,
        .ok = delivery->status == MODEL_OK,
        .timed = delivery->pipe != MODEL_NONE && !delivery->clock_changed,
        .parts = {[PAIR_TOTAL] = delivery->total,
                  [PAIR_PIPE] = delivery->pipe,
                  [PAIR_WORKER] = delivery->worker,
                  [PAIR_KERNEL] = delivery->kernel},
        .compute = delivery->compute,
        .instructions = delivery->instructions,
        .block_cost = delivery->block_cost,
        .syscalls = delivery->syscalls,
        .result_digest = delivery->result_digest & PAIR_DIGEST_MASK,
        .syscall_digest = delivery->syscall_digest & PAIR_DIGEST_MASK,
        .description_digest =
            fnv1a_add(FNV1A_START, description, strlen(description)) & PAIR_DIGEST_MASK,
    };
}

static bool both_said_and_differ(double a, double b)
{
    return !isnan(a) && !isnan(b) && a != b;
}

static unsigned pair_differences(const struct pair_side *a, const struct pair_side *b)
{
    unsigned differences = 0;

    differences |= a->description_digest != b->description_digest ? PAIR_INPUT : 0;
    differences |= a->ok != b->ok || a->result_digest != b->result_digest ? PAIR_RESULT : 0;
    differences |= a->syscall_digest != b->syscall_digest ? PAIR_SYSCALLS : 0;
    differences |= both_said_and_differ(a->compute, b->compute) ? PAIR_COMPUTE : 0;
    differences |= both_said_and_differ(a->instructions, b->instructions) ? PAIR_INSTRUCTIONS : 0;
    differences |= both_said_and_differ(a->block_cost, b->block_cost) ? PAIR_BLOCK_COST : 0;
    return differences;
}

static struct pair_side first_side(const struct pairs *pairs, const struct pair_entry *entry)
{
    return pair_unpack_first(pairs->bytes.data + entry->sides[0] - 1);
}

/* Bytes of an earlier, repeated delivery stay unused: these are few. */
static void add_side(struct pairs *pairs, struct pair_entry *entry, int side,
                     const struct model_delivery *delivery)
{
    struct pair_side packed = pair_side_of(delivery), first;
    unsigned differences = 0;

    if (side == 1 && entry->sides[0] != 0) {
        first = first_side(pairs, entry);
        differences = pair_differences(&first, &packed);
    }
    entry->sides[side] = next_packed_place(pairs);
    if (side == 0)
        pair_pack_first(&pairs->bytes, &packed);
    else
        pair_pack_second(&pairs->bytes, &packed, differences);
}

int pairs_add(struct pairs *pairs, int side, const struct model_delivery *delivery,
              struct error *error)
{
    struct pair_entry *entry;

    /* Replayed or incomplete deliveries are not comparable. */
    if (delivery->replay || delivery->total == MODEL_NONE || delivery->delivery_num == MODEL_NONE)
        return 0;
    entry = pairs_entry_of(pairs, delivery);
    if (entry != NULL)
        add_side(pairs, entry, side, delivery);
    if (entry == NULL || buf_failed(&pairs->bytes))
        return error_memory(error, "the deliveries to compare");
    if (pairs->bytes.length >= UINT32_MAX - 1)
        return error_set(error, ERROR_SYSTEM, "more deliveries than can be compared at once");
    return 0;
}

struct pair pairs_get(const struct pairs *pairs, size_t number)
{
    const struct pair_entry *entry = &pairs->entries[number];
    struct pair_head head = pairs_head_of(pairs, number);
    struct pair pair = {.vat_id = names_text(&pairs->vats, head.vat),
                        .description = head.description,
                        .delivery_num = head.delivery_num};

    if (entry->sides[0] != 0)
        pair.sides[0] = first_side(pairs, entry);
    if (entry->sides[1] != 0)
        pair.sides[1] =
            pair_unpack_second(pairs->bytes.data + entry->sides[1] - 1, &pair.differences);
    return pair;
}

/* ---- what is usual ------------------------------------------------------ */

static bool is_timed(const struct pair *pair)
{
    return pair->sides[0].timed && pair->sides[1].timed;
}

/* Collects the logarithms of one part's ratios if both are positive. Returns how many. */
static size_t collect_ratios(const struct pairs *pairs, enum pair_part part, double *logs,
                             struct pair_usual *usual)
{
    size_t count = 0;

    for (size_t i = 0; i < pairs->count; i++) {
        struct pair pair = pairs_get(pairs, i);
        int64_t a = pair.sides[0].parts[part], b = pair.sides[1].parts[part];

        if (!is_timed(&pair))
            continue;
        usual->sums[0] += a;
        usual->sums[1] += b;
        usual->count++;
        if (a > 0 && b > 0)
            logs[count++] = log((double)b / (double)a);
    }
    return count;
}

/* Median and median distance are robust against outliers. */
static struct pair_usual usual_of(const struct pairs *pairs, enum pair_part part, double *logs)
{
    struct pair_usual usual = {.ratio = 1, .spread = SMALLEST_SPREAD};
    size_t count = collect_ratios(pairs, part, logs, &usual);
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

int pairs_compute(struct pairs *pairs, struct error *error)
{
    double *logs = calloc(pairs->count + 1, sizeof *logs);

    if (logs == NULL)
        return error_memory(error, "the deliveries to compare");
    for (int part = 0; part < PAIR_PARTS; part++)
        pairs->usual[part] = usual_of(pairs, (enum pair_part)part, logs);
    free(logs);
    for (size_t i = 0; i < pairs->count; i++) {
        const uint32_t *sides = pairs->entries[i].sides;

        pairs->both += sides[0] != 0 && sides[1] != 0;
        pairs->only[0] += sides[1] == 0;
        pairs->only[1] += sides[0] == 0;
    }
    return 0;
}

/* ---- one pair ----------------------------------------------------------- */

double pair_ratio(const struct pair *pair)
{
    int64_t a = pair->sides[0].parts[PAIR_TOTAL], b = pair->sides[1].parts[PAIR_TOTAL];

    return is_timed(pair) && a > 0 && b > 0 ? (double)b / (double)a : (double)NAN;
}

int64_t pair_excess(const struct pairs *pairs, const struct pair *pair)
{
    return isnan(pair_ratio(pair)) ? 0 : beyond_usual(pairs, pair, PAIR_TOTAL);
}

bool pair_is_slower(const struct pairs *pairs, const struct pair *pair)
{
    const struct pair_usual *usual = &pairs->usual[PAIR_TOTAL];

    double ratio = pair_ratio(pair);

    return !isnan(ratio) && log(ratio / usual->ratio) > OUTSTANDING_SPREADS * log(usual->spread);
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
    free(pairs->entries);
    free(pairs->slots);
    names_free(&pairs->vats);
    buf_free(&pairs->bytes);
    *pairs = (struct pairs){0};
}
