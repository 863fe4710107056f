/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/worker_exit.h"

#include <stddef.h>

#include "proto/command.h"

const char worker_unsettled[] = "the method's promise was not settled when nothing was left to do";

const char *worker_exit_reason(int exit_status)
{
    switch (exit_status) {
    case WORKER_EXIT_COMPUTATION:
        return "Compute meter exceeded";
    case WORKER_EXIT_STACK:
        return "Stack meter exceeded";
    case WORKER_EXIT_MEMORY:
        return "Allocate meter exceeded";
    case WORKER_EXIT_KEYS:
        return "Too many property names";
    case WORKER_EXIT_INSTRUCTIONS:
        return "Instruction limit exceeded";
    case WORKER_EXIT_MESSAGE:
        return "A message is too long for a frame";
    default:
        return NULL;
    }
}
