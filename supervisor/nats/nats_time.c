/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/nats/nats_time.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

/* Behind the point; *at is then behind the last digit. */
static int64_t read_decimals(const char **at)
{
    int64_t nanoseconds = 0;

    for (int64_t unit = 100000000; unit > 0 && **at >= '0' && **at <= '9'; unit /= 10, ++*at)
        nanoseconds += unit * (**at - '0');
    return nanoseconds;
}

bool nats_time_read(const char *text, int64_t *nanoseconds)
{
    struct tm parts = {0};
    const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    int64_t decimals = 0, whole;

    if (at == NULL)
        return false;
    if (*at == '.') {
        at++;
        decimals = read_decimals(&at);
    }
    whole = timegm(&parts);
    return strcmp(at, "Z") == 0 && whole >= 0 &&
           !__builtin_mul_overflow(whole, (int64_t)1000000000, nanoseconds) &&
           !__builtin_add_overflow(*nanoseconds, decimals, nanoseconds);
}
