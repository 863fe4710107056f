/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_PROFILE_H
#define GASPIPE_WORKER_NEAR_PROFILE_H

#include "base/buf.h"
#include "worker/near/call/call.h"

void near_profile_add(struct near_profile *sum, const struct near_profile *part);

/*
 * Replaces `text` by the profile as a JSON object: gas by nearcore's names of costs, without those
 * that are 0; what is left of `burnt` is wasm_instruction.
 */
void near_profile_write(struct buf *text, const struct near_profile *profile, uint64_t burnt);

#endif
