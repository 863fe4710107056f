/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/guest/ended_threads.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "counter/qemu/emulator/interpose.h"
#include "counter/qemu/tally.h"

typedef void release_function(void *object, const char *name, void *opaque);

/* QEMU's struct ObjectProperty (include/qom/object.h), from 2.4 to 10: the part used here. */
struct property {
    const char *name;
    const char *type;
    const char *description;
    void *get, *set, *resolve;
    release_function *release;
    void *init;
    void *opaque; /* of a child, the child */
};

/* A processor that is a child; all NULL: none. */
struct child {
    void *table; /* of properties, of its parent */
    struct property *property;
};

typedef int insert_function(void *table, void *key, void *value);
typedef int remove_function(void *table, const void *key);
typedef void exit_function(void *result);
typedef void *seed_function(const uint32_t *seed, unsigned length);
typedef void free_function(void *random);

static insert_function *real_insert;
static remove_function *remove_entry;
static exit_function *real_exit;
static seed_function *real_seed;
static free_function *free_random;
static release_function *real_release;

/* Those of running threads, by their indices, and those whose threads have ended. */
static struct child children[TALLY_THREADS_MAX];
static struct child ended[TALLY_THREADS_MAX];
static unsigned ended_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define OF_THREAD static __thread __attribute__((tls_model("initial-exec")))

OF_THREAD struct child last_made; /* by this thread */
OF_THREAD struct child own;       /* from when its exit began */
OF_THREAD void *random_numbers;   /* the thread's own generator */

static bool is_processor(const struct property *property, const void *key)
{
    size_t length;

    if (property == NULL || property->name != key || strncmp(key, "device[", 7) != 0 ||
        property->type == NULL || strncmp(property->type, "child<", 6) != 0)
        return false;
    length = strlen(property->type);
    return length > 5 && strcmp(property->type + length - 5, "-cpu>") == 0;
}

/* QEMU does it by itself, when the thread exits. */
static void released(void *object, const char *name, void *opaque)
{
    if (own.property != NULL && own.property->opaque == opaque)
        own = (struct child){0};
    real_release(object, name, opaque);
}

/* All NULL: there is none. */
static struct child take_ended(void)
{
    struct child taken = {0};

    pthread_mutex_lock(&lock);
    if (ended_count > 0)
        taken = ended[--ended_count];
    pthread_mutex_unlock(&lock);
    return taken;
}

/* The release function looks at nothing but the child. */
static void reclaim(void)
{
    for (struct child child = take_ended(); child.property != NULL; child = take_ended()) {
        struct property *property = child.property;

        property->release = NULL;
        real_release(NULL, property->name, property->opaque);
        remove_entry(child.table, property->name);
    }
}

static int insert(void *table, void *key, void *value)
{
    struct property *property = value;
    int result = real_insert(table, key, value);

    if (key == NULL || !is_processor(property, key))
        return result;
    reclaim();
    if (real_release == NULL)
        real_release = property->release;
    if (property->release == real_release && real_release != NULL) {
        property->release = released;
        last_made = (struct child){table, property};
    }
    return result;
}

static void *seed_random(const uint32_t *seed, unsigned length)
{
    random_numbers = real_seed(seed, length);
    return random_numbers;
}

/* Where there is no room to remember it, it stays. */
static _Noreturn void end_thread(void *result)
{
    if (own.property != NULL) {
        pthread_mutex_lock(&lock);
        if (ended_count < TALLY_THREADS_MAX)
            ended[ended_count++] = own;
        pthread_mutex_unlock(&lock);
    }
    if (random_numbers != NULL)
        free_random(random_numbers);
    real_exit(result);
    __builtin_unreachable();
}

static void take_threads_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void leave_threads_lock(void)
{
    pthread_mutex_unlock(&lock);
}

bool ended_threads_reclaim(void)
{
    remove_entry = (remove_function *)dlsym(RTLD_DEFAULT, "g_hash_table_remove");
    free_random = (free_function *)dlsym(RTLD_DEFAULT, "g_rand_free");
    pthread_atfork(take_threads_lock, leave_threads_lock, leave_threads_lock);
    return remove_entry != NULL && free_random != NULL &&
           interpose("g_rand_new_with_seed_array", (void *)seed_random, (void **)&real_seed) &&
           interpose("pthread_exit", (void *)end_thread, (void **)&real_exit) &&
           interpose("g_hash_table_insert", (void *)insert, (void **)&real_insert);
}

void ended_threads_began(unsigned thread)
{
    pthread_mutex_lock(&lock);
    children[thread] = last_made;
    pthread_mutex_unlock(&lock);
    last_made = (struct child){0};
}

/* Soon another thread may have the index. */
void ended_threads_exits(unsigned thread)
{
    pthread_mutex_lock(&lock);
    /* QEMU may begin the system call again. */
    if (children[thread].property != NULL)
        own = children[thread];
    children[thread] = (struct child){0};
    pthread_mutex_unlock(&lock);
}
