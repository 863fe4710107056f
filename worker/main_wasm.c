/* SPDX-License-Identifier: Apache-2.0 */
/* gaspipe-worker-wasm: WebAssembly with NEAR's host. */
#include <stdio.h>

#include "worker/command_line.h"
#include "worker/near/contract.h"
#include "worker/near/engine_near.h"

static void wasm_version(char *line, size_t size)
{
    snprintf(line, size, "%s", near_contract_wasm.version);
}

static struct engine *open_wasm(const struct engine_options *options, struct error *error)
{
    return engine_near_open(&near_contract_wasm, options, error);
}

static struct engine *open_wasm_snapshot(const struct engine_options *options, const char *place,
                                         struct error *error)
{
    return engine_near_open_snapshot(&near_contract_wasm, options, place, error);
}

int main(int argc, char **argv)
{
    struct engine_ops engine = engine_near;

    engine.version = wasm_version;
    engine.open = open_wasm;
    engine.open_snapshot = open_wasm_snapshot;
    return worker_command_line(argc, argv, &engine);
}
