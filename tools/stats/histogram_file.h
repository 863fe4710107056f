/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_HISTOGRAM_FILE_H
#define GASPIPE_TOOLS_STATS_HISTOGRAM_FILE_H

#include "base/error.h"
#include "tools/stats/groups.h"
#include "tools/stats/growth.h"

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

/* Writes them into a file as of base/output/output_file.h. -1 with ERROR_SYSTEM. */
int histogram_file_write(const char *path, const struct groups *groups, const struct growth *growth,
                         struct error *error);

/*
 * Adds what a file holds to the groups that are wanted, and to the growth unless that is NULL;
 * files of one run come in its order. -1 with ERROR_INPUT (no such file, not of this kind or
 * version, a wrong line) or ERROR_SYSTEM.
 */
int histogram_file_read(const char *path, struct groups *groups, struct growth *growth,
                        struct error *error);

/* "begin" of the first line; false: it has none, or is not of this kind. */
bool histogram_file_begin(const char *path, int64_t *time);

#endif
