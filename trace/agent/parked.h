/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_PARKED_H
#define GASPIPE_TRACE_AGENT_PARKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Return addresses of frames that seem to have been unwound. A program that switches stacks
 * (coroutines, a signal's stack) comes back to such frames; without their address it would be
 * lost. There is one frame at most for each place on a stack, so that those that were indeed
 * unwound do not add up for ever. All zeros: none. Uses system calls alone.
 */
enum {
    PARKED_BITS_FIRST = 12, /* so many frames, as a power of two, before memory is asked for */
    PARKED_BITS_MOST = 22,  /* 64 MiB */
};

struct parked_frame {
    uint64_t slot, return_address; /* slot 0: free */
};

struct parked {
    struct parked_frame *frames; /* NULL: `first` */
    unsigned bits;               /* of the number of frames */
    struct parked_frame first[1 << PARKED_BITS_FIRST];
};

/* Without memory, the frame that lies lowest on a stack gives way. */
void parked_put(struct parked *parked, uint64_t slot, uint64_t return_address);

/* False: there is none for this place on the stack. */
bool parked_take(struct parked *parked, uint64_t slot, uint64_t *return_address);

#endif
