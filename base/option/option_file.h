/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OPTION_OPTION_FILE_H
#define GASPIPE_BASE_OPTION_OPTION_FILE_H

#include "base/option/option.h"

/*
 * A file of options: a JSON object whose members are long options without "--". A flag is true or
 * false; a value is a string or a number. A repeatable option is an array, or an object for
 * NAME=VALUE:
 *
 * {"vat": {"bank": "bank.js"}, "max-syscalls": 1000, "json": true}
 *
 * Paths are relative to the file's directory.
 */

/*
 * Appends the options as arguments, "--vat=bank=dir/bank.js", which option_file_free() gives back,
 * also on failure. ERROR_INPUT names the file and the member.
 */
int option_file_read(struct option_list *arguments, const struct option_table *table,
                     const char *path, struct error *error);
void option_file_free(struct option_list *arguments);

/* Returns true if the option's values are paths. */
bool option_takes_path(const struct option_row *row);

#endif
