/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_CONTRACT_H
#define GASPIPE_WORKER_NATIVE_CONTRACT_H

#include "worker/native/meter.h"
#include "worker/near/contract_kind.h"

/*
 * Contracts in native code (gascontract.h). Each call begins with memory as it was loaded, on a
 * stack of its own. There is one contract at a time.
 */
extern const struct near_contract_kind native_contract_kind;

/* The meter that contracts are bound to, before the first is opened; NULL: none. */
void native_contract_use_meter(const struct native_meter *meter);

#endif
