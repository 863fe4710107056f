/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input/runs.h"

void runs_note(struct runs *runs, const struct model_note *note)
{
    if (note->kind != MODEL_NOTE_KERNEL)
        return;
    if (runs->more < RUNS_NAMED) {
        runs->named[runs->more].file = note->file;
        runs->named[runs->more].line = note->line;
        runs->named[runs->more].time = note->time;
    }
    runs->more++;
}
