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

/* Feeds slogfiles to the model, and says on stderr what is wrong with them. */

struct tally {
    uint64_t lines;
    uint64_t bad_lines;  /* no slog lines, and passed over */
    uint64_t torn_lines; /* unfinished last lines */
    struct model_totals totals;
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
    struct model_sink sink; /* its context is that of all functions here */
    /* Called before waiting for a file to grow; may be NULL. */
    int (*idle)(void *context, struct error *error);
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
