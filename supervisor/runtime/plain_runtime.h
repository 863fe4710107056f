/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUNTIME_PLAIN_RUNTIME_H
#define GASPIPE_SUPERVISOR_RUNTIME_PLAIN_RUNTIME_H

#include <sys/uio.h>

/* The source of runtime/plain.js, which is carried inside the program. */
struct iovec plain_runtime(void);

#endif
