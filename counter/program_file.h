/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_PROGRAM_FILE_H
#define GASPIPE_COUNTER_PROGRAM_FILE_H

#include <stdbool.h>

/*
 * What execve(2) would run for a path, where QEMU has to be given an ELF file:
 * the file itself, or the interpreter that a script's first line names.
 */

#define PROGRAM_FILE_LINE 256 /* as the kernel, which looks no further */

struct program_file {
    int fd;                              /* of the ELF file, close-on-exec; the caller closes it */
    bool is_script;                      /* then these are set: */
    char interpreter[PROGRAM_FILE_LINE]; /* argv[0] of it */
    char argument[PROGRAM_FILE_LINE];    /* argv[1], unless empty; then the script's path */
};

/*
 * 0, or an errno: ENOENT and its like, EACCES without the right to execute,
 * ENOEXEC for what is neither an x86-64 ELF program nor a script for one.
 */
int program_file_open(const char *path, struct program_file *file);

#endif
