/* SPDX-License-Identifier: Apache-2.0 */
/* gaspipe-worker-native: contracts in native code. */
#include "worker/command_line.h"
#include "worker/native/engine_native.h"

int main(int argc, char **argv)
{
    const struct engine_ops engine = engine_native(NULL);

    return worker_command_line(argc, argv, &engine);
}
