/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/confinement.h"

#include <stdio.h>
#include <stdlib.h>

#include "sandbox/sanitized.h"
#include "supervisor/process/locate.h"
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
    return SANDBOX_SANITIZED ? 0 : locate("gaspipe-sandbox", confinement->launcher, error);
}

const char *confinement_description(const struct confinement *confinement)
{
    static char words[SANDBOX_MISSING_SIZE + sizeof "sandboxed without "];

    if (confinement->level == CONFINEMENT_OFF)
        return "no sandbox";
    if (confinement->missing[0] == '\0')
        return "sandboxed";
    snprintf(words, sizeof words, "sandboxed without %s", confinement->missing);
    return words;
}

static size_t count_strings(const char *const *strings)
{
    size_t count = 0;

    while (strings[count] != NULL)
        count++;
    return count;
}

char **confinement_wrap(const struct confinement *confinement, const char *path,
                        char *const *arguments, const char *const *programs, bool traced,
                        const char *preload)
{
    enum { OWN = 9 }; /* its own words at most, and the end */
    static const char descriptors[] = {'0' + WORKER_SAVE_FD + 1, '\0'};
    static const char with_trace[] = {'0' + WORKER_TRACE_FD + 1, '\0'};
    const char **wrapped =
        calloc(OWN + 2 * count_strings(programs) + count_strings((const char *const *)arguments),
               sizeof *wrapped);
    const char **next = wrapped;

    if (wrapped == NULL)
        return NULL;
    *next++ = arguments[0]; /* which the program gets as its name */
    *next++ = "--descriptors";
    *next++ = traced ? with_trace : descriptors;
    if (preload != NULL) {
        *next++ = "--preload";
        *next++ = preload;
    }
    if (confinement->level == CONFINEMENT_STRICT)
        *next++ = "--strict";
    for (; *programs != NULL; programs++) {
        *next++ = "--program";
        *next++ = *programs;
    }
    *next++ = "--";
    *next++ = path;
    for (char *const *argument = arguments + 1; *argument != NULL; argument++)
        *next++ = *argument;
    return (char **)wrapped;
}
