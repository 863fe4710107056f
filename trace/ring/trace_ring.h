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
 * Has Linux set wake words (trace/memory.h) when this thread ends, in whatever way: the threads
 * that wait for it learn of it at once, and need no connection to it but the memory.
 *
 * Linux follows a list, which must not lie in memory that the traced process can change. So
 * EXIT_NOTIFIER_SIZE bytes in front of memory with wake words are for the list, private and zero; a
 * wake word lies within the first EXIT_NOTIFIER_SIZE bytes, at a multiple of eight.
 */
enum { EXIT_NOTIFIER_SIZE = 256 << 10 };

/* Has this thread's end set the wake word, or no longer; both from the same thread, which has no
 * robust mutexes of the C library. */
void exit_notifier_add(uint8_t *memory, size_t wake_word);
void exit_notifier_remove(uint8_t *memory, size_t wake_word);

/* The id of this thread. */
uint32_t exit_notifier_thread(void);

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

/* What is read. Each returns 0, or -1 with the error filled, which ends the reading. */
struct trace_sink {
    void *context;
    /* Once, before all events; borrowed for the ring's life. */
    int (*begun)(void *context, uint32_t process, const struct patch_plan *plan,
                 struct error *error);
    /* Events of a thread in their order, as trace/memory.h has them, but for zeros. Borrowed. */
    int (*events)(void *context, unsigned lane, uint32_t thread, const uint64_t *events,
                  size_t count, struct error *error);
    /* The thread has ended; another may be given its lane. */
    int (*ended)(void *context, unsigned lane, struct error *error);
};

/* NULL with ERROR_SYSTEM. `fd` is one that the process has made; -1: makes a file in memory. */
struct trace_ring *trace_ring_new(const struct trace_ring_options *options, int fd,
                                  struct error *error);
void trace_ring_free(struct trace_ring *ring);

/* For the traced process. It stays the ring's. */
int trace_ring_fd(const struct trace_ring *ring);

/*
 * Answers the agent, and takes what has been published. To be called every few milliseconds:
 * a process that waits for it would be slowed, and one that publishes does not tell, as that
 * would cost it a system call. *busy: something was there.
 */
int trace_ring_step(struct trace_ring *ring, const struct trace_sink *sink, bool *busy,
                    struct error *error);

/* Takes what is left, once the process has ended or nothing in it is traced any more. */
int trace_ring_finish(struct trace_ring *ring, const struct trace_sink *sink, struct error *error);

/* Why no functions are traced: "" if the agent was never heard of. */
const char *trace_ring_refusal(struct trace_ring *ring);

const struct patch_plan *trace_ring_plan(const struct trace_ring *ring);
struct trace_head *trace_ring_head(const struct trace_ring *ring);
/* The same as it was made: for offsets, which the process could have changed. */
const struct trace_head *trace_ring_layout(const struct trace_ring *ring);
/* How many patches and calls there are. */
size_t trace_ring_patches(const struct trace_ring *ring);
size_t trace_ring_calls(const struct trace_ring *ring);

/* Until now. */
uint64_t trace_ring_threads_left_out(const struct trace_ring *ring);

/* Nobody reads any more: threads do not wait. */
void trace_ring_detach(struct trace_ring *ring);

/*
 * Has the process's only traced thread wait, in the agent, as soon as it has filled a chunk: until
 * trace_ring_go_on(), or some seconds without trace_ring_step(). False: threads do not wait for
 * this ring's reader, or more than one is traced.
 */
bool trace_ring_hold(struct trace_ring *ring);
void trace_ring_go_on(struct trace_ring *ring);

/* So many chunks of a lane can be filled before its thread waits: with few, what it writes is
 * known soon. */
void trace_ring_open_chunks(struct trace_ring *ring, uint32_t chunks);

/* For a sink that has been given events: whether others have been published behind them. */
bool trace_ring_is_behind(const struct trace_ring *ring);

/* The address in the process of the futex at which a thread that is held may wait; 0: none does
 * yet. trace_text_waits_at() tells for sure. */
uint64_t trace_ring_held_at(const struct trace_ring *ring);

/* Calls of a function are traced no longer. Its number is one of the plan's. Three jumps remain. */
void trace_ring_leave_out(struct trace_ring *ring, unsigned number);

/* The jump into a function's text; false: there is none, as of a library call. */
bool trace_ring_patch_of(const struct trace_ring *ring, unsigned number, struct trace_patch *patch);

#endif
