/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_H

/* `gaspipe replay`; argv[0] is "replay". Returns the exit status. */
int replay_command(int argc, char **argv);

#endif
