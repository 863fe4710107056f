/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_HISTOGRAM_FILE_H
#define GASPIPE_TOOLS_STATS_HISTOGRAM_FILE_H

#include "base/error.h"
#include "tools/stats/groups.h"

/*
 * Groups with their histograms in a file, so that what was read in parts, or on
 * many machines, can be joined: JSON lines, first
 * {"kind":"slog-histograms","version":1,"spoiled":N}, then for each column of
 * each group that has values
 * {"kind":"histogram","by":"vat","name":"v1","label":"bank","column":"worker",
 *  "count":N,"total":N,"min":N,"max":N,"buckets":[[INDEX,COUNT],...]}
 * in nanoseconds, computrons or instructions.
 */

/* Writes them into a file as of base/output/output_file.h. -1 with ERROR_SYSTEM. */
int histogram_file_write(const char *path, const struct groups *groups, struct error *error);

/*
 * Adds what a file holds to the groups that are wanted. -1 with ERROR_INPUT
 * (no such file, not of this kind or version, a wrong line) or ERROR_SYSTEM.
 */
int histogram_file_read(const char *path, struct groups *groups, struct error *error);

#endif
