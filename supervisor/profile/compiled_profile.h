/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_COMPILED_PROFILE_H
#define GASPIPE_SUPERVISOR_PROFILE_COMPILED_PROFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/profile/profile.h"

/*
 * Reads the profiles that processes of a program compiled with --meter=--profile have appended to
 * GASMETER_PROFILE (meter/runtime/profile.h), all summed up. 0, or -1 with ERROR_INPUT: no profile,
 * or a damaged one; or ERROR_SYSTEM. To be closed in any case.
 */
int compiled_profile_read(struct profile *profile, const char *path, struct error *error);

/*
 * Parses the regions that a worker's compiled-in meter writes (GASMETER_REGIONS,
 * meter/runtime/profile.h). It is fed bytes, cut anywhere, and does no I/O. A worker can write
 * anything: all numbers are checked.
 */

struct cost_region {
    struct cost_region *next;
    int64_t began, ended; /* nanoseconds of CLOCK_MONOTONIC */
    uint64_t cost;        /* units */
    struct buf text;      /* as of a process; ends with a NUL */
};

/* All zeros: nothing was fed. */
struct cost_stream {
    struct buf bytes;                   /* of a region that is not whole */
    size_t looked;                      /* up to here, no line ends the region */
    struct cost_region *regions, **end; /* in their order; owned */
    pid_t process;                      /* 0: not reported */
};

/* -1 with ERROR_INPUT for invalid bytes, or ERROR_SYSTEM. */
int cost_stream_feed(struct cost_stream *stream, const void *bytes, size_t length,
                     struct error *error);

/*
 * Makes the region's profile, summed up; its functions must add up to its cost. Overwrites the
 * region's text. -1 as above; to be closed in any case.
 */
int cost_stream_profile(struct profile *profile, struct cost_region *region, struct error *error);

/* Removes and frees the regions up to this one; NULL: all. */
void cost_stream_forget(struct cost_stream *stream, const struct cost_region *upto);

void cost_stream_free(struct cost_stream *stream);

#endif
