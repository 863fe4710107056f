/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_RUNTIME_STATE_H
#define GASPIPE_METER_RUNTIME_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The run-time part, which is linked into metered programs, for the eyes of its own files.
 *
 * A thread's count is spread over banks. Each bank starts at minus its share of what is left
 * of the budget and counts up; the flush that brings one to zero calls gasmeter_refill(),
 * which sums up and shares out anew. So the first flush past the budget finds the bank that
 * it adds to at zero, whatever bank that is: the place does not depend on which function
 * has which bank. A new thread's banks are zero, so its first flush makes it known.
 */

/* As many as meter/pass/support.h has. */
#define GASMETER_BANKS 64

extern _Thread_local int64_t gasmeter_banks[GASMETER_BANKS];

/* What the bounded function (meter/pass/carry.h) used that has just returned; its caller
 * takes it at once, unless a signal comes in between. */
extern _Thread_local uint64_t gasmeter_carry;

#define GASMETER_UNLIMITED UINT64_MAX

/* No more units than that are counted past a budget (meter/pass/support.h). */
#define GASMETER_OVERSHOOT 100000

/* One thread's count, without its banks. */
struct thread_count {
    uint64_t counted; /* up to the last sharing out */
    int64_t share;    /* what each bank was set to, negative */
    uint64_t limit;   /* a count of this thread past which it stops, or GASMETER_UNLIMITED */
    void (*spent)(void *argument);
    void *argument;
    int64_t *banks; /* NULL: the thread is not known yet */
    int rounds;     /* of destructors that have been called as the thread ends */
    struct thread_count *next;
};

extern _Thread_local struct thread_count thread_count;

/* The thread's count so far. */
uint64_t count_of_thread(void);

/* The count of the process, of which this is one thread. */
uint64_t count_of_process(void);

/* Sets the thread's limit and shares out what is left. */
void count_set_limit(uint64_t limit);

/* The thread's count becomes this. */
void count_set(uint64_t units);

/* Acts if a limit is passed, and else shares out what is left. */
void count_look(void);

/* What this thread may still use. */
uint64_t count_left(void);

/*
 * Begins to count, before there are threads, with a limit for the whole process.
 * `spent` does not return; it is called when a limit is passed and the thread has not said
 * what is to be done then.
 */
void count_begin(uint64_t limit, void (*spent)(void));

/* Reads the budget from the environment and prepares the report, once. */
void runtime_begin(void);

/* Is the count that of this process? A child of vfork() has the memory, and the count, of its
 * parent. */
bool process_is_own(void);

/* The process has forked: the child counts from zero. */
void count_restart(void);

/* While a signal handler runs, the banks of what it interrupted are kept as they were. */
struct count_saved {
    int64_t banks[GASMETER_BANKS];
    uint64_t carry;
    int64_t share;
};

void count_save(struct count_saved *saved);
void count_restore(const struct count_saved *saved);

/* Writes the line, once for each process. Safe in signal handlers. `how` is "exit", "signal",
 * "budget" or "exec". */
void report_write(const char *how, int number);

/*
 * Another program is about to take the place of this one: writes the line, unless that could not be
 * taken back. The file has to be a regular one for that. Returns whether report_take_back() is to
 * be called if the program is still there.
 */
bool report_before_exec(void);

/* Blanks the line. The process goes on, and its end will write another one. */
void report_take_back(void);

bool report_wanted(void);

/* A region that was stopped came to so much. */
void report_region(uint64_t units);

#endif
