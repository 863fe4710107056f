/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COMPARE_BASELINE_H
#define GASPIPE_SUPERVISOR_COUNT_COMPARE_BASELINE_H

#include <stdbool.h>

#include "base/buf.h"
#include "supervisor/count/count_run.h"

/*
 * A count that is kept to be compared with later ones: a JSON object
 * {"kind":"count-baseline","version":1,"command":TEXT,"instructions":N,"syscalls":N,"bytesRead":N,
 *  "bytesWritten":N,"fingerprint":HASH}.
 */
struct baseline {
    uint64_t instructions;
    char fingerprint[72]; /* of what counted then */
};

/* Writes the file whole or not at all. */
int baseline_save(const char *path, const char *const *arguments, const struct count_total *total,
                  const char *fingerprint, struct error *error);

/* 0, or -1 with ERROR_INPUT and the file's name. */
int baseline_read(struct baseline *baseline, const char *path, struct error *error);

/*
 * Appends, in a line for people or as JSON ({"kind":"baseline",...}), by how much the count is
 * above or below the baseline. *exceeds: by more than `allow` percent above.
 */
void baseline_compare(const struct baseline *baseline, const struct count_total *total,
                      const char *fingerprint, double allow, bool json, struct buf *out,
                      bool *exceeds);

#endif
