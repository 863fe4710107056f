/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/zygote/nursery.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* Of a nursery's workers all that may differ; NULL when memory ran out. */
static char *join(char *const *arguments)
{
    struct buf words = {0};
    char *joined;

    for (; *arguments != NULL; arguments++)
        buf_printf(&words, "%s\n", *arguments);
    joined = buf_string(&words) != NULL ? strdup(buf_string(&words)) : NULL;
    buf_free(&words);
    return joined;
}

static bool fits(const struct nursery *nursery, char *const *arguments)
{
    char *const words = join(arguments);
    const bool same = words != NULL && nursery->words != NULL && strcmp(words, nursery->words) == 0;

    free(words);
    return same;
}

/* So many workers behind one gain more by a warm zygote than that costs (docs/benchmarks.md). */
enum { ENOUGH = 2 };

/* A warm-up takes a third of it, on a processor that does nothing else. */
enum { PATIENCE_MS = 1000 };

void nursery_expect(struct nursery *nursery, unsigned count)
{
    nursery->expected += count;
}

enum nursery_choice nursery_choose(struct nursery *nursery, char *const *arguments)
{
    if (nursery->expected > 0)
        nursery->expected--;
    if (nursery->given_up)
        return NURSERY_AFRESH;
    if (nursery->zygote != NULL)
        return fits(nursery, arguments) ? NURSERY_FORK : NURSERY_AFRESH;
    if (nursery->asked++ > 0)
        return NURSERY_BREED;
    return nursery->expected > ENOUGH ? NURSERY_BESIDE : NURSERY_AFRESH;
}

bool nursery_expects_more(const struct nursery *nursery)
{
    return nursery->expected > 0;
}

unsigned nursery_patience_ms(const struct nursery *nursery)
{
    return nursery->expected >= ENOUGH ? PATIENCE_MS : 0;
}

void nursery_keep(struct nursery *nursery, struct zygote *zygote, char *const *arguments)
{
    nursery->zygote = zygote;
    nursery->words = join(arguments);
    if (zygote == NULL || nursery->words == NULL)
        nursery_give_up(nursery);
}

static void drop_zygote(struct nursery *nursery)
{
    zygote_end(nursery->zygote);
    free(nursery->words);
    nursery->zygote = NULL;
    nursery->words = NULL;
}

void nursery_give_up(struct nursery *nursery)
{
    drop_zygote(nursery);
    nursery->given_up = true;
}

void nursery_free(struct nursery *nursery)
{
    drop_zygote(nursery);
    *nursery = (struct nursery){0};
}
