/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_OUTPUT_REPLAY_PART_H
#define GASPIPE_SUPERVISOR_REPLAY_OUTPUT_REPLAY_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/replay/output/replay_result.h"

/* What a process printed that replayed a part of a source (gaspipe replay --part). */
struct replay_part {
    struct replay_result **results; /* owned, and so is each; NULL: taken over by another */
    size_t count, capacity;
    struct buf notes;     /* its lines that are no results */
    uint64_t failed_line; /* of the source, at which it failed with `failure`; 0: it did not */
    struct error failure;
};

/*
 * Reads its lines into a part that is all zeros. The notes are JSON lines, or for people, who are
 * not told of each delivery. Lines of other kinds, such as a fleet puts before them, are passed
 * over. -1 with ERROR_SYSTEM. replay_part_free() in any case.
 */
int replay_part_read(struct replay_part *part, const char *text, size_t length, bool json,
                     struct error *error);

void replay_part_free(struct replay_part *part);

#endif
