/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_REPORT_H
#define GASPIPE_COUNTER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/kind.h"

/* The counter's report for its parent process (`report=PATH`): a file that both map. The counter
 * updates the numbers as it counts, so they are right however a process ends. Each process has a
 * record, and each program that a process becomes by execve(2) has one. */

#define REPORT_VERSION       4
#define REPORT_PROCESSES_MAX 256
#define REPORT_REGIONS_MAX   4096
#define REPORT_SYSCALLS      512
#define REPORT_WORDS         16 /* TALLY_WORDS */
#define REPORT_NAME_SIZE     64
#define REPORT_OBJECTS_SIZE  65536
#define REPORT_PAGE          8192 /* the size of a record; a multiple of the host's page */

struct report_process {
    int32_t pid;
    int32_t parent;
    uint32_t precision;  /* enum gasmark_precision, the highest that it reached */
    uint32_t over_limit; /* it exceeded its instruction limit and was ended */
    /* Translated code adds to these while there is one thread: */
    uint64_t words[REPORT_WORDS] __attribute__((aligned(128)));
    /* All threads add to these at each system call: */
    uint64_t begun; /* in addition to words */
    uint64_t faults;
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t syscalls;
    uint64_t inherited; /* words and begun less faults, copied from the parent by fork(2) */
    /* The instructions by kind, likewise, if requested: */
    uint64_t kind_words[KIND_COUNT];
    uint64_t kinds[KIND_COUNT]; /* completed, in addition to kind_words */
    uint64_t kinds_inherited[KIND_COUNT];
    uint64_t by_number[REPORT_SYSCALLS]; /* system calls, by report_call() */
    char program[REPORT_NAME_SIZE];      /* its name without directories; terminated, may be cut */
};

_Static_assert(sizeof(struct report_process) <= REPORT_PAGE, "a record has outgrown its page");

/* A marked region that was stopped. */
struct report_region {
    int32_t pid;
    uint32_t thread; /* QEMU's vCPU index */
    uint64_t instructions;
    uint64_t faults;
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t syscalls;
    uint64_t kinds[KIND_COUNT];
    uint64_t by_number[REPORT_SYSCALLS]; /* system calls, by report_call() */
};

struct report {
    uint32_t version;
    uint32_t processes; /* number of processes; those above the maximum have no record */
    uint32_t regions;   /* likewise */
    uint32_t objects;   /* bytes used below; if more than fits, some were left out */
    struct report_region region[REPORT_REGIONS_MAX];
    /* Paths of files that were mapped as executable code, each with its '\0'. */
    char object[REPORT_OBJECTS_SIZE];
};

/* The file: a struct report, padded to REPORT_PAGE, then the records. */
#define REPORT_HEAD_SIZE                                                                           \
    ((sizeof(struct report) + REPORT_PAGE - 1) / REPORT_PAGE * (size_t)REPORT_PAGE)
#define REPORT_SIZE (REPORT_HEAD_SIZE + (size_t)REPORT_PROCESSES_MAX * REPORT_PAGE)

/* Returns the index of a system call's counter; the last one is for all other numbers. */
static inline size_t report_call(int64_t number)
{
    return number >= 0 && number < REPORT_SYSCALLS ? (size_t)number : REPORT_SYSCALLS - 1;
}

/* Returns the instructions that a process completed. */
static inline uint64_t report_instructions(const struct report_process *process)
{
    uint64_t begun = process->begun;

    for (int word = 0; word < REPORT_WORDS; word++)
        begun += process->words[word];
    return begun - process->faults - process->inherited;
}

/* Returns the instructions of one kind (below KIND_COUNT) that it completed. */
static inline uint64_t report_kind(const struct report_process *process, int kind)
{
    return process->kind_words[kind] + process->kinds[kind] - process->kinds_inherited[kind];
}

#endif
