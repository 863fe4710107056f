/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/engine_native.h"

#include <stdio.h>

#include "worker/native/contract.h"
#include "worker/near/engine_near.h"

static void engine_native_version(char *line, size_t size)
{
    snprintf(line, size, "%s", native_contract_kind.version);
}

static struct engine *open_native(const struct engine_options *options, struct error *error)
{
    return engine_near_open(&native_contract_kind, options, error);
}

static struct engine *open_native_snapshot(const struct engine_options *options, const char *place,
                                           struct error *error)
{
    return engine_near_open_snapshot(&native_contract_kind, options, place, error);
}

struct engine_ops engine_native(const struct native_meter *meter)
{
    struct engine_ops ops = engine_near;

    native_contract_use_meter(meter);
    ops.version = engine_native_version;
    ops.open = open_native;
    ops.open_snapshot = open_native_snapshot;
    ops.confines_itself = true;
    ops.limits_cost = meter != NULL;
    return ops;
}
