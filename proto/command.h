/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_PROTO_COMMAND_H
#define GASPIPE_PROTO_COMMAND_H

/*
 * The first byte of each frame, as xsnap-worker (npm @agoric/xsnap 0.15.0) has
 * them, and the exit statuses of a worker.
 */
enum command_down {
    COMMAND_EVALUATE = 'e', /* SOURCE */
    COMMAND_DELIVER = '?',  /* BYTES, to globalThis.handleCommand */
    COMMAND_SCRIPT = 's',   /* PATH */
    COMMAND_MODULE = 'm',   /* PATH */
    COMMAND_SNAPSHOT = 'w', /* PATH or @FD */
    COMMAND_READY = 'R',
    COMMAND_QUIT = 'q',
    COMMAND_ANSWER = '/', /* BYTES, to the worker's request */
    /*
     * Sent instead of an answer to a worker started with --report-stops, which replies
     * COMMAND_STOPPED and ends with WORKER_EXIT_REFUSED.
     */
    COMMAND_STOP = 'x',
};

enum command_up {
    COMMAND_REQUEST = '?', /* BYTES; the worker waits for COMMAND_ANSWER */
    COMMAND_DONE = '.',    /* {METER} \1 RESULT, or nothing for COMMAND_READY */
    COMMAND_FAILED = '!',  /* MESSAGE */
    /*
     * METER: the delivery was stopped, and the worker now ends with the status that says why. Only
     * sent with --report-stops.
     */
    COMMAND_STOPPED = 'x',
};

enum { COMMAND_METER_END = '\1' };

enum worker_exit {
    WORKER_EXIT_OK = 0,
    WORKER_EXIT_USAGE = 1,
    WORKER_EXIT_IO = 2, /* the pipe could not be read or written */
    WORKER_EXIT_MEMORY = 11,
    WORKER_EXIT_STACK = 12,
    WORKER_EXIT_EXCEPTION = 15,
    WORKER_EXIT_KEYS = 16,
    WORKER_EXIT_COMPUTATION = 17,
    WORKER_EXIT_UNKNOWN = 255, /* the engine failed for another reason */
    /* xsnap-worker has none of these: */
    WORKER_EXIT_INSTRUCTIONS = 30, /* over the limit of instructions (counter/gasmark.h) */
    WORKER_EXIT_CUT_FRAME = 31,    /* end of file inside a frame */
    WORKER_EXIT_BAD_FRAME = 32,    /* not a netstring, over the cap, empty, unknown command */
    WORKER_EXIT_HOST_MEMORY = 33,  /* out of memory on the host, not the engine's own limit */
    WORKER_EXIT_MESSAGE = 34,      /* a request or a result is too long for a frame */
    WORKER_EXIT_COST = 35,         /* over the limit of block cost (worker/region.h) */
    WORKER_EXIT_REFUSED = 36,      /* COMMAND_STOP came instead of an answer */
};

#endif
