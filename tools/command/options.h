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

/* The command line of slogreport. */

enum command {
    COMMAND_REPORT, /* the command without a name */
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
    const char *trace;           /* file to write; NULL: none */
    const char *html;            /* the same */
    struct option_list profiles; /* for html, trace or waits */
    const char *otlp;            /* URL or file for spans; NULL: none */
    bool priced;                 /* deliveries are priced by: */
    struct gas_model gas;        /* --gas */
    const char *metrics;         /* file for metrics; NULL: none */
    const char *listen;          /* [ADDRESS:]PORT to serve them at; NULL: none */
    int stamps;                  /* 1: the client's, else the slog's */
    bool strict;                 /* a line that is no slog line is an error */
    bool follow;
    bool bundles;    /* an extract keeps the bundles of vats */
    const char *out; /* directory for rows */
    bool causes;     /* find which delivery caused which */
    struct selection selection;
    uint64_t top; /* 0: not asked for */
    bool reverse;
    bool detail;                    /* list each delivery below the rows */
    const struct rank_column *sort; /* NULL: in the order of the file */
    bool by[GROUP_KINDS];           /* which groups to show */
    bool by_given;
    int64_t interval;       /* --by 10s: nanoseconds; 0: none */
    const char *histograms; /* file to write; NULL: none */
    enum cost_by cost_by;   /* how a profile is grouped */
    const char *against;    /* profile, slogfile or selection to compare with; NULL: none */
    const char *flame;      /* file for a flame graph; NULL: none */
    bool folded;            /* print folded stacks */
    char **files;           /* borrowed from argv; ended by NULL, at least one */
};

/*
 * OPTION_FAILED also if options exclude each other or would overwrite an input. Call
 * options_free() in any case.
 */
enum option_result options_parse(int argc, char **argv, struct options *options,
                                 struct error *error);
void options_free(struct options *options);

/* A feed of the files that shows its progress. The caller adds its sink. */
static inline struct feed options_feed(const struct options *options)
{
    return (struct feed){.files = options->files,
                         .strict = options->strict,
                         .client_stamps = options->stamps == 1,
                         .jobs = (unsigned)options->jobs,
                         .gas = options->priced ? &options->gas : NULL,
                         .vats = &options->selection.vats,
                         .progress = true};
}

/* The command of this name, or COMMAND_COUNT. */
enum command options_command(const char *name);

/* "; did you mean summary?", or "". */
const char *options_command_hint(struct similar *similar);

/* `slogreport --completion SHELL`: the exit status; -1: the command line is another one. */
int options_complete(int argc, char **argv);

extern const struct option_table options_tables[COMMAND_COUNT];

#endif
