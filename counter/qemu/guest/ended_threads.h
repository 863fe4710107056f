/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_ENDED_THREADS_H
#define GASPIPE_COUNTER_QEMU_GUEST_ENDED_THREADS_H

#include <stdbool.h>

/*
 * Gives back what QEMU 7.2 keeps of each thread that has ended: its processor, an
 * object of some 25 KB. QEMU lets go of its own reference when the thread ends,
 * but the processor stays a child of the container for devices without a parent,
 * which holds another, and which QEMU searches from the start for a free name each
 * time.
 *
 * A child is an entry in its parent's table of properties. The counter sees QEMU
 * insert it, and when the thread has ended takes it out as QEMU itself would: it
 * calls the entry's release function, and removes the entry. It does so when the
 * next thread is made, where QEMU holds the lock under which it changes that table.
 * With it goes the thread's generator of random numbers, which -seed gives it.
 *
 * A QEMU that takes the child out itself (8.1 and later) is noticed and left alone.
 */

/* Begins to. False when this QEMU does not make its threads in that way. */
bool ended_threads_reclaim(void);

/* The thread that the caller is making gets this index. */
void ended_threads_began(unsigned thread);

/* On the thread itself: its exit(2) is about to be done. */
void ended_threads_exits(unsigned thread);

#endif
