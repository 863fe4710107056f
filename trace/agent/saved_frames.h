/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_SAVED_FRAMES_H
#define GASPIPE_TRACE_AGENT_SAVED_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Frames that seem to have been unwound: a hash table by slot. It has at most one frame for each
 * slot, so that frames that were really unwound do not accumulate. All zeros: empty. */
enum {
    SAVED_BITS_FIRST = 12, /* log2 of the frames that need no extra memory */
    SAVED_BITS_MOST = 22,  /* 64 MiB */
};
struct saved_frame {
    uint64_t slot, return_address; /* slot 0: free */
};

struct saved_frames {
    struct saved_frame *frames; /* NULL: `first` */
    unsigned bits;              /* log2 of the number of frames */
    struct saved_frame first[1 << SAVED_BITS_FIRST];
};

/* These use neither the C library nor a lock. If memory runs out, the lowest frame is dropped. */
void saved_frames_put(struct saved_frames *saved, uint64_t slot, uint64_t return_address);

/* False: no frame of this slot. */
bool saved_frames_take(struct saved_frames *saved, uint64_t slot, uint64_t *return_address);

/* Calls the function for each frame, and drops it. */
void saved_frames_empty(struct saved_frames *saved,
                        void (*each)(uint64_t slot, uint64_t return_address));

#endif
