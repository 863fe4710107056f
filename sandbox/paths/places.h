/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_PATHS_PLACES_H
#define GASPIPE_SANDBOX_PATHS_PLACES_H

/*
 * The paths that every worker needs, and what it may do there. A path that is not there is not
 * needed. The list ends with a path of NULL.
 */
enum sandbox_use {
    SANDBOX_EXECUTE, /* read and execute what is below it */
    SANDBOX_READ,    /* read it, and what is below it */
    SANDBOX_WRITE,   /* read and write it */
};

struct sandbox_place {
    const char *path; /* absolute */
    enum sandbox_use use;
};

extern const struct sandbox_place sandbox_places[];

#endif
