/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_FEED_H
#define GASPIPE_TOOLS_INPUT_FEED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option/option.h"
#include "slog/model/model.h"

/*
 * Orders slogfiles by time. A shell's `*` sorts the parts of a split slogfile by name: run.1.zst
 * before run.zst, and run.10.zst before run.2.zst.
 */

/*
 * The same for other files. begin() finds when one begins, if it can; it is called for regular
 * files only.
 */
char **file_order_by(char *const *files, bool (*begin)(const char *path, int64_t *time),
                     struct error *error);

/* Feeds slogfiles to the model, and reports on stderr what is wrong with them. */

struct tally {
    uint64_t lines;
    uint64_t bad_lines;  /* skipped: not slog lines */
    uint64_t torn_lines; /* incomplete last lines */
    struct model_totals totals;
};

void tally_free(struct tally *tally);

struct feed {
    char *const *files;          /* ended by NULL; "-" is standard input */
    bool strict;                 /* fail at a bad line */
    bool follow;                 /* continue as the last file grows */
    bool labels;                 /* as model_new() */
    bool words;                  /* as model_set_words() */
    bool client_stamps;          /* as model_set_client_stamps() */
    const struct gas_model *gas; /* as model_set_gas(); NULL: none */
    /* IDs or names that the user gave: one that no line has is reported at the end; NULL: none. */
    const struct option_list *vats;
    bool progress; /* show progress on stderr, if it is a terminal */
    unsigned jobs; /* as decoder_open() */
    /* Called for each good line before the model takes it; may be NULL. */
    int (*line)(void *context, const struct record *record, struct error *error);
    struct model_sink sink; /* its context is also passed to `line` and `idle` */
    /* Called before waiting for a file to grow; may be NULL. */
    int (*idle)(void *context, struct error *error);
};

/*
 * Reads the files as one sequence, ordered as file_order(), or as given if the last one is
 * followed. -1 with ERROR_INPUT if one cannot be read or is not a slogfile or, if strict, has a
 * bad line; else with the error of a callback. The tally is valid in any case and must be freed.
 */
int feed_run(const struct feed *feed, struct tally *tally, struct error *error);

/* Reports progress on stderr every few seconds, if it is a terminal. */
struct progress {
    bool wanted;
    int64_t next; /* time of the next report, nanoseconds of CLOCK_MONOTONIC */
};

/*
 * Waits for a file to grow (inotify(7)). Meanwhile SIGINT and SIGTERM only end the waiting, so
 * that the report can be finished. One sent by a process is ignored afterwards, too.
 */
struct follow {
    int watch, signals; /* descriptors */
    sigset_t before;    /* the signal mask to restore */
};

#endif
