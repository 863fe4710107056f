/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_AGENT_ENVIRONMENT_H
#define GASPIPE_SUPERVISOR_PROCESS_AGENT_ENVIRONMENT_H

/*
 * The environment of a process that is to be traced: the agent is preloaded, before what is
 * preloaded already, and finds this descriptor. Without `agent` (NULL) somebody else preloads it.
 * A list of strings that ends with NULL, in one piece of memory to be freed; NULL without memory.
 */
char **agent_environment(const char *agent, int fd, char *const *environment);

#endif
