/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the profile of a worker's meter. */
#include <stddef.h>
#include <stdint.h>

#include "supervisor/profile/profile_files.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profile profile;
    struct error error;

    /* A caller stands before what it calls, so that a walk up the callers ends. */
    if (script_profile_read(&profile, (struct iovec){(void *)data, size}, 1000, &error) == 0)
        for (size_t i = 1; i < profile.node_count; i++)
            check(profile.nodes[i].caller < i &&
                  profile.nodes[i].function < profile.function_count);
    profile_close(&profile);
    return 0;
}
