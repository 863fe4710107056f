/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_SLOGFILE_SET_H
#define GASPIPE_TOOLS_STATS_SLOGFILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"
#include "slog/read/names.h"
#include "tools/stats/pairs.h"

/*
 * The deliveries of three or more slogfiles, of validators or of builds, matched by vatID and
 * deliveryNum. Each is compared with the median of all files, so that the file that is unlike the
 * others shows. Memory is some 100 bytes for each delivery and 48 for each file that has it.
 */
enum { SLOGFILE_SET_MOST = 64 }; /* files */

/* A delivery in one file; where it is twice (done again after a crash), the last. */
struct slogfile_set_side {
    bool present, timed; /* timed: as struct pair_side */
    uint32_t input, result, syscalls,
        compute;             /* digests of what enum pair_difference tells apart */
    float parts[PAIR_PARTS]; /* nanoseconds, to 24 bits */
    int64_t start;           /* nanoseconds since the epoch, by this file's clock */
};

struct slogfile_set_delivery {
    uint32_t vat;
    size_t description; /* in set.words */
    int64_t delivery_num;
};

/* How a file compares with all of them. */
struct slogfile_set_file {
    size_t deliveries, missing; /* that it has; that another file has and it does not */
    size_t differing;           /* in which it differs from most files */
    double sums[PAIR_PARTS];    /* nanoseconds, of the deliveries that all files time */
    double ratio;               /* the median of its totals to the deliveries' median totals */
    enum pair_part where;       /* the part in which it is farthest above the others */
    bool aligned;               /* it shares deliveries with the first file: */
    int64_t clock;              /* nanoseconds that its clock is ahead of the first file's */
    int64_t behind_first, behind_last; /* how late it was then, at the first and last of them */
};

struct slogfile_set {
    size_t file_count;
    struct slogfile_set_delivery *deliveries; /* in the order of their first coming; owned */
    size_t count, capacity;
    struct slogfile_set_side *sides; /* file_count for each delivery; owned */
    size_t side_capacity;
    struct names vats, keys;
    struct buf words;
    struct slogfile_set_file files[SLOGFILE_SET_MOST];
    size_t in_all, timed_in_all;
};

/* Takes in a delivery of a file, below set->file_count; of a file all at once. -1: no memory. */
int slogfile_set_add(struct slogfile_set *set, size_t file, const struct model_delivery *delivery,
                     struct error *error);

/* To be called when all files are in. -1 when memory ran out. */
int slogfile_set_compute(struct slogfile_set *set, struct error *error);

const struct slogfile_set_side *slogfile_set_sides(const struct slogfile_set *set, size_t delivery);
const char *slogfile_set_vat(const struct slogfile_set *set, size_t delivery);
const char *slogfile_set_description(const struct slogfile_set *set, size_t delivery);

/*
 * What differs, as enum pair_difference, between a file's delivery and how it came out in most
 * files (of equally many, in the first of these). 0 too when the file does not have it.
 */
unsigned slogfile_set_differences(const struct slogfile_set *set, size_t delivery, size_t file);

/*
 * Nanoseconds that a file took longer than the delivery's median and the file's usual ratio let
 * one expect; 0 where not all files time it.
 */
double slogfile_set_excess(const struct slogfile_set *set, size_t delivery, size_t file);

void slogfile_set_free(struct slogfile_set *set);

#endif
