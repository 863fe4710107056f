/* SPDX-License-Identifier: Apache-2.0 */
/* gaspipe-worker: JavaScript. */
#include "worker/command_line.h"
#include "worker/xs/engine_xs.h"

int main(int argc, char **argv)
{
    return worker_command_line(argc, argv, &engine_xs);
}
