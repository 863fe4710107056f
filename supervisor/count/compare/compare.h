/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COMPARE_COMPARE_H
#define GASPIPE_SUPERVISOR_COUNT_COMPARE_COMPARE_H

#include <stdbool.h>
#include <wordexp.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/count/count_options.h"
#include "supervisor/count/count_run.h"
#include "supervisor/process/guest.h"

/*
 * A count that is saved to compare later ones with it, a JSON object
 * {"kind":"count-baseline","version":1,"command":TEXT,"instructions":N,"syscalls":N,"bytesRead":N,
 *  "bytesWritten":N,"fingerprint":HASH,"stdout":KIND}.
 */
struct baseline {
    uint64_t instructions;
    char fingerprint[72]; /* of the count's files */
    char output[16];      /* the kind of file that stdout was; "": unknown */
};

/* Writes the file whole or not at all. */
int baseline_save(const char *path, const char *const *arguments, const struct count_total *total,
                  const char *fingerprint, struct error *error);

/* 0, or -1 with ERROR_INPUT and the file's name. */
int baseline_read(struct baseline *baseline, const char *path, struct error *error);

/* Returns true if stdout is not what it was at --save: a terminal, another device, or a file or
 * pipe. C libraries buffer by that, with other counts. */
bool baseline_has_other_output(const struct baseline *baseline);

/*
 * Appends, in a line for people or as JSON ({"kind":"baseline",...}), by how much the count is
 * above or below the baseline. *exceeds: by more than `allow` percent above.
 */
void baseline_compare(const struct baseline *baseline, const struct count_total *total,
                      const char *fingerprint, double allow, bool json, struct buf *out,
                      bool *exceeds);

/* Times of one kind, of all timed runs, in seconds. */
struct compare_times {
    double *values; /* owned */
    size_t count;
};

/* A command that is compared with others. */
struct compare_command {
    const char *const *arguments; /* ends with NULL; borrowed, or those of `words` */
    wordexp_t words;              /* of a --versus; all zeros: none */
    struct buf text;              /* for people */
    struct count_total total;     /* of the first counted run */
    bool agrees;                  /* all counted runs were the same */
    bool failed;                  /* some run did not end with exit status 0 */
    struct compare_times wall, processor;
};

/*
 * `gaspipe count --versus` and `--time`: counts each of several commands, and also times it
 * natively, in turns with the others. The commands' input is empty, and their output is dropped.
 * Reports on --output or stderr, and to --export-markdown and --export-csv. 0, or -1 with the
 * error: ERROR_DELIVERY where a command failed or its counts differ.
 */
int compare_commands(const struct count_options *options, const struct guest_tools *tools,
                     struct error *error);

struct compare_summary {
    double mean, deviation, least, most; /* of a sample; deviation 0 for a single value */
};

/* There is at least one value. */
struct compare_summary compare_summarise(const struct compare_times *times);

#endif
