/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_load.h"

#include "base/io.h"

enum { RUNTIME_SIZE_MAX = 32 << 20 };

int replay_load_runtime(struct replay_runtime *runtime, const struct replay_options *options,
                        struct error *error)
{
    struct buf lockdown = {0}, supervisor = {0};
    int result = -1;

    if (options->lockdown == NULL)
        return 0;
    runtime->is_given = true;
    if (io_read_file(options->lockdown, RUNTIME_SIZE_MAX, &lockdown, error) == 0 &&
        io_read_file(options->supervisor, RUNTIME_SIZE_MAX, &supervisor, error) == 0)
        result = vat_runtimes_set(&runtime->runtimes, options->supervisor, &lockdown, &supervisor,
                                  error);
    buf_free(&lockdown);
    buf_free(&supervisor);
    return result;
}
