/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_INPUT_FILE_INPUT_H
#define GASPIPE_SUPERVISOR_RUN_INPUT_FILE_INPUT_H

#include <uv.h>

#include "base/error.h"
#include "supervisor/run/input/delivery_input.h"

/*
 * Lines of a file, or of stdin, which is "-". The first line has number 1. For a pipe or terminal
 * it waits on the loop. NULL with ERROR_INPUT when the file cannot be opened.
 */
struct delivery_input *file_input_open(uv_loop_t *loop, const char *path,
                                       const struct delivery_input_listener *listener,
                                       struct error *error);

#endif
