/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/worker_exit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "proto/command.h"
#include "sandbox/contract_filter.h"

const char worker_unsettled[] = "the method's promise was not settled when nothing was left to do";

const char worker_over_compute[] = "Compute meter exceeded";

/* Exits that are the vat's fault. The engine's own limits are XS's and engine_xs.c's. */
static const struct {
    enum worker_exit exit_status;
    const char *words;
    struct worker_limit limit;
} vat_failures[] = {
    {WORKER_EXIT_COMPUTATION,
     worker_over_compute,
     {WORKER_LIMIT_COMPUTRONS, "computrons", "computrons that a delivery may use (--compute-limit)",
      NULL}},
    {WORKER_EXIT_INSTRUCTIONS,
     "Instruction limit exceeded",
     {WORKER_LIMIT_INSTRUCTIONS, "instructions",
      "instructions that a delivery may use (--max-instructions)", NULL}},
    {WORKER_EXIT_COST,
     "Cost limit exceeded",
     {WORKER_LIMIT_COST, "units", "units that a delivery may use (--max-cost)", NULL}},
    {WORKER_EXIT_STACK,
     "Stack meter exceeded",
     {WORKER_LIMIT_STACK, "stack", NULL,
      "the engine's 4096 slots, or 262144 links of prototypes or modules, which no option "
      "changes"}},
    {WORKER_EXIT_MEMORY,
     "Allocate meter exceeded",
     {WORKER_LIMIT_HEAP, "heap", "bytes of heap that a vat may have (--max-heap)",
      "the engine's 2147483648 bytes of heap, 1073741824 of them in strings and buffers "
      "(--max-heap can only lower it)"}},
    {WORKER_EXIT_KEYS,
     "Too many property names",
     {WORKER_LIMIT_KEYS, "keys", NULL, "the engine can hold, which no option changes"}},
    {WORKER_EXIT_MESSAGE,
     "A message is too long for a frame",
     {WORKER_LIMIT_MESSAGE, "message", NULL,
      "the 25165824 bytes of a frame, which no option changes (--max-message-bytes can set a "
      "lower limit)"}},
};

enum { VAT_FAILURES = sizeof vat_failures / sizeof *vat_failures };

/* NULL if the host is at fault. */
static const char *vat_failure(int exit_status)
{
    for (size_t i = 0; i < VAT_FAILURES; i++) {
        if ((int)vat_failures[i].exit_status == exit_status)
            return vat_failures[i].words;
    }
    return NULL;
}

struct worker_limit worker_exit_limit(const char *reason)
{
    for (size_t i = 0; i < VAT_FAILURES; i++) {
        if (strcmp(reason, vat_failures[i].words) == 0)
            return vat_failures[i].limit;
    }
    return (struct worker_limit){0};
}

bool worker_exit_is_crash(int signal_number)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};

    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        if (signal_number == crashes[i])
            return true;
    }
    return false;
}

bool worker_exit_is_memory(int exit_status, int signal_number)
{
    return signal_number == 0 && exit_status == WORKER_EXIT_HOST_MEMORY;
}

/* Only a name or a number is believed: native code may have printed the line itself. */
static bool names_system_call(const char *stderr_line)
{
    const size_t mark = strlen(CONTRACT_FILTER_REFUSES);
    const char *name = stderr_line + mark;

    return strncmp(stderr_line, CONTRACT_FILTER_REFUSES, mark) == 0 && *name != '\0' &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789")] == '\0';
}

enum error_kind worker_exit_describe(int exit_status, int signal_number, const char *stderr_line,
                                     char *text, size_t size)
{
    const char *failure = signal_number == 0 ? vat_failure(exit_status) : NULL;

    if (failure != NULL)
        snprintf(text, size, "%s", failure);
    else if (signal_number == SIGSYS && names_system_call(stderr_line))
        snprintf(text, size, "its worker was killed by signal %d: %s", signal_number, stderr_line);
    else if (signal_number != 0)
        snprintf(text, size, "its worker was killed by signal %d (%s)", signal_number,
                 strsignal(signal_number));
    else
        snprintf(text, size, "its worker ended with exit status %d%s%s", exit_status,
                 stderr_line[0] != '\0' ? ": " : "", stderr_line);
    return failure != NULL ? ERROR_DELIVERY : ERROR_SYSTEM;
}
