/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_GROUPS_H
#define GASPIPE_TOOLS_STATS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"
#include "slog/read/names.h"
#include "tools/stats/growth.h"
#include "tools/stats/histogram.h"

/*
 * Deliveries and syscalls by group, with a histogram of each column.
 *
 * Live deliveries are in `all`, in their vat's group, in their kind's (a
 * message's is `message METHOD`), in their vat's and method's (`v1 METHOD`), in their run's and
 * in their block's; replayed ones in `replay` alone. Vats of one number that have two names, as
 * in two runs, have two groups. A value is a delivery's sum: all its requests' ways up
 * together. Syscalls have a group for each kind, whose values are those of one
 * syscall. Deliveries whose times a change of the clock spoiled are left out
 * and counted. A phase's value is its own time, without the phases within it
 * (slog/model/phases.h); those of runs of the kernel's queue are by what they ran.
 */
enum group_kind {
    GROUP_ALL,
    GROUP_REPLAY,
    GROUP_VAT,
    GROUP_KIND,
    GROUP_SYSCALL,
    GROUP_BLOCK,
    GROUP_METHOD,
    GROUP_RUN,
    GROUP_PHASE,
    GROUP_GROWTH, /* no group: tools/stats/growth.h */
    GROUP_KINDS,
};

enum group_column {
    COLUMN_TOTAL, /* nanoseconds, as all up to BETWEEN */
    COLUMN_UP,    /* requests and the result, worker to kernel */
    COLUMN_DOWN,  /* the delivery and answers, kernel to worker */
    COLUMN_WORKER,
    COLUMN_KERNEL,
    COLUMN_UNATTRIBUTED,
    COLUMN_BETWEEN, /* the kernel since the delivery before */
    COLUMN_COMPUTE, /* computrons */
    COLUMN_INSTRUCTIONS,
    COLUMN_BLOCK_COST, /* units of the compiled-in meter */
    COLUMN_GAS_BURNT,  /* by NEAR's costs */
    COLUMN_QUEUED,     /* nanoseconds from send to delivery, where the model has labels */
    COLUMN_GAS,        /* by the model's gas model */
    COLUMN_RATIO,      /* thousandths of an instruction for a computron */
    GROUP_COLUMNS,
};

/* What COLUMN_RATIO is multiplied by, since histograms are of whole numbers. */
enum { GROUP_RATIO_SCALE = 1000 };

struct group {
    enum group_kind kind;
    char *name;  /* "v1", "message transfer", "vatstoreGet", "5000"; owned */
    char *label; /* a vat's name, or ""; owned */
    struct histogram columns[GROUP_COLUMNS];
};

struct groups {
    bool wanted[GROUP_KINDS];
    struct names keys;    /* kind and name */
    struct buf key, name; /* to look one up, with their memory kept */
    struct group *groups; /* by number in keys; owned */
    size_t count, capacity;
    uint64_t spoiled; /* deliveries left out */
    bool failed;      /* memory ran out while a phase was added */
};

/* As they are called in options and files: "all", "vat", …; "total", "up", … */
const char *group_kind_name(enum group_kind kind);
const char *group_column_name(enum group_column column);

/*
 * Instructions for a computron in all the group's deliveries that say both; NAN where some say but
 * one of them.
 */
double group_ratio(const struct group *group);

/*
 * The group of this name, made when it is new; NULL when memory ran out. One that has
 * another label is another group; "" is any.
 */
struct group *groups_find(struct groups *groups, enum group_kind kind, const char *name,
                          const char *label);

/* Takes in a delivery with its syscalls. -1 when memory ran out. */
int groups_add(struct groups *groups, const struct model_delivery *delivery, struct error *error);

/* Takes in a phase that has ended. Failure shows when the next delivery is added, or as `failed`.
 */
void groups_add_phase(struct groups *groups, const struct phase_span *span);

void groups_free(struct groups *groups);

/*
 * Groups with their histograms in a file, so that what was read in parts, or on
 * many machines, can be joined: JSON lines, first
 * {"kind":"slog-histograms","version":1,"spoiled":N}, then for each column of
 * each group that has values
 * {"kind":"histogram","by":"vat","name":"v1","label":"bank","column":"worker",
 *  "count":N,"total":N,"min":N,"max":N,"buckets":[[INDEX,COUNT],...]}
 * in nanoseconds, computrons or instructions. Where the growth of vats is known, the version is 2,
 * the first line also has "begin", the time of its first point in nanoseconds since the epoch, and
 * a line for each vat follows (tools/stats/growth.h).
 */

/* Writes them into a file as of base/output/output_file.h. -1 with ERROR_SYSTEM. */
int histogram_file_write(const char *path, const struct groups *groups, const struct growth *growth,
                         struct error *error);

/*
 * Adds what a file holds to the groups that are wanted, and to the growth unless that is NULL;
 * files of one run come in its order. -1 with ERROR_INPUT (no such file, not of this kind or
 * version, a wrong line) or ERROR_SYSTEM.
 */
int histogram_file_read(const char *path, struct groups *groups, struct growth *growth,
                        struct error *error);

/* "begin" of the first line; false: it has none, or is not of this kind. */
bool histogram_file_begin(const char *path, int64_t *time);

#endif
