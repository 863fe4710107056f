/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gaspipe-worker with an engine that does nothing: the cost of exchanging frames alone. It is
 * started like a worker, on descriptors 3 and 4, and ignores its options.
 */
#include <signal.h>

#include "base/log.h"
#include "proto/netstring.h"
#include "tests/engine_echo.h"
#include "worker/loop.h"

int main(void)
{
    const struct loop_options options = {
        .in = 3,
        .out = 4,
        .frame_cap = NETSTRING_CAP_DEFAULT,
        .ops = &engine_echo,
    };

    log_name("echo_worker");
    signal(SIGPIPE, SIG_IGN);
    return loop_run(&options);
}
