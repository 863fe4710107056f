/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_RUNTIME_STATE_H
#define GASPIPE_METER_RUNTIME_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The internal interface of the run-time part, which gaspipe-cc links into metered
 * programs.
 *
 * A thread's count is spread over banks, so that a flush need not wait for the
 * previous one. The hazard: a budget must stop the thread at the same flush
 * whichever functions use which banks. So each bank starts at minus its share of
 * the remaining budget and counts up:
 *
 *     bank 0   -100 ... -40       flush: bank += units
 *     bank 1   -100 ... -100
 *     bank 2   -100 ... 0         reached zero: gasmeter_refill()
 *
 * gasmeter_refill() sums up and distributes what is left. The shares add up to
 * at most that, so the flush that passes the budget brings its own bank to zero
 * and detects it. A new thread's banks are zero: its first flush registers it.
 */

/* The same as in meter/pass/support.h. */
#define GASMETER_BANKS 64

extern _Thread_local int64_t gasmeter_banks[GASMETER_BANKS];

/* Units of the bounded function (meter/pass/carry.h) that just returned. Its caller takes them at
 * once, unless a signal interrupts. */
extern _Thread_local uint64_t gasmeter_carry;

#define GASMETER_UNLIMITED UINT64_MAX

/* A flush exceeds a budget by at most this many units (meter/pass/support.h). */
#define GASMETER_OVERSHOOT 100000

/* A thread's count, without its banks. */
struct thread_count {
    uint64_t counted; /* up to the last distribution */
    int64_t share;    /* the negative start value of each bank */
    uint64_t limit;   /* the count past which this thread stops, or GASMETER_UNLIMITED */
    void (*spent)(void *argument);
    void *argument;
    int64_t *banks; /* NULL: the thread is not registered */
    int rounds;     /* rounds of destructors so far at the thread's end */
    struct thread_count *next;
};

extern _Thread_local struct thread_count thread_count;

/* Returns the thread's count. */
uint64_t count_of_thread(void);

/* Returns the count of all threads of the process. */
uint64_t count_of_process(void);

/* Sets the thread's limit and distributes the rest. */
void count_set_limit(uint64_t limit);

/* Sets the thread's count. */
void count_set(uint64_t units);

/* Acts if a limit is passed; otherwise distributes the rest. */
void count_look(void);

/* Returns what this thread may still use. */
uint64_t count_left(void);

/* Begins to count with a limit for the whole process, before there are other threads. `spent` must
 * not return; it is called when a limit is passed and the thread has set no function. */
void count_begin(uint64_t limit, void (*spent)(void));

/* Reads the budget from the environment and prepares the report, once. */
void runtime_begin(void);

/* Returns true if the count belongs to this process. A child of vfork() has its parent's memory and
 * count. */
bool process_is_own(void);

/* Called in the child of a fork: it counts from zero. */
void count_restart(void);

/* The interrupted code's banks while a signal handler runs. */
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

/* Writes the line before another program replaces this one. Does not write it if the file is not a
 * regular one, where it could not be taken back. Returns true if the caller must call
 * report_take_back() after a failed exec. */
bool report_before_exec(void);

/* Blanks the line. The process continues, and its end will write another line. */
void report_take_back(void);

bool report_wanted(void);

/* Adds a stopped region to the line. */
void report_region(uint64_t units);

#endif
