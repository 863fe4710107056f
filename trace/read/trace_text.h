/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_TEXT_H
#define GASPIPE_TRACE_READ_TRACE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/memory.h"

/*
 * The text of a traced process, written from outside, without its help: a sandbox forbids it to do
 * so itself. Only while it executes nothing: all of its threads wait, and whoever could wake them
 * is known not to.
 */

/* Whether all threads wait in read(2): in another call one may go on by itself. False also where
 * that may not be seen. */
bool trace_text_is_idle(pid_t process);

/* Whether the process has one thread only, and that waits in futex(2) at this address. */
bool trace_text_waits_at(pid_t process, uint64_t address);

/* A descriptor for trace_text_put(), to be closed; -1: it may not be written to. */
int trace_text_open(pid_t process);

/* Has a patch stand there, or what stood there before. False: it does not; something else does. */
bool trace_text_put(int text, const struct trace_patch *patch, bool patched);

#endif
