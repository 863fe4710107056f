/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lines.h"

#include <string.h>

bool lines_next(const struct buf *text, size_t *place, const char **line, size_t *length)
{
    const char *newline;

    if (*place >= text->length)
        return false;
    *line = text->data + *place;
    newline = memchr(*line, '\n', text->length - *place);
    *length = newline != NULL ? (size_t)(newline - *line) : text->length - *place;
    *place += *length + 1;
    return true;
}
