/* SPDX-License-Identifier: Apache-2.0 */
#include "base/visible.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/buf.h"
#include "base/io.h"

static const uint32_t NOT_UTF_8 = UINT32_MAX;
static const uint32_t REPLACEMENT = 0xfffd;

static size_t sequence_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2)
        return 0;
    if (first < 0xe0)
        return 2;
    if (first < 0xf0)
        return 3;
    return first < 0xf5 ? 4 : 0;
}

/* Reads the character at `at`. Returns its bytes: one if it is not UTF-8. */
static size_t read_character(const char *at, const char *end, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = sequence_length((unsigned char)*at);
    uint32_t code = (unsigned char)*at;

    *character = NOT_UTF_8;
    if (length == 0 || (size_t)(end - at) < length)
        return 1;
    if (length > 1)
        code &= 0x7fU >> length;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 1;
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    }
    if (code < least[length] || (code & 0xfffff800) == 0xd800 || code > 0x10ffff)
        return 1;
    *character = code;
    return length;
}

static bool is_invisible(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
           character == 0x61c ||                           /* Arabic letter mark */
           character == 0x200e || character == 0x200f ||   /* left-to-right and right-to-left */
           (character >= 0x2028 && character <= 0x202e) || /* separators, embeddings, overrides */
           (character >= 0x2066 && character <= 0x2069) || /* isolates */
           character == NOT_UTF_8;
}

void visible_bytes(char *bytes, size_t length)
{
    char *const end = bytes + length;
    uint32_t character;

    while (bytes < end) {
        const size_t size = read_character(bytes, end, &character);

        if (is_invisible(character))
            memset(bytes, ' ', size);
        bytes += size;
    }
}

/* ---- lines ---- */

/* Returns how many bytes at `at` are gaspipe's own layout; 0: none. */
static size_t skip_layout(const char *at, const char *end)
{
    static const char *const layout[] = {"\n", "\t", "\r\n", "\033[31m", "\033[0m"};

    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++) {
        const size_t length = strlen(layout[i]);

        if ((size_t)(end - at) >= length && memcmp(at, layout[i], length) == 0)
            return length;
    }
    return 0;
}

/* Returns how many of 16 bytes are ASCII letters before the first other byte. All output of a
 * report passes through here, so it compares 16 bytes at once if the CPU can. */
static size_t plain_of_16(const char *at)
{
#ifdef __SSE2__
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* As signed numbers, bytes above ASCII are negative, so they are below it too. */
    const __m128i odd = _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
                                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)));
    const unsigned mask = (unsigned)_mm_movemask_epi8(odd);

    return mask == 0 ? 16 : (size_t)__builtin_ctz(mask);
#else
    size_t plain = 0;

    while (plain < 16 && at[plain] >= 0x20 && at[plain] < 0x7f)
        plain++;
    return plain;
#endif
}

/* Skips to the next byte that is neither an ASCII letter nor a newline. */
static const char *skip_plain(const char *at, const char *end)
{
    while (end - at >= 16) {
        const size_t plain = plain_of_16(at);

        at += plain;
        if (plain == 16)
            continue;
        if (*at != '\n')
            return at;
        at++;
    }
    while (at < end && ((*at >= 0x20 && *at < 0x7f) || *at == '\n'))
        at++;
    return at;
}

/* Skips to the next invisible character. */
static const char *skip_visible(const char *at, const char *end)
{
    while ((at = skip_plain(at, end)) < end) {
        const size_t layout = skip_layout(at, end);
        uint32_t character = 0;
        const size_t size = layout > 0 ? layout : read_character(at, end, &character);

        if (layout == 0 && is_invisible(character))
            break;
        at += size;
    }
    return at;
}

static int write_escaped(int fd, const char *at, const char *end)
{
    struct buf lines = {0};
    int result;

    while (at < end) {
        const char *invisible = skip_visible(at, end);
        uint32_t character;

        buf_append(&lines, at, (size_t)(invisible - at));
        at = invisible;
        if (at == end)
            break;
        at += read_character(at, end, &character);
        buf_printf(&lines, "\\u%04x", character == NOT_UTF_8 ? REPLACEMENT : character);
    }
    if (buf_failed(&lines)) {
        errno = ENOMEM;
        result = -1;
    } else {
        result = io_write_all(fd, lines.data, lines.length);
    }
    buf_free(&lines);
    return result;
}

int visible_write(int fd, const char *lines, size_t length)
{
    const char *end = lines + length;

    if (length == 0 || skip_visible(lines, end) == end)
        return io_write_all(fd, lines, length);
    return write_escaped(fd, lines, end);
}

size_t visible_width(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
