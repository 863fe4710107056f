/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/job/job_kind.h"

#include <string.h>

static const struct job_kind *const kinds[] = {&job_kind_replay, &job_kind_estimate,
                                               &job_kind_summary, &job_kind_rows};

const struct job_kind *job_kind_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i]->name) == 0)
            return kinds[i];
    return NULL;
}
