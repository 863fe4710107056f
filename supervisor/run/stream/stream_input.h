/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_STREAM_STREAM_INPUT_H
#define GASPIPE_SUPERVISOR_RUN_STREAM_STREAM_INPUT_H

#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "supervisor/nats.h"
#include "supervisor/run/input/delivery_input.h"

/*
 * Lines that are the messages of a JetStream stream: a line's number is its message's sequence
 * number. It has no end; the listener's failed() is called if the stream has lost what is due. A
 * thread waits for the servers, and goes on by itself when they were away.
 */

/*
 * The messages after number `after`. The reader was opened, and is the input's from now on; its
 * link must live until the input is closed, which also ends the connection. NULL with ERROR_SYSTEM.
 */
struct delivery_input *stream_input_open(uv_loop_t *loop, const struct nats_reader *reader,
                                         int64_t after,
                                         const struct delivery_input_listener *listener,
                                         struct error *error);

#endif
