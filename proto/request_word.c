/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/request_word.h"

#include <string.h>

static struct iovec skip_blanks(struct iovec text)
{
    char *at = text.iov_base, *const end = at + text.iov_len;

    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return (struct iovec){at, (size_t)(end - at)};
}

static bool begins_with(struct iovec text, const char *word)
{
    const size_t length = strlen(word);

    return text.iov_len >= length && memcmp(text.iov_base, word, length) == 0;
}

bool request_is_log(struct iovec message)
{
    struct iovec rest = skip_blanks(message);

    if (!begins_with(rest, "["))
        return false;
    rest = skip_blanks((struct iovec){(char *)rest.iov_base + 1, rest.iov_len - 1});
    return begins_with(rest, "\"sourcedConsole\"") || begins_with(rest, "\"testLog\"");
}
