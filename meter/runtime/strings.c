/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What functions of libc are charged by, where no argument says it. */

uint64_t gasmeter_string_bytes(const char *string);
uint64_t gasmeter_common_bytes(const char *one, const char *other, uint64_t most);

uint64_t gasmeter_string_bytes(const char *string)
{
    return strlen(string);
}

/* libc's comparison may look further at once, but its work grows with this. */
uint64_t gasmeter_common_bytes(const char *one, const char *other, uint64_t most)
{
    uint64_t same = 0;

    while (same < most && one[same] == other[same] && one[same] != '\0')
        same++;
    return same;
}
