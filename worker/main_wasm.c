/* SPDX-License-Identifier: Apache-2.0 */
/* gaspipe-worker-wasm: WebAssembly with NEAR's host. */
#include "worker/command_line.h"
#include "worker/near/engine_near.h"

int main(int argc, char **argv)
{
    return worker_command_line(argc, argv, &engine_near);
}
