/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: store_times DIR
 * Creates a store in the directory, which must not exist, and prints how long its
 * functions take, as a table for docs/benchmarks.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/store.h"

enum { CHANGES = 40000, PER_CRANK = 20, BLOCKS = 400 };

static struct error error;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void check(int result)
{
    if (result == 0)
        return;
    fprintf(stderr, "store_times: %s\n", error.text);
    exit(1);
}

/* A key like the kernel's: one of many vats, with a reference in it. */
static void make_key(char key[64], int number)
{
    snprintf(key, 64, "v%d.c.ko%d", number % 50, number / 3);
}

/* A value that differs from turn to turn. */
static struct iovec value_of(int number, int turn)
{
    static char text[] = "{\"state\":\"unresolved\",\"refCount\":2,\"policy\":\"ignore\"}";

    return (struct iovec){text, 10 + (size_t)(number * 7 + turn) % 40};
}

static void change_key(struct store *store, int number, int turn)
{
    char key[64];

    make_key(key, number);
    check(store_key_set(store, key, value_of(number, turn), &error));
}

static void change_vat_key(struct store *store, int number, int turn)
{
    char key[64];

    snprintf(key, sizeof key, "vom.o+d10/%d", number / 2);
    check(store_vat_set(store, number % 50, (struct iovec){key, strlen(key)},
                        value_of(number, turn), &error));
}

static void read_key(struct store *store, int number, int turn)
{
    struct buf value = {0};
    char key[64];
    bool found;

    (void)turn;
    make_key(key, number);
    check(store_key_get(store, key, &value, &found, &error));
    buf_free(&value);
}

static void find_next_key(struct store *store, int number, int turn)
{
    struct buf next = {0};
    char key[64];
    bool found;

    (void)turn;
    make_key(key, number);
    check(store_key_next(store, "v", key, &next, &found, &error));
    buf_free(&next);
}

/* Cranks of PER_CRANK calls each, in one block; microseconds for each call. */
static double time_cranks(struct store *store,
                          void (*call)(struct store *store, int number, int turn), int turn)
{
    double began, took;

    check(store_transaction_begin(store, &error));
    began = now();
    for (int i = 0; i < CHANGES; i++) {
        if (i % PER_CRANK == 0)
            check(store_savepoint_set(store, &error));
        call(store, i, turn);
        if (i % PER_CRANK == PER_CRANK - 1)
            check(store_savepoint_release(store, &error));
    }
    took = now() - began;
    check(store_transaction_commit(store, &error));
    return took / CHANGES;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Blocks of one crank with PER_CRANK changes; their median, in microseconds. */
static double time_blocks(struct store *store)
{
    double took[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        double began = now();

        check(store_savepoint_set(store, &error));
        for (int j = 0; j < PER_CRANK; j++)
            change_key(store, j, i);
        check(store_savepoint_release(store, &error));
        check(store_transaction_commit(store, &error));
        took[i] = now() - began;
    }
    qsort(took, BLOCKS, sizeof took[0], compare);
    return took[BLOCKS / 2];
}

static void print(const char *what, double microseconds)
{
    printf("| %-58s | %7.1f |\n", what, microseconds);
}

int main(int argc, char **argv)
{
    struct store *store;

    if (argc != 2) {
        fprintf(stderr, "usage: store_times DIR\n");
        return 2;
    }
    store = store_open(argv[1], &error);
    check(store == NULL ? -1 : 0);
    printf("| %-58s | %7s |\n|%.60s|%.9s|\n", "", "us",
           "------------------------------------------------------------", "--------:");
    print("a new key of the kernel", time_cranks(store, change_key, 0));
    print("a key of the kernel changed", time_cranks(store, change_key, 1));
    print("a key of the kernel read", time_cranks(store, read_key, 0));
    print("the next key of the kernel found", time_cranks(store, find_next_key, 0));
    print("a new key of a vat", time_cranks(store, change_vat_key, 0));
    print("a key of a vat changed", time_cranks(store, change_vat_key, 1));
    print("a block of one crank with 20 changes, on the disk, median", time_blocks(store));
    store_close(store);
    return 0;
}
