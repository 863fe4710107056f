/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/confinement.h"

#include <stdio.h>
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

/* Control groups are used if the system has them; CONFINEMENT_STRICT does not require them. */
static void note_groups(const struct control_groups *groups, char missing[SANDBOX_MISSING_SIZE])
{
    if (groups->directory[0] == '\0')
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

static void add_option(struct command_line *line, const char *name, const char *value)
{
    if (value == NULL)
        return;
    command_line_add(line, "%s", name);
    command_line_add(line, "%s", value);
}

void confinement_wrap(struct command_line *line, const struct confinement *confinement,
                      const char *path, char *const *arguments,
                      const struct confinement_terms *terms)
{
    command_line_add(line, "%s", arguments[0]); /* which the program gets as its name */
    command_line_add(line, "--descriptors");
    command_line_add(line, "%d", (terms->traced ? WORKER_TRACE_FD : WORKER_SAVE_FD) + 1);
    add_option(line, "--preload", terms->preload);
    add_option(line, "--group", terms->group);
    if (confinement->level == CONFINEMENT_STRICT)
        command_line_add(line, "--strict");
    if (terms->forks)
        command_line_add(line, "--forks");
    for (const char *const *program = terms->programs; *program != NULL; program++)
        add_option(line, "--program", *program);
    command_line_add(line, "--");
    command_line_add(line, "%s", path);
    for (char *const *argument = arguments + 1; *argument != NULL; argument++)
        command_line_add(line, "%s", *argument);
}
