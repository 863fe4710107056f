/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_OPTIONS_H
#define GASPIPE_TOOLS_COMMAND_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/option/option.h"
#include "gas/gas_model.h"
#include "tools/command/cost_groups.h"
#include "tools/input/feed.h"
#include "tools/input/selection.h"
#include "tools/stats/groups.h"
#include "tools/stats/rank.h"

/* What the command line asks of slogreport. */

enum command {
    COMMAND_REPORT, /* the one without a name */
    COMMAND_SUMMARY,
    COMMAND_MERGE,
    COMMAND_COMPARE,
    COMMAND_STALLS,
    COMMAND_RUNS,
    COMMAND_EXTRACT,
    COMMAND_ROWS,
    COMMAND_PROFILE,
    COMMAND_WAITS,
    COMMAND_COUNT,
};

struct options {
    enum command command;
    bool json;
    bool csv;
    uint64_t jobs;               /* from 1 */
    const char *trace;           /* where to write one; NULL: nowhere */
    const char *html;            /* the same */
    struct option_list profiles; /* files, for that page, or for waits */
    const char *otlp;            /* a URL or file for spans; NULL: none are wanted */
    bool priced;                 /* deliveries get their gas by: */
    struct gas_model gas;        /* --gas */
    const char *metrics;         /* a file for metrics; NULL: none */
    const char *listen;          /* [ADDRESS:]PORT to serve them at; NULL: nowhere */
    bool strict;                 /* a line that is no slog line is an error */
    bool follow;
    bool bundles;    /* of vats, in an extract */
    const char *out; /* the folder for rows */
    bool causes;     /* which delivery caused which is wanted */
    struct selection selection;
    uint64_t top; /* 0: not asked for */
    bool reverse;
    const struct rank_column *sort; /* NULL: as they come */
    bool by[GROUP_KINDS];           /* which groups to show */
    const char *histograms;         /* where to write them; NULL: nowhere */
    enum cost_by cost_by;           /* of a profile */
    const char *against;            /* the profile to compare with; NULL: none */
    const char *flame;              /* where to write a flame graph; NULL: nowhere */
    bool folded;                    /* print folded stacks */
    char **files;                   /* borrowed from argv; ended by NULL, at least one */
};

/*
 * OPTION_FAILED also when options do not go together, or would write over a file that is read.
 * options_free() in any case.
 */
enum option_result options_parse(int argc, char **argv, struct options *options,
                                 struct error *error);
void options_free(struct options *options);

/* A feed of the files that shows its progress; what receives is for the caller to fill in. */
static inline struct feed options_feed(const struct options *options)
{
    return (struct feed){.files = options->files,
                         .strict = options->strict,
                         .jobs = (unsigned)options->jobs,
                         .gas = options->priced ? &options->gas : NULL,
                         .progress = true};
}

/* The command of this name, or COMMAND_COUNT. */
enum command options_command(const char *name);

/* `slogreport --completion SHELL`: the exit status; -1: the command line is another one. */
int options_complete(int argc, char **argv);

extern const struct option_table options_tables[COMMAND_COUNT];

#endif
