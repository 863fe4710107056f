/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_PROTO_REQUEST_WORD_H
#define GASPIPE_PROTO_REQUEST_WORD_H

#include <stdbool.h>
#include <sys/uio.h>

/*
 * Whether a worker's request is a console call or a test's log line:
 * ["sourcedConsole",...] or ["testLog",...]. Transcripts have none of these, so their answers
 * are never sent ahead (COMMAND_AHEAD). Supervisor and worker both ask here: one that took
 * another view of a request would take the wrong answer.
 */
bool request_is_log(struct iovec message);

#endif
