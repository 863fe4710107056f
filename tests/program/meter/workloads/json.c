/* SPDX-License-Identifier: Apache-2.0 */
/* jansson at work: a document read, looked through, changed, compared. usage: json ROUNDS
 * Not written: jansson hashes addresses then, printed as text, and its count would move with them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { ROWS = 500, ROW_SIZE = 128 };

static char *make_text(void)
{
    char *text = malloc(ROWS * ROW_SIZE);
    size_t at = 0;

    for (int i = 0; i < ROWS; i++)
        at += (size_t)sprintf(text + at,
                              "%c{\"id\":%d,\"name\":\"%s \\u00e4 %d\",\"part\":%d.%03d,"
                              "\"list\":[1,2,%d],\"none\":null,\"yes\":true}",
                              i == 0 ? '[' : ',', i, i % 2 ? "odd" : "even", i * 7919 % 3001, i,
                              i * 7 % 1000, i);
    text[at++] = ']';
    text[at] = '\0';
    return text;
}

static unsigned look_through(json_t *document)
{
    unsigned sum = 0;
    json_t *row, *value;
    const char *name;
    size_t at;

    json_array_foreach(document, at, row)
    {
        sum = sum * 31 + (unsigned)json_integer_value(json_object_get(row, "id"));
        json_object_set_new(row, "sum", json_integer(sum));
        json_object_foreach(row, name, value) sum += (unsigned char)name[0] + json_typeof(value);
        json_object_del(row, "none");
    }
    return sum;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    char *text = make_text();
    unsigned sum = 0;

    /* Without a seed the order of members depends on the time. */
    json_object_seed(1);
    for (int i = 0; i < rounds; i++) {
        json_error_t error;
        json_t *document = json_loads(text, 0, &error);
        json_t *other = json_loads(text, 0, &error);

        if (!document || !other)
            return 1;
        sum += (unsigned)json_equal(document, other) + look_through(document) +
               look_through(other) * 3 + (unsigned)json_equal(document, other);
        json_decref(document);
        json_decref(other);
    }
    free(text);
    printf("%u\n", sum);
    return 0;
}
