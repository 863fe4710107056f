/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small server with a queue, to trace by request: `server REQUESTS` accepts that many requests on
 * its main thread, and one thread handles them in order. Every tenth takes long, and makes those
 * after it wait. gaspipe-trace(1) traces it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CAPACITY = 1 << 16, SHORT = 20000, LONG = 2000000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    long requests[CAPACITY]; /* by their numbers; -1: the end */
    size_t first, count;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

__attribute__((noinline)) static void enqueue(long request)
{
    pthread_mutex_lock(&queue.lock);
    queue.requests[(queue.first + queue.count++) % CAPACITY] = request;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
}

__attribute__((noinline)) static long dequeue(void)
{
    long request;

    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0)
        pthread_cond_wait(&queue.filled, &queue.lock);
    request = queue.requests[queue.first];
    queue.first = (queue.first + 1) % CAPACITY;
    queue.count--;
    pthread_mutex_unlock(&queue.lock);
    return request;
}

__attribute__((noinline)) static unsigned look_up(unsigned from)
{
    volatile unsigned value = from;

    for (long i = 0; i < SHORT; i++)
        value = value * 1664525 + 1013904223;
    return value;
}

__attribute__((noinline)) static unsigned search_all(unsigned from)
{
    volatile unsigned value = from;

    for (long i = 0; i < LONG; i++)
        value = value * 1664525 + 1013904223;
    return value;
}

__attribute__((noinline)) static unsigned handle_request(long request)
{
    unsigned found = look_up((unsigned)request);

    if (request % 10 == 0)
        found ^= search_all(found); /* not a tail call, with which this call would end */
    return found;
}

static void *handle_requests(void *context)
{
    unsigned *const sum = context;

    for (long request = dequeue(); request >= 0; request = dequeue())
        *sum ^= handle_request(request);
    return NULL;
}

int main(int argc, char **argv)
{
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    unsigned sum = 0;
    pthread_t thread;

    if (count < 1 || count >= CAPACITY) {
        fprintf(stderr, "usage: server REQUESTS\n");
        return 2;
    }
    if (pthread_create(&thread, NULL, handle_requests, &sum) != 0)
        return 4;
    for (long request = 1; request <= count; request++)
        enqueue(request);
    enqueue(-1);
    pthread_join(thread, NULL);
    printf("%ld requests, %08x\n", count, sum);
    return 0;
}
