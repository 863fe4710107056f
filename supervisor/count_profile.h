/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_PROFILE_H
#define GASPIPE_SUPERVISOR_COUNT_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Instructions by function, out of what the counter has written (counter/profile.h). */

struct profile_function {
    char *object; /* the file's name without its folder, or "[generated]"; owned */
    char *name;   /* or "[unknown]"; owned */
    uint64_t instructions;
};

struct count_profile {
    struct profile_function *functions; /* most instructions first */
    size_t count;
};

/* 0, or -1 with ERROR_INPUT (not such a file) or ERROR_SYSTEM. */
int count_profile_read(struct count_profile *profile, const char *path, struct error *error);

/* Folded stacks for flame graphs: `OBJECT;FUNCTION COUNT` lines. */
void count_profile_fold(struct buf *out, const struct count_profile *profile);

/* A profile that is all zeros may be freed. */
void count_profile_free(struct count_profile *profile);

#endif
