/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/pair_pack.h"

#include <math.h>
#include <string.h>

#include "tools/stats/varint.h"

enum { DIGEST_BYTES = 6 };

/* Above this a double does not hold every integer. */
#define MOST_EXACT 0x1p53

/* What a side begins with: bits for what it is, and how its values are packed. */
enum {
    IS_OK = 1,
    IS_TIMED = 2,
    IN_MICROSECONDS = 4, /* all parts, since no clock was finer */
    HAS_COMPUTE = 8,
    HAS_INSTRUCTIONS = 16,
    HAS_BLOCK_COST = 32,
    HAS_PART = 64, /* the total's; shifted by the number of the part for the others */
};

void pair_pack_head(struct buf *bytes, const struct pair_head *head)
{
    varint_append(bytes, head->vat);
    varint_append_signed(bytes, head->delivery_num);
    buf_append(bytes, head->description, strlen(head->description) + 1);
}

struct pair_head pair_unpack_head(const char *at)
{
    struct pair_head head;

    head.vat = (uint32_t)varint_read(&at);
    head.delivery_num = varint_read_signed(&at);
    head.description = at;
    return head;
}

/* A meter is a whole number but for what a slogfile invents: then one more bit is set. */
static void append_meter(struct buf *bytes, double meter)
{
    bool whole = meter >= 0 && meter < MOST_EXACT && meter == trunc(meter);

    if (isnan(meter))
        return;
    varint_append(bytes, whole ? (uint64_t)meter << 1 : 1);
    if (!whole)
        buf_append(bytes, &meter, sizeof meter);
}

static double read_meter(const char **at)
{
    uint64_t number = varint_read(at);
    double meter;

    if ((number & 1) == 0)
        return (double)(number >> 1);
    memcpy(&meter, *at, sizeof meter);
    *at += sizeof meter;
    return meter;
}

static unsigned flags_of(const struct pair_side *side)
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

static void append_side(struct buf *bytes, const struct pair_side *side)
{
    unsigned flags = flags_of(side);
    int64_t unit = (flags & IN_MICROSECONDS) != 0 ? 1000 : 1;

    varint_append(bytes, flags);
    for (unsigned part = 0; part < PAIR_PARTS; part++) {
        if (side->parts[part] != MODEL_NONE)
            varint_append_signed(bytes, side->parts[part] / unit);
    }
    append_meter(bytes, side->compute);
    append_meter(bytes, side->instructions);
    append_meter(bytes, side->block_cost);
    varint_append(bytes, side->syscalls);
}

static struct pair_side read_side(const char **at)
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
        side.compute = read_meter(at);
    if ((flags & HAS_INSTRUCTIONS) != 0)
        side.instructions = read_meter(at);
    if ((flags & HAS_BLOCK_COST) != 0)
        side.block_cost = read_meter(at);
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

void pair_pack_first(struct buf *bytes, const struct pair_side *side)
{
    append_side(bytes, side);
    append_digest(bytes, side->result_digest);
    append_digest(bytes, side->syscall_digest);
    append_digest(bytes, side->description_digest);
}

struct pair_side pair_unpack_first(const char *at)
{
    struct pair_side side = read_side(&at);

    side.result_digest = read_digest(&at);
    side.syscall_digest = read_digest(&at);
    side.description_digest = read_digest(&at);
    return side;
}

void pair_pack_second(struct buf *bytes, const struct pair_side *side, unsigned differences)
{
    varint_append(bytes, differences);
    append_side(bytes, side);
}

struct pair_side pair_unpack_second(const char *at, unsigned *differences)
{
    *differences = (unsigned)varint_read(&at);
    return read_side(&at);
}
