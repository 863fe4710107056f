/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XSNAP_COMPAT_H
#define GASPIPE_WORKER_XSNAP_COMPAT_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/meter.h"
#include "proto/netstring.h"

/*
 * What xsnap-worker of npm's @agoric/xsnap 0.15.0 says and does where gaspipe-worker says more or
 * does otherwise, for clients and tests that hold it to the letter (xsnap-worker.c there).
 */

/* fscanf("%9lu") reads no longer lengths. */
enum { XSNAP_FRAME_MOST = 999999999 };

/* Whether a program of this name, with or without folders, is to be xsnap-worker. */
bool xsnap_compat_is_name(const char *program);

/* What -h and a wrong command line print, on standard output. */
extern const char xsnap_compat_usage[];

/* A line on stderr, as it is: without the program's name. */
void xsnap_compat_say(const char *words);

/* Its words for a frame that is none, by where the decoder stands. */
const char *xsnap_compat_bad_frame(const struct netstring_decoder *decoder);

/* Says that the frame's first byte is no command. An empty frame's is '\0'. */
void xsnap_compat_unknown_command(const char *frame, size_t length);

/* Takes away what its meter does not have: other members, and stamps after the 502nd. */
void xsnap_compat_meter(struct meter *meter);

extern const char xsnap_compat_no_parent_to_read[], xsnap_compat_no_parent_to_write[],
    xsnap_compat_bad_answer[];

#endif
