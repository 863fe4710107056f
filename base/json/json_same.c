/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/json_same.h"

#include <stdint.h>

/* Deeper values and larger objects are compared by bytes, so that a vat cannot make a comparison
 * very slow. */
enum { DEPTH_MAX = 64, MEMBERS_MAX = 1000 };

/* ---- strings: their UTF-16 units, one at a time ---- */

/* The rest of a string's text. */
struct units {
    const char *at;
    const char *end;
    uint32_t pending; /* the second half of a surrogate pair; 0: none */
};

enum { UNITS_END = -1, UNITS_BROKEN = 0x110000 }; /* broken + byte: not part of a character */

/* Reads the unit of \uXXXX whose digits are at units->at, and skips the digits if there are
 * four. */
static int32_t take_hex(struct units *units)
{
    uint32_t unit;

    if (!scan_hex_unit(units->at, units->end, &unit))
        return UNITS_BROKEN;
    units->at += 4;
    return (int32_t)unit;
}

static int32_t take_escape(struct units *units)
{
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    const char *letter;
    char byte;

    if (units->at == units->end)
        return UNITS_BROKEN;
    byte = *units->at++;
    if (byte == 'u')
        return take_hex(units);
    letter = byte != '\0' ? strchr(letters, byte) : NULL;
    return letter != NULL ? meanings[letter - letters] : (unsigned char)byte;
}

/* Returns how many bytes follow the first byte of a UTF-8 character; -1 if it starts none. */
static int count_following(unsigned char first)
{
    if (first >= 0xc0 && first < 0xe0)
        return 1;
    if (first >= 0xe0 && first < 0xf0)
        return 2;
    return first >= 0xf0 && first < 0xf8 ? 3 : -1;
}

static int32_t take_utf8(struct units *units, unsigned char first)
{
    int following = count_following(first);
    uint32_t point = first;

    if (following < 0 || units->end - units->at < following)
        return UNITS_BROKEN + first;
    point &= 0x3fU >> following;
    for (int i = 0; i < following; i++) {
        if ((units->at[i] & 0xc0) != 0x80)
            return UNITS_BROKEN + first;
        point = point << 6 | (units->at[i] & 0x3fU);
    }
    units->at += following;
    if (point < 0x10000)
        return (int32_t)point;
    units->pending = 0xdc00 | (point & 0x3ff);
    return (int32_t)(0xd7c0 + (point >> 10));
}

static int32_t next_unit(struct units *units)
{
    unsigned char byte;

    if (units->pending != 0) {
        int32_t unit = (int32_t)units->pending;

        units->pending = 0;
        return unit;
    }
    if (units->at == units->end)
        return UNITS_END;
    byte = (unsigned char)*units->at++;
    if (byte == '\\')
        return take_escape(units);
    if (byte == '"') /* only invalid JSON has one here */
        return UNITS_BROKEN + byte;
    return byte < 0x80 ? byte : take_utf8(units, byte);
}

/* Returns true if a value that begins with a quote ends with another one. */
static bool is_closed_string(struct scan_span value)
{
    return value.length >= 2 && value.at[0] == '"' && value.at[value.length - 1] == '"';
}

static bool same_strings(struct scan_span left, struct scan_span right)
{
    struct units lefts = {left.at, left.at + left.length, 0};
    struct units rights = {right.at, right.at + right.length, 0};
    int32_t unit;

    do {
        unit = next_unit(&lefts);
        if (unit != next_unit(&rights))
            return false;
    } while (unit != UNITS_END);
    return true;
}

/* ---- values ---- */

static bool same_values(struct scan_span left, struct scan_span right, int depth);

static bool has_same_bytes(struct scan_span left, struct scan_span right)
{
    return left.length == right.length &&
           (left.length == 0 || memcmp(left.at, right.at, left.length) == 0);
}

static bool same_arrays(struct scan_span left, struct scan_span right, int depth)
{
    struct scan_cursor lefts, rights;
    struct scan_span one, other;
    enum scan_step step;

    if (!scan_open(left, '[', &lefts) || !scan_open(right, '[', &rights))
        return false;
    while ((step = scan_element(&lefts, &one)) == SCAN_FOUND) {
        if (scan_element(&rights, &other) != SCAN_FOUND || !same_values(one, other, depth))
            return false;
    }
    return step == SCAN_END && scan_element(&rights, &other) == SCAN_END && scan_at_end(&lefts) &&
           scan_at_end(&rights);
}

/* Returns the value of a key, even if the key is escaped differently; no span if absent. Of several
 * equal keys the last counts, as in JavaScript. */
static struct scan_span find_member(struct scan_span object, struct scan_span key)
{
    struct scan_span name, value, found = {0};
    struct scan_cursor cursor;

    if (scan_open(object, '{', &cursor))
        while (scan_member(&cursor, &name, &value) == SCAN_FOUND)
            if (same_strings(name, key))
                found = value;
    return found;
}

/* Returns the number of members; -1 if the object is incomplete. */
static long count_members(struct scan_span object)
{
    struct scan_span key, value;
    struct scan_cursor cursor;
    enum scan_step step;
    long count = 0;

    if (!scan_open(object, '{', &cursor))
        return -1;
    while ((step = scan_member(&cursor, &key, &value)) == SCAN_FOUND)
        count++;
    return step == SCAN_END && scan_at_end(&cursor) ? count : -1;
}

/* Returns true if each key of one is a key of the other, for objects with duplicate keys. */
static bool has_keys_of(struct scan_span object, struct scan_span other)
{
    struct scan_span key, value;
    struct scan_cursor cursor;

    if (!scan_open(other, '{', &cursor))
        return false;
    while (scan_member(&cursor, &key, &value) == SCAN_FOUND)
        if (find_member(object, key).at == NULL)
            return false;
    return true;
}

static bool same_objects(struct scan_span left, struct scan_span right, int depth)
{
    struct scan_span key, value;
    struct scan_cursor cursor;
    long count = count_members(left);

    if (count < 0 || count > MEMBERS_MAX || count != count_members(right) ||
        !has_keys_of(left, right) || !scan_open(left, '{', &cursor))
        return false;
    while (scan_member(&cursor, &key, &value) == SCAN_FOUND) {
        struct scan_span other = find_member(right, key);

        if (other.at == NULL || !same_values(find_member(left, key), other, depth))
            return false;
    }
    return true;
}

static bool same_words(struct scan_span left, struct scan_span right)
{
    double one, other;

    return scan_double(left, &one) && scan_double(right, &other) && one == other;
}

static bool is_json_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* Removes the blanks around a value. */
static struct scan_span trim(struct scan_span value)
{
    while (value.length > 0 && is_json_blank(value.at[0])) {
        value.at++;
        value.length--;
    }
    while (value.length > 0 && is_json_blank(value.at[value.length - 1]))
        value.length--;
    return value;
}

static bool same_values(struct scan_span left, struct scan_span right, int depth)
{
    if (has_same_bytes(left, right))
        return true;
    if (left.length == 0 || right.length == 0 || depth == DEPTH_MAX)
        return false;
    switch (left.at[0]) {
    case '"':
        return is_closed_string(left) && is_closed_string(right) &&
               same_strings(scan_string(left), scan_string(right));
    case '[':
        return same_arrays(left, right, depth + 1);
    case '{':
        return same_objects(left, right, depth + 1);
    default:
        return same_words(left, right);
    }
}

bool json_same(struct scan_span left, struct scan_span right)
{
    return same_values(trim(left), trim(right), 0);
}
