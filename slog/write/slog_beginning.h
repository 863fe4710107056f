/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_WRITE_SLOG_BEGINNING_H
#define GASPIPE_SLOG_WRITE_SLOG_BEGINNING_H

#include "base/error.h"

/*
 * Refuses, with ERROR_INPUT, to append to an ordinary file that is not empty and does not begin
 * with a slog line (or the beginning of one, where the file has no whole line): a contract,
 * deliveries or whatever else was named by mistake. Compressed files are looked into. 0 also when
 * there is no such file.
 */
int slog_beginning_check(const char *path, struct error *error);

#endif
