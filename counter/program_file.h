/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_PROGRAM_FILE_H
#define GASPIPE_COUNTER_PROGRAM_FILE_H

#include <stddef.h>

/*
 * What execve(2) would run for a path, where QEMU has to be given an ELF file:
 * the file itself, or the interpreter that a script's first line names, which may be a
 * script as well.
 */

/* As Linux: it looks no further into a script, and no deeper into scripts of scripts. */
#define PROGRAM_FILE_LINE    256
#define PROGRAM_FILE_SCRIPTS 5

struct program_file {
    int fd; /* of the ELF file, close-on-exec; the caller closes it */
    /*
     * Of a script what its arguments begin with, instead of argv[0]: the interpreter, what
     * else stood in that line, and so on; behind them comes the script's path.
     */
    size_t words; /* 0: it is no script */
    char word[2 * PROGRAM_FILE_SCRIPTS][PROGRAM_FILE_LINE];
};

/*
 * 0, or an errno: ENOENT and its like, EACCES without the right to execute and to read,
 * ENOEXEC for what is neither an x86-64 ELF program nor a script for one, ELOOP for a script of
 * too many others.
 */
int program_file_open(const char *path, struct program_file *file);

#endif
