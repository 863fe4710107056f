/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/any_source.h"

#include "supervisor/replay/source/line_source.h"
#include "supervisor/replay/source/store_source.h"
#include "supervisor/replay/source/swing_source.h"

bool any_source_is_swing_store(const struct replay_options *options)
{
    return options->store == NULL && options->source_count == 1 &&
           swing_source_is_one(options->sources[0]);
}

struct replay_source *any_source_open(const struct replay_options *options, struct error *error)
{
    if (options->store != NULL)
        return store_source_open(options->store, options->stored_vat, options->from_start, error);
    if (any_source_is_swing_store(options))
        return swing_source_open(options->sources[0], &options->selection, error);
    return line_source_open(options->sources, options->source_count, error);
}
