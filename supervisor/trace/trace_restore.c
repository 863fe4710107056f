/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

enum {
    PATCH_SIZE = 5,
    TRIES = 500, /* a millisecond each, and longer on a busy machine */
};

/* ---- what is there ---- */

static bool read_target(const struct trace_restoring *restoring, uint64_t address, void *bytes,
                        size_t size)
{
    return pread(restoring->memory, bytes, size, (off_t)address) == (ssize_t)size;
}

static void *read_target_table(const struct trace_restoring *restoring, uint64_t address,
                               size_t count, size_t size)
{
    void *const table = calloc(count + 1, size);

    if (table == NULL || count == 0 || read_target(restoring, address, table, count * size))
        return table;
    free(table);
    return NULL;
}

/* A range of addresses, as a patch of any length. */
static int add_code(struct trace_restoring *restoring, size_t *capacity, uint64_t begin,
                    uint64_t size, struct error *error)
{
    struct trace_range *const code =
        array_reserve(restoring->code, capacity, restoring->code_count + 1, sizeof *code);

    if (code == NULL)
        return error_memory(error, "a trace");
    restoring->code = code;
    code[restoring->code_count++] = (struct trace_range){begin, begin + size};
    return 0;
}

/* The text of the agent. */
static int find_agent(struct trace_restoring *restoring, size_t *capacity, struct error *error)
{
    char path[64], line[PATH_MAX + 128];
    unsigned long begin, end;
    int result = 0;
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%d/maps", restoring->process);
    maps = fopen(path, "re");
    if (maps == NULL)
        return error_set(error, ERROR_INPUT, "no process %d", restoring->process);
    while (result == 0 && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "/libgastrace.so") != NULL && strstr(line, " r-xp ") != NULL &&
            /* NOLINTNEXTLINE(cert-err34-c): Linux writes numbers there */
            sscanf(line, "%lx-%lx", &begin, &end) == 2)
            result = add_code(restoring, capacity, begin, end - begin, error);
    fclose(maps);
    return result;
}

static int find_code(struct trace_restoring *restoring, struct error *error)
{
    const struct trace_head *const head = &restoring->head;
    size_t capacity = 0;

    for (uint32_t i = 0; i < head->module_count; i++)
        if (head->modules[i].region != 0 && add_code(restoring, &capacity, head->modules[i].region,
                                                     head->modules[i].region_size, error) != 0)
            return -1;
    return find_agent(restoring, &capacity, error);
}

/* The process could have written anything there. */
static bool is_valid_head(const struct trace_head *head, uint64_t address)
{
    return head->magic == TRACE_MAGIC && head->version == TRACE_VERSION &&
           head->mapped_at == address && head->module_count <= TRACE_MODULES_MAX &&
           head->patch_count <= TRACE_FUNCTIONS_MAX &&
           head->call_count <= (head->chunks_at - head->calls_at) / sizeof(struct trace_call) &&
           head->chunks_at - head->calls_at <= INT_MAX;
}

int trace_restore_open(struct trace_restoring *restoring, pid_t process, uint64_t head,
                       uint64_t instruction, struct error *error)
{
    char path[64];

    *restoring = (struct trace_restoring){.process = process, .instruction = instruction};
    snprintf(path, sizeof path, "/proc/%d/mem", process);
    restoring->memory = open(path, O_RDWR | O_CLOEXEC);
    if (restoring->memory < 0)
        return error_system(error, errno, "cannot write into process %d", process);
    if (!read_target(restoring, head, &restoring->head, sizeof restoring->head) ||
        !is_valid_head(&restoring->head, head))
        return error_set(error, ERROR_INPUT,
                         "process %d cannot be traced: another version of gaspipe has traced it",
                         process);
    restoring->patches = read_target_table(restoring, head + restoring->head.patches_at,
                                           restoring->head.patch_count, sizeof *restoring->patches);
    restoring->calls = read_target_table(restoring, head + restoring->head.calls_at,
                                         restoring->head.call_count, sizeof *restoring->calls);
    if (restoring->patches == NULL || restoring->calls == NULL)
        return error_set(error, ERROR_SYSTEM, "cannot read the trace in process %d", process);
    return find_code(restoring, error);
}

void trace_restore_close(struct trace_restoring *restoring)
{
    if (restoring->memory >= 0)
        close(restoring->memory);
    free(restoring->patches);
    free(restoring->calls);
    free(restoring->code);
}

bool trace_restore_has_tracer(const struct trace_restoring *restoring)
{
    return (atomic_load(&restoring->head.wake_word) & TRACE_WAKE_TRACER) != 0;
}

/* ---- text ---- */

int trace_restore_text(const struct trace_restoring *restoring, struct error *error)
{
    uint8_t bytes[PATCH_SIZE];
    uint64_t word;

    for (uint32_t i = 0; i < restoring->head.patch_count; i++) {
        const struct trace_patch *const patch = &restoring->patches[i];

        if (!read_target(restoring, patch->address, bytes, sizeof bytes) ||
            memcmp(bytes, patch->after, sizeof bytes) != 0)
            continue;
        if (pwrite(restoring->memory, patch->before, sizeof bytes, (off_t)patch->address) !=
            sizeof bytes)
            return error_system(error, errno, "cannot restore the text of process %d",
                                restoring->process);
    }
    for (uint32_t i = 0; i < restoring->head.call_count; i++) {
        const struct trace_call *const call = &restoring->calls[i];

        if (call->before != 0 && read_target(restoring, call->slot, &word, sizeof word) &&
            word == call->trampoline &&
            pwrite(restoring->memory, &call->before, sizeof word, (off_t)call->slot) != sizeof word)
            return error_system(error, errno, "cannot restore the calls of process %d",
                                restoring->process);
    }
    return 0;
}

/* ---- calls in progress ---- */

/*
 * The hazard: a thread that is in a trampoline or in the agent relies on its shadow stack. It is
 * left to continue, and leaves them soon, because functions no longer lead there.
 */
static bool is_quiet(const struct trace_restoring *restoring, const struct trace_threads *threads)
{
    if (trace_threads_are_within(threads, restoring->code, restoring->code_count))
        return false;
    for (size_t i = 0; i < threads->count; i++) {
        const uint64_t base = trace_threads_base(threads, i);
        int busy;

        if (base == 0 ||
            !read_target(restoring, base + (uint64_t)restoring->head.busy_offset, &busy,
                         sizeof busy) ||
            busy != 0)
            return false;
    }
    return true;
}

/* Returns true if the thread has a shadow stack. */
static bool is_traced(const struct trace_restoring *restoring, const struct trace_threads *threads,
                      size_t index)
{
    const uint64_t base = trace_threads_base(threads, index);
    uint64_t top = 0;

    return base != 0 &&
           read_target(restoring, base + (uint64_t)restoring->head.top_offset, &top, sizeof top) &&
           top != 0;
}

/* In each thread that is traced, and then for the process; all others are stopped. */
static int leave_all(const struct trace_restoring *restoring, struct trace_threads *threads,
                     struct error *error)
{
    struct trace_injection injection = {.function = restoring->head.leave_thread,
                                        .instruction = restoring->instruction};

    for (size_t i = 0; i < threads->count; i++)
        if (is_traced(restoring, threads, i) &&
            trace_threads_call_alone(threads, i, &injection, error) != 0)
            return -1;
    injection.function = restoring->head.leave;
    return trace_threads_call_alone(threads, 0, &injection, error);
}

int trace_restore_calls(const struct trace_restoring *restoring, struct error *error)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    struct trace_threads threads;
    int result = 1;

    for (int i = 0; i < TRIES && result == 1; i++) {
        if (trace_threads_stop(&threads, restoring->process, error) != 0)
            return -1;
        if (is_quiet(restoring, &threads))
            result = leave_all(restoring, &threads, error);
        trace_threads_release(&threads);
        if (result == 1)
            (void)nanosleep(&moment, NULL);
    }
    return result;
}
