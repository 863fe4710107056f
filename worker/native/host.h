/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_HOST_H
#define GASPIPE_WORKER_NATIVE_HOST_H

#include "worker/near/call/call.h"

/*
 * The functions of gascontract.h, for the one call that is under way. Between
 * native_host_begin() and the next one, a contract may run in a turn (worker/native/turn.h), which
 * an error leaves.
 */

/* Context and storage are borrowed. `is_init`: of gascontract_init(). */
void native_host_begin(const struct near_context *context, const struct near_storage *storage,
                       bool is_init);

/* Ends the turn with an error, in these words. */
_Noreturn void native_host_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How the call went. Buffers are the host's until the next one begins. */
struct near_outcome native_host_outcome(void);

/* What the last call took is given back. */
void native_host_end(void);

#endif
