/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/transport/marker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* A number and the character behind it. */
static bool marker_take(const char **at, char behind, uint64_t *number)
{
    return number_take(at, number) && *(*at)++ == behind;
}

bool marker_read(struct marker *marker, const char *name)
{
    uint64_t weight, failures, losses;
    const char *at = name;

    *marker = (struct marker){0};
    if (!marker_take(&at, '-', &weight) || weight > INT64_MAX ||
        strspn(at, "0123456789abcdef") != FLEET_HASH_SIZE - 1)
        return false;
    memcpy(marker->id, at, FLEET_HASH_SIZE - 1);
    at += FLEET_HASH_SIZE - 1;
    if (*at++ != '.' || !marker_take(&at, '.', &failures) || failures > UINT32_MAX ||
        !number_take(&at, &losses) || losses > UINT32_MAX)
        return false;
    marker->weight = (int64_t)weight;
    marker->failures = (unsigned)failures;
    marker->losses = (unsigned)losses;
    if (*at == '.')
        return (size_t)snprintf(marker->owner, sizeof marker->owner, "%s", at + 1) <
               sizeof marker->owner;
    return *at == '\0';
}

void marker_path(const struct marker *marker, const char *folder, char path[MARKER_SIZE])
{
    snprintf(path, MARKER_SIZE, "%s/%010" PRId64 "-%s.%u.%u%s%s", folder, marker->weight,
             marker->id, marker->failures, marker->losses, marker->owner[0] != '\0' ? "." : "",
             marker->owner);
}

int marker_compare(const void *left, const void *right)
{
    const struct marker *a = left, *b = right;

    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    return strcmp(a->id, b->id);
}
