/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_H
#define GASPIPE_SUPERVISOR_RUN_RUN_H

/* `gaspipe run`; argv[0] is "run". The exit status. */
int run_command(int argc, char **argv);

#endif
