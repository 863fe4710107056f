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
 * Matches the deliveries of three or more slogfiles, of validators or builds, by vatID and
 * deliveryNum. Each is compared with the median of all files, which shows the file that differs. A
 * delivery takes some 100 bytes, and 48 for each file that has it.
 */
enum { SLOGFILE_SET_MOST = 64 }; /* files */

/* A delivery in one file; where it is twice (done again after a crash), the last. */
struct slogfile_set_side {
    bool present, timed;                       /* `timed` as in struct pair_side */
    uint32_t input, result, syscalls, compute; /* digests of what enum pair_difference compares */
    float parts[PAIR_PARTS];                   /* nanoseconds, to 24 bits */
    int64_t start; /* nanoseconds since the epoch on this file's clock */
};

struct slogfile_set_delivery {
    uint32_t vat;
    size_t description; /* offset in set.words */
    int64_t delivery_num;
};

/* How a file compares with all files. */
struct slogfile_set_file {
    size_t deliveries, missing;    /* that it has; that only other files have */
    size_t differing;              /* those that differ from most files */
    double sums[PAIR_PARTS];       /* nanoseconds, of deliveries timed in all files */
    double ratio;                  /* the median of its totals / the median totals */
    enum pair_part where;          /* the part that exceeds the other files most */
    bool aligned;                  /* it shares deliveries with the first file, so that the next
                                      ones are known: */
    int64_t clock;                 /* nanoseconds by which its clock is ahead of the first file's */
    int64_t late_first, late_last; /* its lateness after that correction, at the first and
                                          last of them */
};

struct slogfile_set {
    size_t file_count;
    struct slogfile_set_delivery *deliveries; /* in order of first appearance; owned */
    size_t count, capacity;
    struct slogfile_set_side *sides; /* file_count for each delivery; owned */
    size_t side_capacity;
    struct names vats, keys;
    struct buf words;
    struct slogfile_set_file files[SLOGFILE_SET_MOST];
    size_t in_all, timed_in_all;
};

/*
 * Adds a delivery of a file below set->file_count; files one after the other. -1 when out of
 * memory.
 */
int slogfile_set_add(struct slogfile_set *set, size_t file, const struct model_delivery *delivery,
                     struct error *error);

/* Call after the last file. -1 when out of memory. */
int slogfile_set_compute(struct slogfile_set *set, struct error *error);

const struct slogfile_set_side *slogfile_set_sides(const struct slogfile_set *set, size_t delivery);
const char *slogfile_set_vat(const struct slogfile_set *set, size_t delivery);
const char *slogfile_set_description(const struct slogfile_set *set, size_t delivery);

/*
 * Compares, as enum pair_difference, a file's delivery with the outcome in most files (the
 * earliest file decides a tie). 0 also if the file does not have it.
 */
unsigned slogfile_set_differences(const struct slogfile_set *set, size_t delivery, size_t file);

/*
 * Nanoseconds by which a file exceeds the delivery's median times the file's usual ratio; 0 unless
 * all files time it.
 */
double slogfile_set_excess(const struct slogfile_set *set, size_t delivery, size_t file);

void slogfile_set_free(struct slogfile_set *set);

#endif
