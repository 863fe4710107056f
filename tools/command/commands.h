/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COMMANDS_H
#define GASPIPE_TOOLS_COMMAND_COMMANDS_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * Reads the files that the options name and writes to standard output what
 * they ask for, delivery by delivery. -1 with ERROR_INPUT or ERROR_SYSTEM as
 * feed_run(), or when the report cannot be written.
 */
int report_run(const struct options *options, struct error *error);

/* `slogreport summary`: sums and percentiles out of slogfiles. Errors as feed_run(). */
int summary_run(const struct options *options, struct error *error);

/* `slogreport merge`: the same out of what --histograms wrote. */
int merge_run(const struct options *options, struct error *error);

/*
 * `slogreport compare A B`: the same live deliveries of two slogfiles side by
 * side. -1 with ERROR_DELIVERY, after all was printed, when some of them came
 * out differently; other errors as feed_run().
 */
int compare_run(const struct options *options, struct error *error);

/* `slogreport stalls`: the spans that took far longer than their like. Errors as feed_run(). */
int stalls_run(const struct options *options, struct error *error);

/*
 * `slogreport runs`: all that one thing from outside caused, with its sums and the way to what
 * ended last: which deliveries, each caused by the one before it, and how long each waited.
 */
int runs_run(const struct options *options, struct error *error);

/*
 * `slogreport extract`: prints the lines of the chosen deliveries, and of what is around them, as
 * a smaller slogfile.
 */
int extract_run(const struct options *options, struct error *error);

/*
 * `slogreport rows`: deliveries and requests as flat tables for databases, deliveries.csv.gz and
 * requests.csv.gz in a folder, which is made if there is none.
 */
int rows_run(const struct options *options, struct error *error);

/*
 * `slogreport merge --out DIR FOLDER...`: the tables of several folders that `slogreport rows`
 * wrote as one, in their order. Deliveries are numbered through, and requests and causes follow
 * them.
 */
int rows_merge_run(const struct options *options, struct error *error);

/* `slogreport profile`: sums of profiles of gaspipe run and replay, and their difference. */
int profile_report_run(const struct options *options, struct error *error);

/*
 * `slogreport waits`: who waited for whom. Which deliveries ran while others were in the queue, how
 * much delay they handed on so, and, with profiles, which of their functions did.
 */
int waits_run(const struct options *options, struct error *error);

#endif
