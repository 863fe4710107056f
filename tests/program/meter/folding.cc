// SPDX-License-Identifier: Apache-2.0
// Compilers answer these by how much they have inlined: __builtin_constant_p, which std::advance
// asks, and __builtin_object_size, which _FORTIFY_SOURCE asks. usage: folding TURNS
#define _FORTIFY_SOURCE 2
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <list>

struct Record {
    char name[100];
    char text[2000];
};

static inline long twice(long number)
{
    long sum = 0;

    if (__builtin_constant_p(number))
        return 2 * number;
    for (long i = 0; i < number; i++)
        sum += 2;
    return sum;
}

static inline long known_size(const void *object)
{
    return (long)__builtin_object_size(object, 0);
}

static inline long size_if_known(const void *object)
{
    long size = (long)__builtin_dynamic_object_size(object, 0), sum = 0;

    for (long i = 0; i < (size < 0 ? 3 : size); i++)
        sum += i;
    return sum;
}

static long advance_by_one(const std::list<int> &numbers)
{
    auto place = numbers.begin();

    std::advance(place, 1);
    return *place;
}

static long copy(Record *record, const char *text, size_t length)
{
    memcpy(record->text, text, length);
    strncpy(record->name, text, length % sizeof record->name);
    memmove(record->text + 8, record->text, length);
    strcpy(record->text, text + 500);
    return record->text[length];
}

int main(int argc, char **argv)
{
    const long turns = argc > 1 ? atol(argv[1]) : 0;
    const std::list<int> numbers{1, 2, 3};
    static char text[1000];
    static Record record;
    long sum = 0;

    memset(text, 'x', sizeof text - 1);
    for (long i = 0; i < turns; i++) {
        char here[40] = {0};

        sum += twice(50) + known_size(here) + size_if_known(here) + advance_by_one(numbers);
        sum += copy(&record, text, 900 + (size_t)i % 50);
    }
    printf("%ld\n", sum);
    return 0;
}
