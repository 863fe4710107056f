/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/agent_environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char preload_name[] = "LD_PRELOAD=";

static bool is_ours(const char *variable)
{
    return strncmp(variable, preload_name, strlen(preload_name)) == 0 ||
           strncmp(variable, "GASPIPE_TRACE=", strlen("GASPIPE_TRACE=")) == 0;
}

char **agent_environment(const char *agent, int fd, char *const *environment)
{
    enum { OWN = 3, NUMBER = 32 };
    const char *before = "";
    size_t count = 0, filled = 0, length;
    char **all, *text;

    for (; environment[count] != NULL; count++)
        if (strncmp(environment[count], preload_name, strlen(preload_name)) == 0)
            before = environment[count] + strlen(preload_name);
    length = strlen(preload_name) + (agent != NULL ? strlen(agent) : 0) + 1 + strlen(before) + 1;
    all = malloc((count + OWN) * sizeof *all + NUMBER + length);
    if (all == NULL)
        return NULL;
    text = (char *)(all + count + OWN);
    all[filled++] = text;
    snprintf(text, NUMBER, "GASPIPE_TRACE=%d", fd);
    text += NUMBER;
    if (agent != NULL) {
        all[filled++] = text;
        snprintf(text, length, "%s%s%s%s", preload_name, agent, *before != '\0' ? ":" : "", before);
    }
    for (size_t i = 0; i < count; i++)
        if (!is_ours(environment[i]))
            all[filled++] = environment[i];
    all[filled] = NULL;
    return all;
}
