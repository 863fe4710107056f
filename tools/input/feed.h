/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_FEED_H
#define GASPIPE_TOOLS_INPUT_FEED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"

/*
 * The order in which slogfiles are one story. A shell's `*` gives the parts of a cut
 * slogfile in that of their names, run.1.zst before run.zst and run.10.zst before
 * run.2.zst.
 */

/*
 * The files (ended by NULL) in the order of their first lines' times, those that begin
 * together as they came; as they came too when one of them is no regular file, or its
 * beginning no slogfile's: who reads it will say so. Says on stderr when it is another
 * order than theirs. The list is to be freed, its strings are borrowed; NULL when memory
 * ran out.
 */
char **file_order(char *const *files, struct error *error);

/* The same of files of another kind, of which begin() tells when they begin, if it can. It is
 * called for regular files only. */
char **file_order_by(char *const *files, bool (*begin)(const char *path, int64_t *time),
                     struct error *error);

/*
 * Where in slogfiles the runs of the kernel's process begin, so that reports that take several
 * together can say so. All zeros is one run.
 */
enum { RUNS_NAMED = 4 };

struct runs {
    uint64_t more; /* runs after the first one */
    struct {
        const char *file; /* NULL where only one is read; borrowed */
        uint64_t line;
        int64_t time;    /* nanoseconds since the epoch */
    } named[RUNS_NAMED]; /* where the first of these begin */
};

/* Feeds slogfiles to the model, and says on stderr what is wrong with them. */

/* What was met in all. */
struct tally {
    uint64_t lines;
    uint64_t deliveries; /* chosen or not */
    uint64_t bad_lines;  /* no slog lines, and passed over */
    uint64_t torn_lines; /* unfinished last lines */
    uint64_t kernels;    /* new kernel processes after the first one */
    struct runs runs;    /* the same, with where they begin */
    uint64_t clock_changes;
    uint64_t unended, unstarted; /* deliveries with one of their two lines missing */
    uint64_t too_big;            /* records that a flight recorder had no room for */
    int64_t phases[PHASES];      /* nanoseconds of each phase's own, in all */
    struct entries entries;      /* lines by type; owned: tally_free() */
};

void tally_free(struct tally *tally);

struct feed {
    char *const *files;          /* ended by NULL; "-" is standard input */
    bool strict;                 /* a bad line is an error */
    bool follow;                 /* go on when the last file grows */
    bool labels;                 /* as model_new() */
    bool words;                  /* as model_set_words() */
    const struct gas_model *gas; /* as model_set_gas(); NULL: none */
    bool progress;               /* said on stderr, if that is a terminal: nothing else shows it */
    unsigned jobs;               /* as decoder_open() */
    /* Each good line, before the model takes it; may be NULL. */
    int (*line)(void *context, const struct record *record, struct error *error);
    /* As struct model_sink; all but delivery may be NULL. */
    int (*delivery)(void *context, const struct model_delivery *delivery, struct error *error);
    void (*note)(void *context, const struct model_note *note);
    void (*frame)(void *context, const struct model_frame *frame);
    void (*inbound)(void *context, const struct model_inbound *inbound);
    void (*phase)(void *context, const struct phase_span *span);
    void (*block)(void *context, const struct phase_block *block);
    /* Called before waiting for a file to grow; may be NULL. */
    int (*idle)(void *context, struct error *error);
    void *context;
};

/*
 * Reads the files, one after the other as one story, in the order of
 * tools/input/feed.h; as they stand when the last one is followed. -1 with ERROR_INPUT when
 * one cannot be read or is no slogfile (or, if strict, has a bad line), or with
 * what a callback failed with. The tally is valid in any case, and to be freed.
 */
int feed_run(const struct feed *feed, struct tally *tally, struct error *error);

/*
 * Says on stderr how far a long reading has come, every few seconds and only
 * where stderr is a terminal: somebody waits there.
 */
struct progress {
    bool wanted;
    int64_t next; /* when the next line is due, ns of CLOCK_MONOTONIC */
};

/*
 * Waits for a file to grow (inotify(7)). While it is open SIGINT and SIGTERM end
 * the waiting and nothing else, so that what was begun can be finished; one that another
 * process sent has no effect behind it either.
 */
struct follow {
    int watch, signals; /* descriptors */
    sigset_t before;    /* the signals that are blocked behind it */
};

#endif
