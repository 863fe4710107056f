/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_CONFINEMENT_H
#define GASPIPE_SUPERVISOR_PROCESS_CONFINEMENT_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"
#include "sandbox/control_group.h"
#include "sandbox/probe.h"
#include "supervisor/process/guest.h"

enum confinement_level {
    CONFINEMENT_BASIC,  /* as much of the sandbox as this system has */
    CONFINEMENT_STRICT, /* all of it, or no worker is started */
    CONFINEMENT_OFF,
};

/* How workers are started in the sandbox (docs/security.md says what it holds back). */
struct confinement {
    enum confinement_level level;
    char launcher[PATH_MAX];            /* gaspipe-sandbox; "" when off */
    char missing[SANDBOX_MISSING_SIZE]; /* what this system lacks for it, in words; "": nothing */
    struct control_groups
        groups; /* of workers, where they are delegated; the level asks for none */
};

/*
 * Finds gaspipe-sandbox and what the system lacks. 0, or -1 with ERROR_SYSTEM: it is not there,
 * or CONFINEMENT_STRICT and something is missing.
 */
int confinement_open(struct confinement *confinement, enum confinement_level level,
                     struct error *error);

/* When its workers have ended. All zeros are allowed. */
void confinement_close(struct confinement *confinement);

/* "sandboxed", "sandboxed without WHAT", "no sandbox": for people. Good until the next call. */
const char *confinement_description(const struct confinement *confinement);

/* The permissions of one worker's sandbox. */
struct confinement_terms {
    const char *const *programs; /* that it may read and execute, too; ends with NULL */
    bool traced;                 /* it keeps the descriptor WORKER_TRACE_FD */
    const char *preload;         /* a library that traces it by that; NULL: none */
    bool forks;                  /* it makes processes, each of which confines itself */
    const char *group;           /* its control group; NULL: none */
};

/* Adds the command line that executes `path` with `arguments`, which end with NULL, in the sandbox.
 */
void confinement_wrap(struct command_line *line, const struct confinement *confinement,
                      const char *path, char *const *arguments,
                      const struct confinement_terms *terms);

#endif
