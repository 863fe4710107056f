/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_REPORT_H
#define GASPIPE_COUNTER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/kind.h"

/*
 * What the counter tells the one who started it (`report=PATH`), in a file that
 * both map. Numbers are written as they arise, so they are right however a
 * process ends. One record for each process, and for each program that a
 * process becomes by execve(2).
 */

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
    uint32_t precision;  /* enum gasmark_precision, the best that it had */
    uint32_t over_limit; /* it was ended because of its instruction limit */
    /* Added to by translated code while there is one thread: */
    uint64_t words[REPORT_WORDS] __attribute__((aligned(128)));
    /* Added to at each system call, by all threads: */
    uint64_t begun; /* beside words */
    uint64_t faults;
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t syscalls;
    uint64_t inherited; /* words and begun less faults, as they were copied by fork(2) */
    /* Of the instructions, likewise, where kinds are asked for: */
    uint64_t kind_words[KIND_COUNT];
    uint64_t kinds[KIND_COUNT]; /* beside kind_words, of what completed */
    uint64_t kinds_inherited[KIND_COUNT];
    uint64_t by_number[REPORT_SYSCALLS]; /* system calls, by report_call() */
    char program[REPORT_NAME_SIZE];      /* its name, without a folder; terminated, may be cut */
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
    uint32_t processes; /* that there were; those above the maximum have no record */
    uint32_t regions;   /* likewise */
    uint32_t objects;   /* bytes used below; more than fits: some were left out */
    struct report_region region[REPORT_REGIONS_MAX];
    /* Paths of files that were mapped to be executed, each with its '\0'. */
    char object[REPORT_OBJECTS_SIZE];
};

/* The file: a struct report, padded to REPORT_PAGE, then the records. */
#define REPORT_HEAD_SIZE                                                                           \
    ((sizeof(struct report) + REPORT_PAGE - 1) / REPORT_PAGE * (size_t)REPORT_PAGE)
#define REPORT_SIZE (REPORT_HEAD_SIZE + (size_t)REPORT_PROCESSES_MAX * REPORT_PAGE)

/* Where a system call is counted, by its number; the last place is for all that have none. */
static inline size_t report_call(int64_t number)
{
    return number >= 0 && number < REPORT_SYSCALLS ? (size_t)number : REPORT_SYSCALLS - 1;
}

/* What a process has executed: instructions that completed. */
static inline uint64_t report_instructions(const struct report_process *process)
{
    uint64_t begun = process->begun;

    for (int word = 0; word < REPORT_WORDS; word++)
        begun += process->words[word];
    return begun - process->faults - process->inherited;
}

/* What it has executed of a kind, one of KIND_COUNT. */
static inline uint64_t report_kind(const struct report_process *process, int kind)
{
    return process->kind_words[kind] + process->kinds[kind] - process->kinds_inherited[kind];
}

#endif
