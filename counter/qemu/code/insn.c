/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/insn.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The effects that an opcode can have. The tables follow the opcode maps of the AMD64 Architecture
 * Programmer's Manual, volume 3, appendix A. */
enum effect {
    UNKNOWN = 0,     /* unknown, privileged, or it raises exceptions */
    HARMLESS,        /* no operand in memory, no exception */
    MEMORY,          /* an access to memory, no other exception */
    OPERAND,         /* a register or memory, as ModRM says */
    ADDRESS,         /* ModRM names an address that is only computed (lea) */
    OPERAND_NOT_6_7, /* as OPERAND, but the reg fields 6 and 7 raise exceptions (div, idiv) */
};

#define RANGE(from, to) [(from)...(to)]
/* add, or, adc, ...: two forms each way with ModRM, two with an immediate. */
#define ARITHMETIC(base) RANGE(base, (base) + 3) = OPERAND, RANGE((base) + 4, (base) + 5) = HARMLESS

static const uint8_t one_byte[256] = {
    ARITHMETIC(0x00),
    ARITHMETIC(0x08),
    ARITHMETIC(0x10),
    ARITHMETIC(0x18),
    ARITHMETIC(0x20),
    ARITHMETIC(0x28),
    ARITHMETIC(0x30),
    ARITHMETIC(0x38),
    RANGE(0x50, 0x5f) = MEMORY,          /* push, pop */
    [0x63] = OPERAND,                    /* movsxd */
    [0x68] = MEMORY,                     /* push */
    [0x69] = OPERAND,                    /* imul */
    [0x6a] = MEMORY,                     /* push */
    [0x6b] = OPERAND,                    /* imul */
    RANGE(0x70, 0x7f) = HARMLESS,        /* jcc */
    RANGE(0x80, 0x81) = OPERAND,         /* arithmetic with an immediate */
    [0x83] = OPERAND,                    /* the same */
    RANGE(0x84, 0x8b) = OPERAND,         /* test, xchg, mov */
    [0x8d] = ADDRESS,                    /* lea */
    [0x8f] = MEMORY,                     /* pop */
    RANGE(0x90, 0x99) = HARMLESS,        /* nop, pause, xchg, cbw, cwd */
    RANGE(0x9c, 0x9d) = MEMORY,          /* pushf, popf */
    RANGE(0xa0, 0xa7) = MEMORY,          /* mov, movs, cmps */
    RANGE(0xa8, 0xa9) = HARMLESS,        /* test */
    RANGE(0xaa, 0xaf) = MEMORY,          /* stos, lods, scas */
    RANGE(0xb0, 0xbf) = HARMLESS,        /* mov immediate */
    RANGE(0xc0, 0xc1) = OPERAND,         /* shifts */
    RANGE(0xc2, 0xc3) = MEMORY,          /* ret */
    RANGE(0xc6, 0xc7) = OPERAND,         /* mov immediate */
    [0xc9] = MEMORY,                     /* leave */
    [0xcc] = HARMLESS,                   /* int3: it completes before it traps */
    RANGE(0xd0, 0xd3) = OPERAND,         /* shifts */
    RANGE(0xd8, 0xdf) = MEMORY,          /* x87, which leaves its exceptions to fwait */
    RANGE(0xe0, 0xe3) = HARMLESS,        /* loop, jrcxz */
    [0xe8] = MEMORY,                     /* call */
    [0xe9] = HARMLESS,                   /* jmp */
    [0xeb] = HARMLESS,                   /* jmp */
    [0xf5] = HARMLESS,                   /* cmc */
    RANGE(0xf6, 0xf7) = OPERAND_NOT_6_7, /* test, not, neg, mul, imul, div, idiv */
    RANGE(0xf8, 0xf9) = HARMLESS,        /* clc, stc */
    RANGE(0xfc, 0xfd) = HARMLESS,        /* cld, std */
    [0xfe] = OPERAND,                    /* inc, dec */
    [0xff] = MEMORY,                     /* inc, dec, call, jmp, push */
};

/* After 0x0f. SSE3 and later, which a CPU model can lack, are treated as memory accesses. */
static const uint8_t two_bytes[256] = {
    [0x05] = HARMLESS,            /* system calls complete, and QEMU performs them */
    [0x0d] = HARMLESS,            /* prefetch */
    RANGE(0x10, 0x11) = OPERAND,  /* mov of floating point */
    RANGE(0x12, 0x13) = MEMORY,   /* the same, and SSE3 */
    RANGE(0x14, 0x15) = OPERAND,  /* unpck */
    RANGE(0x16, 0x17) = MEMORY,   /* mov, and SSE3 */
    RANGE(0x18, 0x1f) = HARMLESS, /* prefetch, nop */
    RANGE(0x28, 0x2a) = OPERAND,  /* mov, cvt */
    [0x2b] = MEMORY,              /* movnt */
    RANGE(0x2c, 0x2f) = OPERAND,  /* cvt, ucomis, comis */
    [0x31] = HARMLESS,            /* rdtsc */
    RANGE(0x40, 0x4f) = OPERAND,  /* cmov */
    [0x50] = OPERAND,             /* movmsk */
    RANGE(0x51, 0x76) = OPERAND,  /* SSE and SSE2 */
    [0x77] = HARMLESS,            /* emms */
    RANGE(0x7c, 0x7d) = MEMORY,   /* SSE3 */
    RANGE(0x7e, 0x7f) = OPERAND,  /* mov */
    RANGE(0x80, 0x8f) = HARMLESS, /* jcc */
    RANGE(0x90, 0x9f) = OPERAND,  /* setcc */
    [0xa2] = HARMLESS,            /* cpuid */
    RANGE(0xa3, 0xa5) = OPERAND,  /* bt, shld */
    [0xab] = OPERAND,             /* bts */
    RANGE(0xac, 0xad) = OPERAND,  /* shrd */
    [0xae] = MEMORY,              /* fxsave, ldmxcsr, fences */
    [0xaf] = OPERAND,             /* imul */
    RANGE(0xb0, 0xb1) = OPERAND,  /* cmpxchg */
    [0xb3] = OPERAND,             /* btr */
    RANGE(0xb6, 0xb7) = OPERAND,  /* movzx */
    [0xb8] = OPERAND,             /* popcnt */
    RANGE(0xba, 0xbf) = OPERAND,  /* bt and its kin, bsf, bsr, movsx */
    RANGE(0xc0, 0xc2) = OPERAND,  /* xadd, cmpps */
    [0xc3] = MEMORY,              /* movnti */
    RANGE(0xc4, 0xc6) = OPERAND,  /* pinsrw, pextrw, shufp */
    RANGE(0xc8, 0xcf) = HARMLESS, /* bswap */
    [0xd0] = MEMORY,              /* SSE3 */
    RANGE(0xd1, 0xef) = OPERAND,  /* SSE2 on integers */
    [0xf0] = MEMORY,              /* SSE3 */
    RANGE(0xf1, 0xfe) = OPERAND,  /* SSE2 on integers */
};

/* Resolves OPERAND and ADDRESS with ModRM to one of the first three effects. */
static enum effect effect_of(enum effect effect, const struct opcode *opcode)
{
    switch (effect) {
    case UNKNOWN:
    case HARMLESS:
    case MEMORY:
        return effect;
    case ADDRESS:
        return opcode_names_memory(opcode) ? HARMLESS : UNKNOWN;
    case OPERAND_NOT_6_7:
        if (opcode_field(opcode) >= 6)
            return UNKNOWN;
        /* fall through */
    case OPERAND:
        return opcode_names_memory(opcode) ? MEMORY : HARMLESS;
    }
    return UNKNOWN;
}

/* VEX instructions are unknown here. A locked register is illegal. */
static enum effect look_up_instruction(const struct opcode *opcode)
{
    if (opcode->is_vex || (opcode->lock && !opcode_names_memory(opcode)))
        return UNKNOWN;
    switch (opcode->map) {
    case OPCODE_ONE_BYTE:
        return (enum effect)one_byte[opcode->byte];
    case OPCODE_0F:
        return (enum effect)two_bytes[opcode->byte];
    case OPCODE_0F38: /* SSSE3, SSE4, ... */
    case OPCODE_0F3A:
        return MEMORY;
    case OPCODE_UNKNOWN:
        break;
    }
    return UNKNOWN;
}

/* movs, cmps, stos, lods, scas; also ins and outs, which fault in user mode. */
static bool is_string_opcode(uint8_t opcode)
{
    return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf);
}

/* xchg with memory is atomic even without a prefix. */
static bool is_atomic(const struct opcode *opcode)
{
    bool exchanges = opcode->map == OPCODE_ONE_BYTE && (opcode->byte & 0xfe) == 0x86;

    return (opcode->lock || exchanges) && opcode_names_memory(opcode);
}

struct instruction instruction_of(const struct opcode *opcode)
{
    enum effect effect = effect_of(look_up_instruction(opcode), opcode);

    return (struct instruction){
        .may_fault = effect != HARMLESS,
        .raises = effect == UNKNOWN,
        .repeats =
            opcode->repeat && opcode->map == OPCODE_ONE_BYTE && is_string_opcode(opcode->byte),
        .atomic = is_atomic(opcode),
    };
}

struct kept {
    struct insn_sequence sequence;
    struct kept *next; /* with the same hash */
};

#define BUCKETS 65536

static struct kept *buckets[BUCKETS];

/* All kept sequences by number. They never move. */
#define ROW  1024
#define ROWS 65536

static struct kept *rows[ROWS];
static uint32_t last_number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void insn_sequence_add_kind(struct insn_sequence *sequence, struct kind kind)
{
    sequence->last_class = (uint16_t)kind.class;
    sequence->last_memory = (uint16_t)(KIND_CLASSES + kind.memory);
    sequence->kinds[sequence->last_class]++;
    sequence->kinds[sequence->last_memory]++;
}

static bool is_same(const struct insn_sequence *a, const struct insn_sequence *b)
{
    return a->address == b->address && a->length == b->length && a->last_class == b->last_class &&
           a->last_memory == b->last_memory && memcmp(a->kinds, b->kinds, sizeof a->kinds) == 0;
}

/* A key is the number times an odd constant. Its lower bits spread well in a hash table. Four
 * consecutive numbers share a cache line, because code that was translated together runs
 * together. */
#define FACTOR  0x9e3779b1U
#define INVERSE 0x0e8b2f51U /* FACTOR times INVERSE is 1 */

static uint32_t scatter(uint32_t number, uint32_t factor)
{
    return number / 4 * factor * 4 + number % 4;
}

const struct insn_sequence *insn_sequence_of_key(uint32_t key)
{
    const uint32_t number = scatter(key, INVERSE);

    return &rows[number / ROW][number % ROW].sequence;
}

/* Returns the next free entry; NULL if out of memory. */
static struct kept *next_kept(void)
{
    const uint32_t number = last_number + 1;

    if (number / ROW == ROWS)
        return NULL;
    if (rows[number / ROW] == NULL)
        rows[number / ROW] = malloc(ROW * sizeof *rows[0]);
    if (rows[number / ROW] == NULL)
        return NULL;
    last_number = number;
    return &rows[number / ROW][number % ROW];
}

static const struct insn_sequence *find_or_add(const struct insn_sequence *sequence)
{
    struct kept **bucket = &buckets[(sequence->address ^ sequence->address >> 16) % BUCKETS];
    struct kept *kept;

    for (kept = *bucket; kept != NULL; kept = kept->next)
        if (is_same(&kept->sequence, sequence))
            return &kept->sequence;
    kept = next_kept();
    if (kept == NULL)
        return NULL;
    *kept = (struct kept){*sequence, *bucket};
    kept->sequence.number = last_number;
    kept->sequence.key = scatter(last_number, FACTOR);
    *bucket = kept;
    return &kept->sequence;
}

const struct insn_sequence *insn_sequence_keep(const struct insn_sequence *sequence)
{
    const struct insn_sequence *kept;

    pthread_mutex_lock(&lock);
    kept = find_or_add(sequence);
    pthread_mutex_unlock(&lock);
    return kept;
}
