/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_APPLY_H
#define GASPIPE_TRACE_AGENT_APPLY_H

#include "trace/memory.h"

/* What the tracer has prepared, put into force. */

/* The trampolines become code that can be executed. 0, or -1 with head->refusal. */
int apply_regions(struct trace_head *head, int fd);

/* Library calls lead to trampolines, where their slots can be written to. */
void apply_calls(struct trace_head *head);
void undo_calls(struct trace_head *head);

/* Functions begin with jumps to trampolines. Only while no other thread runs. 0, or -1 with
 * head->refusal: nothing was changed. */
int apply_patches(struct trace_head *head);
void undo_patches(struct trace_head *head);

#endif
