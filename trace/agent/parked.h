/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_PARKED_H
#define GASPIPE_TRACE_AGENT_PARKED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Return addresses of frames that seem to have been unwound. A program that switches stacks
 * (coroutines, a signal's stack) comes back to such frames; without their address it would be
 * lost. The newest PARKED_FRAMES of a thread are kept.
 */
enum { PARKED_FRAMES = 4096 };

struct parked {
    struct {
        uint64_t slot, return_address;
    } frames[PARKED_FRAMES];
};

void parked_put(struct parked *parked, uint64_t slot, uint64_t return_address);

/* False: there is none for this place on the stack. */
bool parked_take(struct parked *parked, uint64_t slot, uint64_t *return_address);

#endif
