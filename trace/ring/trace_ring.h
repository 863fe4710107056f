/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_RING_TRACE_RING_H
#define GASPIPE_TRACE_RING_TRACE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/memory.h"
#include "trace/patch/patch_plan.h"

/*
 * Makes Linux set wake words (trace/memory.h) when this thread ends, even if it is killed, so that
 * threads that wait for it continue at once.
 *
 * Linux follows a list, which the traced process must not be able to change. So the list lies in
 * EXIT_NOTIFIER_SIZE private bytes before the shared memory. An entry is that far before its wake
 * word, which lies in the first EXIT_NOTIFIER_SIZE shared bytes, at a multiple of eight:
 *
 *      | private: entry ->| entry ->|      | shared: wake word | wake word |
 *      |<------------ EXIT_NOTIFIER_SIZE -------->|
 */
enum { EXIT_NOTIFIER_SIZE = 256 << 10 };

/* The tracer's side of the memory that it shares with one traced process. */
struct trace_ring;

struct trace_ring_options {
    struct trace_choice choice;
    const char *program; /* the file that the process executes; borrowed for the ring's life */
    struct option_list libraries; /* patterns of files' names, which have no blanks */
    enum trace_policy policy;
    enum trace_clock_kind clock;
    unsigned lanes;       /* threads that can be traced at a time */
    unsigned lane_chunks; /* of TRACE_CHUNK_SIZE bytes, for each of them */
};

enum { TRACE_LANES_DEFAULT = 64, TRACE_CHUNKS_DEFAULT = 1024, TRACE_CHUNKS_BUDGET = 32 };

/* Receives the events. Each function returns 0, or -1 with the error filled, which ends the
 * reading. */
struct trace_sink {
    void *context;
    /* Once, before all events; borrowed for the ring's life. */
    int (*begun)(void *context, uint32_t process, const struct patch_plan *plan,
                 struct error *error);
    /* Events of a thread in their order (trace/memory.h), without zeros. Borrowed. */
    int (*events)(void *context, unsigned lane, uint32_t thread, const uint64_t *events,
                  size_t count, struct error *error);
    /* The thread has ended; another may get its lane. */
    int (*ended)(void *context, unsigned lane, struct error *error);
};

/* NULL with ERROR_SYSTEM. `fd` is one that the process has made; -1: makes a file in memory. */
struct trace_ring *trace_ring_new(const struct trace_ring_options *options, int fd,
                                  struct error *error);
void trace_ring_free(struct trace_ring *ring);

/* The memory's descriptor, for the traced process; the ring owns it. */
int trace_ring_fd(const struct trace_ring *ring);

/*
 * Answers the agent, and reads published chunks. Call it every few milliseconds, because processes
 * may wait for it and do not report what they publish, which would take a system call. *busy: it
 * found something.
 */
int trace_ring_step(struct trace_ring *ring, const struct trace_sink *sink, bool *busy,
                    struct error *error);

/* Reads the rest after the process has ended, or its text was restored. */
int trace_ring_finish(struct trace_ring *ring, const struct trace_sink *sink, struct error *error);

/* The reason why no functions are traced; "" if the agent never answered. */
const char *trace_ring_attach_check(struct trace_ring *ring);

const struct patch_plan *trace_ring_plan(const struct trace_ring *ring);
struct trace_head *trace_ring_head(const struct trace_ring *ring);
/* The original head, for offsets: the process could have changed those in memory. */
const struct trace_head *trace_ring_layout(const struct trace_ring *ring);
/* How many patches there are. */
size_t trace_ring_patches(const struct trace_ring *ring);

uint64_t trace_ring_threads_left_out(const struct trace_ring *ring);

/* Threads stop waiting for the tracer, which no longer reads. */
void trace_ring_detach(struct trace_ring *ring);

/*
 * Makes the only traced thread wait in the agent once it has filled a chunk, until
 * trace_ring_continue(), or for some seconds without trace_ring_step(). False: several threads are
 * traced, or they do not wait for the tracer.
 */
bool trace_ring_hold(struct trace_ring *ring);
void trace_ring_continue(struct trace_ring *ring);

/* Sets how many chunks of a lane can be filled before its thread waits. With few, its events are
 * read soon. */
void trace_ring_open_chunks(struct trace_ring *ring, uint32_t chunks);

/* Returns true if more events were published than the sink has received. */
bool trace_ring_has_more(const struct trace_ring *ring);

/* The address in the process of the futex at which a held thread may wait; 0: none yet.
 * trace_text_waits_at() makes sure. */
uint64_t trace_ring_held_at(const struct trace_ring *ring);

/* Stops tracing the function with this number. A call of it still takes three jumps. */
void trace_ring_leave_out(struct trace_ring *ring, unsigned number);

/* The patch of a function; false: it has none, as library calls. */
bool trace_ring_patch_of(const struct trace_ring *ring, unsigned number, struct trace_patch *patch);

#endif
