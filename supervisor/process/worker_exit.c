/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/worker_exit.h"

#include <stdio.h>
#include <string.h>

#include "proto/command.h"

const char worker_unsettled[] = "the method's promise was not settled when nothing was left to do";

static const char compute_words[] = "Compute meter exceeded";
static const char instruction_words[] = "Instruction limit exceeded";
static const char cost_words[] = "Cost limit exceeded";

/* An exit that tells of the worker's vat; NULL for one that tells of the host. */
static const char *vat_failure(int exit_status)
{
    switch (exit_status) {
    case WORKER_EXIT_COMPUTATION:
        return compute_words;
    case WORKER_EXIT_STACK:
        return "Stack meter exceeded";
    case WORKER_EXIT_MEMORY:
        return "Allocate meter exceeded";
    case WORKER_EXIT_KEYS:
        return "Too many property names";
    case WORKER_EXIT_INSTRUCTIONS:
        return instruction_words;
    case WORKER_EXIT_COST:
        return cost_words;
    case WORKER_EXIT_MESSAGE:
        return "A message is too long for a frame";
    default:
        return NULL;
    }
}

struct worker_limit worker_exit_limit(const char *reason)
{
    if (strcmp(reason, compute_words) == 0)
        return (struct worker_limit){WORKER_LIMIT_COMPUTRONS, "--compute-limit", "computrons"};
    if (strcmp(reason, instruction_words) == 0)
        return (struct worker_limit){WORKER_LIMIT_INSTRUCTIONS, "--max-instructions",
                                     "instructions"};
    if (strcmp(reason, cost_words) == 0)
        return (struct worker_limit){WORKER_LIMIT_COST, "--max-cost", "units"};
    return (struct worker_limit){0};
}

enum error_kind worker_exit_describe(int exit_status, int signal_number, const char *stderr_line,
                                     char *text, size_t size)
{
    const char *failure = signal_number == 0 ? vat_failure(exit_status) : NULL;

    if (failure != NULL)
        snprintf(text, size, "%s", failure);
    else if (signal_number != 0)
        snprintf(text, size, "its worker was killed by signal %d (%s)", signal_number,
                 strsignal(signal_number));
    else
        snprintf(text, size, "its worker ended with exit status %d%s%s", exit_status,
                 stderr_line[0] != '\0' ? ": " : "", stderr_line);
    return failure != NULL ? ERROR_DELIVERY : ERROR_SYSTEM;
}
