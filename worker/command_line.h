/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_COMMAND_LINE_H
#define GASPIPE_WORKER_COMMAND_LINE_H

#include "worker/engine.h"

/* A worker's main() around that engine: reads the options and runs the loop. Returns the exit
 * status. */
int worker_command_line(int argc, char **argv, const struct engine_ops *ops);

#endif
