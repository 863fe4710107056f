/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_RUN_MACHINE_H
#define GASPIPE_WORKER_WASM_RUN_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "worker/wasm/compile/code.h"
#include "worker/wasm/module/module.h"

enum { WASM_PAGE = 65536 };

/* A linear memory. Its bytes may move when it grows. */
struct wasm_memory {
    uint8_t *bytes; /* the first `size` of them are usable */
    uint64_t size;
    uint64_t reserved; /* bytes that are mapped */
    uint32_t initial;  /* pages */
    uint32_t maximum;  /* pages, at most 65536 */
    bool has_maximum;  /* in its type */
    bool is_placed;    /* it stays where it is, in addresses that others reserve */
};

/* Maps a zeroed memory. False if out of memory. */
bool wasm_memory_open(struct wasm_memory *memory, uint32_t initial, uint32_t maximum);
void wasm_memory_close(struct wasm_memory *memory);

/* As wasm_memory_open(), at addresses that the caller has reserved without access. What is not
 * used of them stays without. */
bool wasm_memory_open_at(struct wasm_memory *memory, uint8_t *place, uint32_t initial,
                         uint32_t maximum);

/* Restores the state after wasm_memory_open(). */
bool wasm_memory_reset(struct wasm_memory *memory);

/* Returns the previous size in pages, or UINT32_MAX if it cannot grow so far. */
uint32_t wasm_memory_grow(struct wasm_memory *memory, uint32_t pages);

static inline uint32_t wasm_memory_pages(const struct wasm_memory *memory)
{
    return (uint32_t)(memory->size / WASM_PAGE);
}

/* Returns true if `length` bytes from there lie inside. */
static inline bool wasm_memory_has(const struct wasm_memory *memory, uint64_t from, uint64_t length)
{
    return from <= memory->size && length <= memory->size - from;
}

/* Why a call ended early. */
enum wasm_trap {
    WASM_TRAP_NONE,
    WASM_TRAP_UNREACHABLE,
    WASM_TRAP_MEMORY, /* an address outside the memory */
    WASM_TRAP_TABLE,  /* an element outside a table */
    WASM_TRAP_DIVIDE_BY_ZERO,
    WASM_TRAP_OVERFLOW,      /* of a division or a conversion */
    WASM_TRAP_CONVERSION,    /* of a NaN */
    WASM_TRAP_UNDEFINED,     /* an indirect call outside the table */
    WASM_TRAP_UNINITIALIZED, /* an indirect call of null */
    WASM_TRAP_SIGNATURE,     /* an indirect call of a function of another type */
    WASM_TRAP_STACK,
    WASM_TRAP_GAS,       /* more operations than were granted */
    WASM_TRAP_HOST,      /* a host function ended the call; it knows why */
    WASM_TRAP_NO_MEMORY, /* the host is out of memory */
};

/* Returns the text of the specification's tests, if they have one. */
const char *wasm_trap_words(enum wasm_trap trap);

struct wasm_table {
    uint64_t *elements; /* references: 0 is null */
    uint32_t count;
    uint32_t initial;
    uint32_t maximum;
    bool has_maximum; /* in its type */
    uint8_t type;
};

struct wasm_machine;
struct wasm_instance;

/* A host function. `values` has its arguments, and space for its results, which overwrite them.
 * Any value but WASM_TRAP_NONE ends the call. */
typedef enum wasm_trap wasm_host_function(void *context, struct wasm_machine *machine,
                                          struct wasm_instance *caller, uint64_t *values);

/* An instance's imported function: the host's, or another instance's. */
struct wasm_imported_function {
    wasm_host_function *call; /* NULL: the instance's */
    void *context;
    struct wasm_instance *instance;
    uint32_t function;
};

/* Filled in by wasm_instance_open(); see instance.h. */
struct wasm_instance {
    const struct wasm_module *module; /* borrowed, and the codes */
    const struct wasm_code *codes;
    uint32_t number;                          /* in its machine */
    struct wasm_imported_function *functions; /* the imported ones */
    struct wasm_memory *memory;               /* NULL: none */
    struct wasm_memory own_memory;
    struct wasm_table **tables;
    struct wasm_table *own_tables;
    uint64_t *globals;           /* by number; imported ones are in the next member */
    uint64_t **imported_globals; /* the imported ones */
    bool *dropped_data;
    bool *dropped_elements;
};

/* State shared by instances that can call each other: the stack, the operations left, and the
 * instances. A reference is (number of the instance + 1) << 32 | function. */
struct wasm_machine {
    int64_t left;        /* operations that may still be charged */
    uint64_t stack_left; /* bytes, as wasm_code.stack_bytes counts them */
    uint64_t stack_bytes;
    uint64_t *values; /* owned: the frames' slots */
    uint64_t value_count;
    struct wasm_frame *frames; /* owned */
    uint32_t frame_count;
    uint32_t frame_capacity;
    uint32_t nested;                  /* calls between instances */
    struct wasm_instance **instances; /* owned; the instances are not */
    uint32_t instance_count;
    uint64_t *next_values;        /* where a call by the host puts its arguments */
    struct wasm_cell *last_block; /* owned; see interpreter.c */
    uint32_t last_block_capacity;
    uint32_t last_block_cell; /* its first cell in the code that it was copied from */
};

struct wasm_frame {
    const struct wasm_cell *pc;   /* where the caller continues */
    uint64_t *slots;              /* the caller's */
    const struct wasm_code *code; /* the caller's */
};

/* `stack_bytes` limits the stack. -1 with *error if out of memory. */
int wasm_machine_open(struct wasm_machine *machine, uint64_t stack_bytes, struct error *error);
void wasm_machine_close(struct wasm_machine *machine);

/* Empties the stack, and sets `left` to the operations allowed. */
void wasm_machine_begin(struct wasm_machine *machine, int64_t left);

/*
 * Calls an instance's function. `values` has the arguments and space for the results, which
 * overwrite them. machine->left is reduced by what was used; after WASM_TRAP_GAS it is
 * meaningless.
 */
enum wasm_trap wasm_call(struct wasm_machine *machine, struct wasm_instance *instance,
                         uint32_t function, uint64_t *values);

/* ---- between the files of this directory ---- */

/* Calls a function of any kind; arguments and results are on the stack. */
enum wasm_trap wasm_call_any(struct wasm_machine *machine, struct wasm_instance *instance,
                             uint32_t function, uint64_t *slots);

/* The interpreter's places, for the compiler. */
const void *const *wasm_handlers(void);

/* Instructions on many bytes or elements, and on tables. Bounds are checked before any write. */
enum wasm_trap wasm_memory_copy(struct wasm_memory *memory, uint32_t to, uint32_t from,
                                uint32_t count);
enum wasm_trap wasm_memory_fill(struct wasm_memory *memory, uint32_t to, uint32_t byte,
                                uint32_t count);
enum wasm_trap wasm_memory_init(struct wasm_instance *instance, uint32_t segment, uint32_t to,
                                uint32_t from, uint32_t count);

/* Returns the previous size, or UINT32_MAX if it cannot grow so far. */
uint32_t wasm_table_grow(struct wasm_table *table, uint64_t value, uint32_t count);
enum wasm_trap wasm_table_fill(struct wasm_table *table, uint32_t to, uint64_t value,
                               uint32_t count);
enum wasm_trap wasm_table_copy(struct wasm_table *to_table, struct wasm_table *from_table,
                               uint32_t to, uint32_t from, uint32_t count);
enum wasm_trap wasm_table_init(struct wasm_instance *instance, uint32_t table, uint32_t segment,
                               uint32_t to, uint32_t from, uint32_t count);

/* The value of a constant expression. */
uint64_t wasm_constant_value(const struct wasm_instance *instance,
                             const struct wasm_constant *constant);

/* The reference to a function. */
uint64_t wasm_reference(const struct wasm_instance *instance, uint32_t function);

#endif
