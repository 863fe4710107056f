/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_ZYGOTE_H
#define GASPIPE_WORKER_ZYGOTE_H

/*
 * A zygote is a worker that has started and read no command yet. It forks workers on
 * request. Each begins in the zygote's state, and saves the time and memory of a start.
 *
 * zygote.c has the steps and the races.
 */

enum zygote_end {
    ZYGOTE_WORKER, /* in a forked process, with its pipes in their places */
    ZYGOTE_OVER,   /* no further order can come */
};

/*
 * Serves orders from the socket `control` (proto/fork_request.h). Ends if a fork fails, or
 * if a child exits before it takes an order. The child's name overwrites `name`, as far as
 * it fits; NULL is allowed. Allocates nothing, so that a forked worker's memory equals that
 * of one that started by itself.
 */
enum zygote_end zygote_serve(int control, char *name);

#endif
