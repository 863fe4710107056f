/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_bundles.h"

#include <stdlib.h>

#include "supervisor/runtime/contract_file.h"

int replay_bundles_read(struct replay_bundles *bundles, char *const *paths, size_t count,
                        struct error *error)
{
    if (count == 0)
        return 0;
    bundles->files = calloc(count, sizeof *bundles->files);
    if (bundles->files == NULL)
        return error_memory(error, "bundles");
    bundles->count = count;
    for (size_t i = 0; i < count; i++)
        if (contract_file_read(&bundles->files[i], paths[i], error) != 0)
            return -1;
    return 0;
}

const struct buf *replay_bundles_find(const struct replay_bundles *bundles, struct scan_span id)
{
    for (size_t i = 0; i < bundles->count; i++)
        if (scan_is(id, bundles->files[i].id))
            return &bundles->files[i].bundle;
    return NULL;
}

void replay_bundles_free(struct replay_bundles *bundles)
{
    for (size_t i = 0; i < bundles->count; i++)
        buf_free(&bundles->files[i].bundle);
    free(bundles->files);
    *bundles = (struct replay_bundles){0};
}
