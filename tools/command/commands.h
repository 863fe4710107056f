/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COMMANDS_H
#define GASPIPE_TOOLS_COMMAND_COMMANDS_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * Prints a report of each delivery in the files. -1 with ERROR_INPUT or ERROR_SYSTEM as
 * feed_run(), or when the report cannot be written.
 */
int report_run(const struct options *options, struct error *error);

/* `slogreport summary`: sums and percentiles of slogfiles. Errors as feed_run(). */
int summary_run(const struct options *options, struct error *error);

/* `slogreport merge`: the same from files of --histograms. */
int merge_run(const struct options *options, struct error *error);

/*
 * `slogreport compare A B`: compares the live deliveries of slogfiles. -1 with ERROR_DELIVERY,
 * after all output, if some came out differently; other errors as feed_run().
 */
int compare_run(const struct options *options, struct error *error);

/* `slogreport stalls`: spans that took far longer than similar ones. Errors as feed_run(). */
int stalls_run(const struct options *options, struct error *error);

/*
 * `slogreport runs`: everything that one event from outside caused, with sums and the path to the
 * delivery that ended last: which deliveries, each caused by the one before, and how long each
 * waited.
 */
int runs_run(const struct options *options, struct error *error);

/*
 * `slogreport extract`: prints the lines of the selected deliveries, and of what encloses them, as
 * a smaller slogfile.
 */
int extract_run(const struct options *options, struct error *error);

/*
 * `slogreport rows`: writes deliveries and requests as tables for databases, deliveries.csv.gz and
 * requests.csv.gz, into a directory, which is created if absent.
 */
int rows_run(const struct options *options, struct error *error);

/*
 * `slogreport merge --out DIR DIR...`: joins the tables of several directories that `slogreport
 * rows` wrote, in that order. Deliveries are renumbered, and requests and causes with them.
 */
int rows_merge_run(const struct options *options, struct error *error);

/* `slogreport profile`: adds up profiles of gaspipe run and replay, or compares two. */
int profile_report_run(const struct options *options, struct error *error);

/*
 * `slogreport waits`: which deliveries ran while others were in the queue, how much delay each
 * passed on and, with profiles, which of its functions did.
 */
int waits_run(const struct options *options, struct error *error);

#endif
