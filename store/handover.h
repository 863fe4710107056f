/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_HANDOVER_H
#define GASPIPE_STORE_HANDOVER_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Whose the database of a store is: its owner's, or for a while that of a thread that writes a
 * commit. SQLite runs without locks here, so only one of them may call it.
 */
struct handover {
    pthread_mutex_t mutex;
    pthread_cond_t returned;
    bool lent; /* the owner's: it has not seen the database come back yet */
    bool out;  /* under the mutex */
};

void handover_init(struct handover *handover);
void handover_destroy(struct handover *handover);

/* The owner: from now on the database is another thread's. */
void handover_lend(struct handover *handover);

/* That thread, around all that it does with the database. */
void handover_take(const struct handover *handover);
void handover_return(struct handover *handover);

/* Whether the calling thread is the one that took it. */
bool handover_is_taken_here(const struct handover *handover);

/* The owner, before it uses the database: waits until it is back. In the other thread: nothing. */
void handover_wait(struct handover *handover);

#endif
