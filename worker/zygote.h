/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_ZYGOTE_H
#define GASPIPE_WORKER_ZYGOTE_H

/*
 * A worker that has started, and has read no command yet, makes others of itself: each begins
 * where it stands, as if it had started, too, without the time and the memory that this takes.
 */

enum zygote_end {
    ZYGOTE_WORKER, /* in a process that it has made, with its pipes in their places */
    ZYGOTE_OVER,   /* nobody asks any more */
};

/*
 * Answers what comes from the socket `control` (proto/fork_request.h), and ends where it cannot: no
 * worker could be made, or one has ended before it had taken an order. `name` is overwritten by a
 * new worker's, as far as it is long; NULL is allowed. Allocates nothing: a new worker's memory is
 * that of one that has started by itself.
 */
enum zygote_end zygote_serve(int control, char *name);

#endif
