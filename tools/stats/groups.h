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
 * Groups deliveries and syscalls, with a histogram of each column.
 *
 * A live delivery is in `all`, in the groups of its vat, its kind (for a message `message
 * METHOD`), its vat and method (`v1 METHOD`), its run and its block; a replayed one only in
 * `replay`. A vat number with two names, as in two runs, has two groups. A value is a delivery's
 * sum, such as of all its requests' ways up. Each kind of syscall has a group with the values of
 * single syscalls. Deliveries spoiled by a change of the clock are left out and counted. A phase's
 * value is its own time, without inner phases (slog/model/phases.h); runs of the kernel's queue
 * are grouped by what they ran.
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
    GROUP_GROWTH, /* not a group: tools/stats/growth.h */
    GROUP_KINDS,
};

enum group_column {
    COLUMN_TOTAL, /* nanoseconds, like all up to BETWEEN */
    COLUMN_UP,    /* requests and the result, worker to kernel */
    COLUMN_DOWN,  /* the delivery and answers, kernel to worker */
    COLUMN_WORKER,
    COLUMN_KERNEL,
    COLUMN_UNATTRIBUTED,
    COLUMN_CPU_WAIT, /* gaspipe's, within the above */
    COLUMN_WORKER_CPU_WAIT,
    COLUMN_BETWEEN, /* the kernel's, since the previous delivery */
    COLUMN_COMPUTE, /* computrons */
    COLUMN_INSTRUCTIONS,
    COLUMN_BLOCK_COST, /* units of the compiled-in meter */
    COLUMN_GAS_BURNT,  /* by NEAR's costs */
    COLUMN_QUEUED,     /* nanoseconds from send to delivery; needs labels */
    COLUMN_GAS,        /* by the model's gas model */
    COLUMN_RATIO,      /* thousandths of an instruction per computron */
    GROUP_COLUMNS,
};

/* COLUMN_RATIO is multiplied by this, since histograms have whole numbers. */
enum { GROUP_RATIO_SCALE = 1000 };

struct group {
    enum group_kind kind;
    char *name;  /* "v1", "message transfer", "vatstoreGet", "5000"; owned */
    char *label; /* a vat's name, or ""; owned */
    struct histogram columns[GROUP_COLUMNS];
    struct model_waits waits; /* its deliveries' waits for a CPU; merging does not add them */
};

struct groups {
    bool wanted[GROUP_KINDS];
    bool sums_only;       /* histograms have no buckets, which takes less time: no quantiles */
    struct names keys;    /* kind and name */
    struct buf key, name; /* reused for lookups */
    struct group *groups; /* by number in keys; owned */
    size_t count, capacity;
    uint64_t spoiled; /* deliveries left out: the clock was set in them */
    bool failed;      /* out of memory while a phase was added */
};

/* Names in options and files: "all", "vat", …; "total", "up", … */
const char *group_kind_name(enum group_kind kind);
const char *group_column_name(enum group_column column);

/* Instructions per computron of all deliveries of the group; NAN unless all have both. */
double group_ratio(const struct group *group);

/* Adds a delivery and its syscalls. -1 when out of memory. */
int groups_add(struct groups *groups, const struct model_delivery *delivery, struct error *error);

/* Adds a phase. Failure shows in `failed`, and when the next delivery is added. */
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

/* Writes the file (base/output/output_file.h). -1 with ERROR_SYSTEM. */
int histogram_file_write(const char *path, const struct groups *groups, const struct growth *growth,
                         struct error *error);

/*
 * Adds a file to the wanted groups, and to the growth unless that is NULL. Files of one run must
 * come in order. -1 with ERROR_INPUT (no such file, another kind or version, an invalid line) or
 * ERROR_SYSTEM.
 */
int histogram_file_read(const char *path, struct groups *groups, struct growth *growth,
                        struct error *error);

/* Reads "begin" of the first line; false if it has none or is of another kind. */
bool histogram_file_begin(const char *path, int64_t *time);

#endif
