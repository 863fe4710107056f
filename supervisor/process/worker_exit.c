/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/worker_exit.h"

#include <stddef.h>
#include <string.h>

#include "proto/command.h"

const char worker_unsettled[] = "the method's promise was not settled when nothing was left to do";

static const char compute_words[] = "Compute meter exceeded";
static const char instruction_words[] = "Instruction limit exceeded";

const char *worker_exit_reason(int exit_status)
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
    case WORKER_EXIT_MESSAGE:
        return "A message is too long for a frame";
    default:
        return NULL;
    }
}

struct worker_limit worker_exit_limit(const char *reason)
{
    if (strcmp(reason, compute_words) == 0)
        return (struct worker_limit){"--compute-limit", "computrons", true};
    if (strcmp(reason, instruction_words) == 0)
        return (struct worker_limit){"--max-instructions", "instructions", false};
    return (struct worker_limit){0};
}
