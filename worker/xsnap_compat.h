/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XSNAP_COMPAT_H
#define GASPIPE_WORKER_XSNAP_COMPAT_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/meter.h"
#include "proto/netstring.h"

/* Imitates xsnap-worker of npm's @agoric/xsnap 0.15.0 (xsnap-worker.c there) where gaspipe-
 * worker differs, for clients and tests that depend on its exact output. */

/* fscanf("%9lu") reads no longer lengths. */
enum { XSNAP_FRAME_MOST = 999999999 };

/* Returns true if a program of this name, with or without directories, is xsnap-worker. */
bool xsnap_compat_is_name(const char *program);

/* The output of -h and of a wrong command line, on standard output. */
extern const char xsnap_compat_usage[];

/* Writes a line on stderr without the program's name. */
void xsnap_compat_say(const char *words);

/* Returns its message for an invalid frame, by the decoder's position. */
const char *xsnap_compat_bad_frame(const struct netstring_decoder *decoder);

/* Reports that the frame's first byte is no command. An empty frame's is '\0'. */
void xsnap_compat_unknown_command(const char *frame, size_t length);

/* Removes what its meter record lacks: other members, and stamps after the 502nd. */
void xsnap_compat_meter(struct meter *meter);

extern const char xsnap_compat_no_parent_to_read[], xsnap_compat_no_parent_to_write[],
    xsnap_compat_bad_answer[];

#endif
