/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/confinement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/contract_filter.h"
#include "supervisor/process/guest.h"
#include "supervisor/process/worker_process.h"

int confinement_open(struct confinement *confinement, enum confinement_level level,
                     struct error *error)
{
    *confinement = (struct confinement){.level = level};
    if (level == CONFINEMENT_OFF)
        return 0;
    if (SANDBOX_SANITIZED) {
        confinement->level = CONFINEMENT_OFF;
        sandbox_note_missing(confinement->missing, "a build without sanitizers");
    } else {
        sandbox_probe(confinement->missing);
    }
    if (level == CONFINEMENT_STRICT && confinement->missing[0] != '\0')
        return error_set(error, ERROR_SYSTEM, "--sandbox strict: this system lacks: %s",
                         confinement->missing);
    if (SANDBOX_SANITIZED)
        return 0;
    if (locate("gaspipe-sandbox", confinement->launcher, error) != 0)
        return -1;
    control_groups_open(&confinement->groups);
    return 0;
}

void confinement_close(struct confinement *confinement)
{
    control_groups_close(&confinement->groups);
}

/* What is used where it is there, and is no part of what CONFINEMENT_STRICT asks for. */
static void note_groups(const struct control_groups *groups, char missing[SANDBOX_MISSING_SIZE])
{
    if (groups->folder[0] == '\0')
        sandbox_note_missing(missing, "control groups");
    else if (!groups->limit_memory || !groups->limit_processes)
        sandbox_note_missing(missing, "limits of control groups");
}

const char *confinement_description(const struct confinement *confinement)
{
    static char words[SANDBOX_MISSING_SIZE + sizeof "sandboxed without "];
    char missing[SANDBOX_MISSING_SIZE];

    if (confinement->level == CONFINEMENT_OFF)
        return "no sandbox";
    memcpy(missing, confinement->missing, sizeof missing);
    note_groups(&confinement->groups, missing);
    if (missing[0] == '\0')
        return "sandboxed";
    snprintf(words, sizeof words, "sandboxed without %s", missing);
    return words;
}

static size_t count_strings(const char *const *strings)
{
    size_t count = 0;

    while (strings[count] != NULL)
        count++;
    return count;
}

static const char **add_pair(const char **next, const char *name, const char *value)
{
    if (value == NULL)
        return next;
    *next++ = name;
    *next++ = value;
    return next;
}

char **confinement_wrap(const struct confinement *confinement, const char *path,
                        char *const *arguments, const struct confinement_terms *terms)
{
    enum { OWN = 12 }; /* its own words at most, and the end */
    static const char descriptors[] = {'0' + WORKER_SAVE_FD + 1, '\0'};
    static const char with_trace[] = {'0' + WORKER_TRACE_FD + 1, '\0'};
    const char **wrapped = calloc(OWN + 2 * count_strings(terms->programs) +
                                      count_strings((const char *const *)arguments),
                                  sizeof *wrapped);
    const char **next = wrapped;

    if (wrapped == NULL)
        return NULL;
    *next++ = arguments[0]; /* which the program gets as its name */
    next = add_pair(next, "--descriptors", terms->traced ? with_trace : descriptors);
    next = add_pair(next, "--preload", terms->preload);
    next = add_pair(next, "--group", terms->group);
    if (confinement->level == CONFINEMENT_STRICT)
        *next++ = "--strict";
    if (terms->forks)
        *next++ = "--forks";
    for (const char *const *program = terms->programs; *program != NULL; program++)
        next = add_pair(next, "--program", *program);
    *next++ = "--";
    *next++ = path;
    for (char *const *argument = arguments + 1; *argument != NULL; argument++)
        *next++ = *argument;
    return (char **)wrapped;
}
