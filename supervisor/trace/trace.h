/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_H

/* `gaspipe trace`: which functions of a program were called, and how long they took. Returns the
 * exit status. */
int trace_command(int argc, char **argv);

#endif
