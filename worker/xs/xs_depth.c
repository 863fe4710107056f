/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/xs_depth.h"

static bool was_deep;

bool xs_depth_is_over(struct xs_depth *depth)
{
    was_deep = true;
    depth->next = XS_DEPTH_MAX;
    return depth->levels > XS_DEPTH_MAX;
}

bool xs_depth_take_note(void)
{
    const bool taken = was_deep;

    was_deep = false;
    return taken;
}
