/* SPDX-License-Identifier: Apache-2.0 */
/* A native contract that tries what contracts may do, and what they may not. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/native/gascontract.h"

enum { LARGE = 100000 };

static int calls, large[LARGE], constructed, started;
static _Thread_local int local = 7, empty_local;

__attribute__((constructor)) static void construct(void)
{
    constructed++;
}

static void answer(const char *text)
{
    gascontract_result(text, strlen(text));
}

/* Once in the life of a vat, whatever workers it has. */
void gascontract_init(void)
{
    started++;
    gascontract_storage_write("init", 4, gascontract_storage_has("init", 4) ? "twice" : "once", 5);
}

static void report_init(void)
{
    char text[32] = "\"started ";
    const size_t length = gascontract_storage_read("init", 4, text + 9, 5);

    text[9 + strnlen(text + 9, length)] = '"';
    answer(started == 0 ? text : "\"a variable stayed\"");
}

static unsigned sum_of(const unsigned char *bytes, size_t length)
{
    unsigned sum = 0;

    for (size_t i = 0; i < length; i++)
        sum += bytes[i];
    return sum;
}

/* Earlier calls have left nothing on the stack. */
static unsigned __attribute__((noinline)) used_stack(void)
{
    unsigned char bytes[4096], *seen = bytes;

    __asm__ volatile("" : "+r"(seen) : : "memory");
    return sum_of(seen, sizeof bytes / 2);
}

static void report_state(void)
{
    static unsigned char *volatile heap;
    char text[128];
    unsigned stack, sum;

    heap = malloc(LARGE);
    stack = used_stack();
    sum = sum_of(heap, LARGE);
    memset(heap, 1, LARGE);
    snprintf(text, sizeof text, "[%d,%d,%d,%d,%d,%u,%u]", ++calls, ++large[LARGE - 1], ++local,
             ++empty_local, constructed, sum, stack);
    free(heap);
    answer(text);
}

static void use_heap(void)
{
    char *zeros = calloc(3, 5), *aligned = aligned_alloc(256, 100), *larger;

    memset(aligned, 5, 100);
    for (int i = 0; i < 5000; i++) {
        char *block = malloc(LARGE);

        assert(block != NULL);
        larger = realloc(block, 2 * LARGE);
        assert(larger != NULL);
        larger[2 * LARGE - 1] = 1;
        free(larger);
    }
    assert(sum_of((unsigned char *)zeros, 15) == 0 && (size_t)aligned % 256 == 0);
    larger = realloc(aligned, 5000);
    assert(larger != NULL && larger[99] == 5);
    free(zeros);
    free(larger);
    answer("\"fine\"");
}

static void fill_heap(void)
{
    static void *volatile last;
    volatile size_t all = (size_t)-1;

    do
        last = malloc(LARGE);
    while (last != NULL);
    last = malloc(all);
    answer(last == NULL ? "\"full\"" : "\"too much\"");
}

static int compare_ints(const void *left, const void *right)
{
    return (*(const int *)left > *(const int *)right) - (*(const int *)left < *(const int *)right);
}

/* By what stands in their context: whole arrays are compared, which sorts them. */
static int compare_arrays(const void *left, const void *right, void *context)
{
    const int *const *a = left, *const *b = right;

    qsort((void *)*a, LARGE, sizeof **a, compare_ints);
    if (*(int *)context == 0)
        abort();
    return compare_ints(*a + LARGE - 1, *b + LARGE - 1);
}

static int *random_numbers(unsigned seed)
{
    int *numbers = malloc(LARGE * sizeof *numbers);

    assert(numbers != NULL);
    for (int i = 0; i < LARGE; i++)
        numbers[i] = (int)((seed = seed * 1664525 + 1013904223) >> 8);
    return numbers;
}

/* Ends the call within a comparison if there is an input. */
static void sort(size_t input)
{
    int *arrays[2] = {random_numbers(1), random_numbers(2)}, has_second_worker = input == 0;
    const size_t all = (size_t)-1 / 2;

    qsort_r(arrays, 2, sizeof *arrays, compare_arrays, &has_second_worker);
    for (int i = 0; i < 2; i++)
        qsort(arrays[i], LARGE, sizeof **arrays, compare_ints);
    for (int i = 1; i < LARGE; i++)
        assert(arrays[0][i - 1] <= arrays[0][i] && arrays[1][i - 1] <= arrays[1][i]);
    assert(bsearch(&arrays[1][7], arrays[1], LARGE, sizeof **arrays, compare_ints) != NULL);
    gascontract_log("sorted", 6);
    qsort(arrays[0], all, sizeof **arrays, compare_ints);
}

static void use_bytes(void)
{
    const unsigned char key[] = {0, 255, 1}, value[] = {0, 1, 2};
    unsigned char read[3] = {9, 9, 9};
    char text[64];
    const bool was = gascontract_storage_write(key, 3, value, 3);
    const size_t length = gascontract_storage_read(key, 3, read, 2);
    const bool other = gascontract_storage_has("x", 1);
    const bool removed = gascontract_storage_remove(key, 3);

    snprintf(text, sizeof text, "[%zu,%d,%d,%d,%d,%d]", length, read[1], was, other, removed,
             gascontract_storage_remove(key, 3));
    assert(read[2] == 9);
    answer(text);
}

static void write_and_end(const char *input, size_t length)
{
    gascontract_storage_write("left", 4, "", 0);
    assert(length != 6 || memcmp(input, "assert", length) != 0);
    abort();
}

/* Copies the text up to the next space, and returns what follows the space. */
static const char *take_word(char word[64], const char *from, const char *end)
{
    const char *space = memchr(from, ' ', (size_t)(end - from));

    assert(space != NULL && space - from < 64);
    memcpy(word, from, (size_t)(space - from));
    word[space - from] = '\0';
    return space + 1;
}

/* "ACCOUNT METHOD ARGUMENT": that contract's answer, through this contract's callback. */
static void ask(const char *input, size_t length)
{
    char account[64], method[64];
    const char *end = input + length,
               *argument = take_word(method, take_word(account, input, end), end);
    const struct gascontract_message question = {.account = account,
                                                 .method = method,
                                                 .input = argument,
                                                 .length = (size_t)(end - argument),
                                                 .deposit = {1, 0},
                                                 .gas = 10000000000000};
    const struct gascontract_message callback = {.account = gascontract_self(), .method = "told"};

    gascontract_return_promise(gascontract_then(gascontract_send(&question), &callback));
}

static void take_answer(void)
{
    char text[64] = "[";
    const size_t length = gascontract_promise_result(0, text + 1, sizeof text - 2);

    assert(gascontract_promise_results() == 1);
    if (length == GASCONTRACT_NONE) {
        answer("\"failed\"");
        return;
    }
    assert(length < sizeof text - 2);
    text[length + 1] = ']';
    gascontract_result(text, length + 2);
}

static void fork_by_hand(void)
{
    const long number = 57; /* fork */
    long result;

    __asm__ volatile("syscall" : "=a"(result) : "0"(number) : "rcx", "r11", "memory");
    answer(result >= 0 ? "\"a process\"" : "\"refused\"");
}

void gascontract_call(const char *method, const void *input, size_t length)
{
    if (strcmp(method, "state") == 0)
        report_state();
    else if (strcmp(method, "init") == 0)
        report_init();
    else if (strcmp(method, "heap") == 0)
        use_heap();
    else if (strcmp(method, "full") == 0)
        fill_heap();
    else if (strcmp(method, "sort") == 0)
        sort(length);
    else if (strcmp(method, "bytes") == 0)
        use_bytes();
    else if (strcmp(method, "write") == 0)
        write_and_end(input, length);
    else if (strcmp(method, "read") == 0)
        answer(gascontract_storage_has("left", 4) ? "\"something\"" : "\"nothing\"");
    else if (strcmp(method, "echo") == 0)
        gascontract_result(input, length);
    else if (strcmp(method, "caller") == 0)
        answer(gascontract_caller());
    else if (strcmp(method, "ask") == 0)
        ask(input, length);
    else if (strcmp(method, "told") == 0)
        take_answer();
    else if (strcmp(method, "fork") == 0)
        fork_by_hand();
    else if (strcmp(method, "null") == 0)
        *(volatile int *)(length + 16) = 1;
    else
        gascontract_abort(method, strlen(method));
}
