/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_GUEST_H
#define GASPIPE_SUPERVISOR_PROCESS_GUEST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * How a program is started under QEMU with the counter, so that counts do not depend on the host
 * (docs/counting.md gives the reasons): finds QEMU and the counter, and builds the command line.
 */

/*
 * The descriptor at which the program's file must be open in the new process, and stay so. QEMU
 * gets the program by that name, because its path lies on its stack, and a longer one would shift
 * everything below it.
 */
#define GUEST_PROGRAM_FD 5

/* The arguments or the environment of a process, word by word. All zeros is empty. */
struct command_line {
    char **words; /* owned, and so is each; ends with NULL once there is one */
    size_t count, capacity;
    bool failed; /* memory ran out while a word was added */
};

void command_line_add(struct command_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Once all are there: -1 with ERROR_SYSTEM if memory ran out. */
int command_line_check(const struct command_line *line, struct error *error);

void command_line_free(struct command_line *line);

/* The paths of QEMU and the counter. */
struct guest_tools {
    char qemu[PATH_MAX];
    char plugin[PATH_MAX];
    bool later; /* QEMU is of version 9.0 or later */
};

/*
 * Finds the first qemu-x86_64 along PATH that takes plugins, else gaspipe-qemu, which make qemu
 * builds; the latter and libgascount.so next to the running program or in ../lib/gaspipe from
 * there. 0, or -1 with ERROR_SYSTEM and what to install.
 */
int guest_find_tools(struct guest_tools *tools, struct error *error);

/*
 * Makes Linux lay out the memory of this process's later children in the usual way, whatever
 * setarch(1) and ulimit(1) say here. A later QEMU is not placed at random: it moves the program if
 * it lies in its way. 0, or -1 with ERROR_SYSTEM.
 */
int guest_pin_layout(const struct guest_tools *tools, struct error *error);

/* The program to run. Everything is borrowed. */
struct guest_program {
    const char *const *arguments; /* argv of the program, argv[0] too; ends with NULL */
    const char *name;             /* that ps(1) shows; NULL: QEMU's. The program does not see it:
                                   * on its stack it would shift everything below */
    const char *plugin_options;   /* "name=value,name=value" for libgascount.so, or NULL */
};

/* The environment of counted programs, unless the user sets another; ends with NULL. */
const char *const *guest_environment(void);

/* The arguments of tools->qemu that run the program; the caller frees them, also after a failure.
 * -1 with ERROR_SYSTEM when out of memory. */
int guest_command_line(struct command_line *line, const struct guest_tools *tools,
                       const struct guest_program *program, struct error *error);

/*
 * The file that a command's name stands for: the name itself where it has a
 * slash, else the first executable of that name along PATH. 0, or -1 with
 * ERROR_INPUT.
 */
int guest_find_program(const char *name, char path[PATH_MAX], struct error *error);

/*
 * Opens the program for the descriptor GUEST_PROGRAM_FD, close-on-exec here.
 * Refuses what QEMU cannot load: anything but an x86-64 ELF file with the
 * right to execute it. The descriptor, or -1 with ERROR_INPUT.
 */
int guest_open_program(const char *path, struct error *error);

/*
 * Finds a file that was built or installed with the running program: next to it, or in
 * ../lib/gaspipe from there. 0, or -1 with ERROR_SYSTEM.
 */
int locate(const char *name, char path[PATH_MAX], struct error *error);

/* The same for data: next to the program, or in ../share/gaspipe. */
int locate_data(const char *name, char path[PATH_MAX], struct error *error);

/*
 * The environment of a process that is to be traced: the agent is preloaded, before what is
 * preloaded already, and finds its memory at this descriptor. NULL as agent: the sandbox preloads
 * it.
 */
void agent_environment(struct command_line *line, const char *agent, int fd,
                       char *const *environment);

#endif
