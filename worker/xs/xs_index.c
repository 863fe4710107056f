/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/xs_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <xsAll.h>

/*
 * Two hash tables with linear probing. They answer exactly as a walk of the list would:
 *
 *     properties   (instance, key) -> the slot before the property
 *                  (instance, 0)   -> the last slot that was indexed
 *     names        string          -> the key's slot
 *
 * Lists grow without notice. New properties are at the end: a search first adds what follows
 * the last indexed slot. New names are at the head: it first adds those before the last head.
 * One function unlinks properties, and reports it (xs_index_remove()). XS links internal slots
 * before all properties, which a wrong slot before the first one shows. Names are never freed.
 *
 * The hazard: a freed slot may become part of another object, so the table of properties is
 * emptied at each garbage collection. These come at the same places in every run, as do the
 * addresses that are hashed (xs_memory.c), so the block cost is the same everywhere.
 */

/* ---- properties ---- */

struct link {
    txSlot *instance; /* NULL: free */
    txSlot *before;   /* NULL: the property was removed */
    uint64_t key;
};

enum { LINKS_MIN = 1024 };

static struct link *links;
static size_t links_size; /* a power of 2, or 0 */
static size_t links_used;

/* Keys that a for-in loop has visited are such a list, too: names, or indices beyond them. */
static uint64_t key_of(const txSlot *slot)
{
    if (slot->kind != XS_AT_KIND)
        return slot->ID;
    return slot->value.at.id != XS_NO_ID ? slot->value.at.id : 1ULL << 32 | slot->value.at.index;
}

static struct link *find_link(const txSlot *instance, uint64_t key)
{
    const uint64_t both = ((uintptr_t)instance / sizeof *instance << 32) + key;
    size_t at = (size_t)(both * 0x9e3779b97f4a7c15 >> 32) & (links_size - 1);

    while (links[at].instance != NULL && (links[at].instance != instance || links[at].key != key))
        at = (at + 1) & (links_size - 1);
    return &links[at];
}

/* Returns zeroed memory; xs_memory.c ends the worker if there is not enough. */
static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        abort();
    return memory;
}

/* Makes space, and drops the properties that were removed. */
static void resize_links(void)
{
    struct link *former = links;
    const size_t former_size = links_size;
    size_t kept = 0;

    for (size_t i = 0; i < former_size; i++)
        kept += former[i].before != NULL;
    links_size = LINKS_MIN;
    while (links_size < 4 * kept)
        links_size *= 2;
    links = allocate(links_size, sizeof *links);
    links_used = kept;
    for (size_t i = 0; i < former_size; i++)
        if (former[i].before != NULL)
            *find_link(former[i].instance, former[i].key) = former[i];
    free(former);
}

static void set_link(txSlot *instance, uint64_t key, txSlot *before)
{
    struct link *link;

    if (links_used + links_used / 2 >= links_size)
        resize_links();
    link = find_link(instance, key);
    if (link->instance == NULL)
        links_used++;
    *link = (struct link){instance, before, key};
}

/* Returns the last slot, after all properties that follow `last` were added. */
static txSlot *add_properties(txSlot *instance, txSlot *last)
{
    txSlot *property;

    while ((property = last->next) != NULL) {
        if (!(property->flag & XS_INTERNAL_FLAG))
            set_link(instance, key_of(property), last);
        last = property;
    }
    set_link(instance, XS_NO_ID, last);
    return last;
}

/* Returns the last slot that was indexed, or NULL if the instance is not. */
static txSlot *last_indexed(const txSlot *instance)
{
    return links_size == 0 ? NULL : find_link(instance, XS_NO_ID)->before;
}

/*
 * Returns where the slot with this key is linked, or else where the instance's list ends. Not
 * for instances with property functions of their own.
 */
txSlot **xs_index_find(txSlot *instance, uint64_t key)
{
    txSlot *last = last_indexed(instance);
    const struct link *link;

    if (last == NULL || last->next != NULL)
        last = add_properties(instance, last == NULL ? instance : last);
    link = find_link(instance, key);
    if (link->before == NULL)
        return &last->next;
    if (link->before->next == NULL || key_of(link->before->next) != key) {
        add_properties(instance, instance);
        link = find_link(instance, key);
    }
    return &link->before->next;
}

/* As xs_index_find(), for a key of a for-in loop among those that it has visited. */
txSlot **xs_index_find_visited(txSlot *visited, const txSlot *at)
{
    return xs_index_find(visited, key_of(at));
}

/* Call before *place is unlinked from the list of the instance's properties. */
void xs_index_remove(txSlot *instance, txSlot **place)
{
    txSlot *property = *place;
    txSlot *before = (txSlot *)((char *)place - offsetof(txSlot, next));
    txSlot *last = last_indexed(instance);

    if (last == NULL)
        return;
    if (last->next != NULL)
        last = add_properties(instance, last);
    find_link(instance, key_of(property))->before = NULL;
    if (last == property)
        set_link(instance, XS_NO_ID, before);
    else
        find_link(instance, key_of(property->next))->before = before;
}

static void free_links(void)
{
    free(links);
    links = NULL;
    links_size = links_used = 0;
}

/* Call before unmarked slots are freed. */
void xs_index_forget_properties(void)
{
    if (links_used < links_size / 16)
        free_links();
    else if (links_used > 0)
        memset(links, 0, links_size * sizeof *links);
    links_used = 0;
}

/* ---- names ---- */

struct name {
    uint64_t hash;
    txSlot *key; /* NULL: free */
};

enum { NAMES_MIN = 1024 };

/* One is for XS's table of names, one for Symbol.for()'s. */
static struct name_index {
    txSlot **table; /* NULL: not made */
    txSlot **heads; /* of each list, when it was indexed */
    struct name *names;
    size_t size; /* a power of 2 */
    size_t used;
} name_indexes[2];

static uint64_t hash_name(const char *string)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

    for (; *string != '\0'; string++)
        hash = (hash ^ (unsigned char)*string) * 0x100000001b3;
    return hash ^ hash >> 32;
}

static struct name *find_name(const struct name_index *index, uint64_t hash, const char *string)
{
    size_t at = (size_t)hash & (index->size - 1);

    while (index->names[at].key != NULL &&
           (index->names[at].hash != hash ||
            strcmp(index->names[at].key->value.key.string, string) != 0))
        at = (at + 1) & (index->size - 1);
    return &index->names[at];
}

static void grow_names(struct name_index *index)
{
    struct name *former = index->names;
    const size_t former_size = index->size;

    index->size *= 2;
    index->names = allocate(index->size, sizeof *index->names);
    for (size_t i = 0; i < former_size; i++)
        if (former[i].key != NULL)
            *find_name(index, former[i].hash, former[i].key->value.key.string) = former[i];
    free(former);
}

static void add_name(struct name_index *index, txSlot *key)
{
    const uint64_t hash = hash_name(key->value.key.string);

    if (index->used + index->used / 2 >= index->size)
        grow_names(index);
    *find_name(index, hash, key->value.key.string) = (struct name){hash, key};
    index->used++;
}

static struct name_index *index_of(txMachine *the, txSlot **table)
{
    const bool is_names = table == the->nameTable;
    struct name_index *index = &name_indexes[is_names];

    if (index->table == NULL) {
        index->table = table;
        index->heads = allocate((size_t)(is_names ? the->nameModulo : the->symbolModulo),
                                sizeof *index->heads);
        index->size = NAMES_MIN;
        index->names = allocate(index->size, sizeof *index->names);
    }
    return index;
}

/* Returns the key with this string in the list, or NULL. List N of a table is table[N]. */
txSlot *xs_index_name(txMachine *the, txSlot **table, txU4 list, const char *string)
{
    struct name_index *index = index_of(the, table);

    for (txSlot *key = table[list]; key != index->heads[list]; key = key->next)
        add_name(index, key);
    index->heads[list] = table[list];
    return find_name(index, hash_name(string), string)->key;
}

void xs_index_close(void)
{
    free_links();
    for (size_t i = 0; i < 2; i++) {
        free(name_indexes[i].names);
        free(name_indexes[i].heads);
        name_indexes[i] = (struct name_index){0};
    }
}
