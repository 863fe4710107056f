/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_FOLLOW_H
#define GASPIPE_TOOLS_FOLLOW_H

#include "base/error.h"

/*
 * Waits for a file to grow (inotify(7)). To be opened before the file's end is
 * met, so that nothing written in between is missed. A descriptor, or -1 with
 * ERROR_SYSTEM.
 */
int follow_open(const char *path, struct error *error);

/* 1: there may be more to read; 0: the file at `path` was moved or removed; -1: ERROR_SYSTEM. */
int follow_wait(int descriptor, const char *path, struct error *error);

#endif
