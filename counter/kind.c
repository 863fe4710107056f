/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/kind.h"

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
           byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
           byte == 0x65 || (byte >= 0x40 && byte <= 0x4f);
}

/* 0xf2 and 0xf3 come before 0x66, in whatever order they stand. */
static void take_prefix(struct opcode *opcode, uint8_t byte)
{
    opcode->extended = (byte & 0xf1) == 0x41; /* only just before the opcode does it count */
    opcode->lock |= byte == 0xf0;
    if (byte == 0xf2 || byte == 0xf3) {
        opcode->repeat = true;
        opcode->mandatory = byte;
    } else if (byte == 0x66 && !opcode->repeat) {
        opcode->mandatory = byte;
    }
}

/* The bytes of an instruction from a position on; bytes past the end read as 0. */
struct rest {
    const uint8_t *bytes;
    size_t size;
};

static uint8_t byte_at(struct rest rest, size_t at)
{
    return at < rest.size ? rest.bytes[at] : 0;
}

static void take_opcode(struct opcode *opcode, enum opcode_map map, struct rest rest, size_t at)
{
    opcode->map = at < rest.size ? map : OPCODE_UNKNOWN;
    opcode->byte = byte_at(rest, at);
    opcode->modrm = byte_at(rest, at + 1);
}

/* VEX carries the prefix and the map in its last byte and, in the long form, the one before. */
static void take_vex(struct opcode *opcode, struct rest rest)
{
    static const uint8_t prefixes[] = {0, 0x66, 0xf3, 0xf2};
    static const enum opcode_map maps[] = {[1] = OPCODE_0F, [2] = OPCODE_0F38, [3] = OPCODE_0F3A};
    bool is_long = byte_at(rest, 0) == 0xc4;
    unsigned map = is_long ? byte_at(rest, 1) & 31 : 1;

    opcode->is_vex = true;
    opcode->mandatory = prefixes[byte_at(rest, is_long ? 2 : 1) & 3];
    if (map < sizeof maps / sizeof *maps)
        take_opcode(opcode, maps[map], rest, is_long ? 3 : 2);
}

static void take_0f(struct opcode *opcode, struct rest rest)
{
    switch (byte_at(rest, 1)) {
    case 0x38:
        take_opcode(opcode, OPCODE_0F38, rest, 2);
        break;
    case 0x3a:
        take_opcode(opcode, OPCODE_0F3A, rest, 2);
        break;
    default:
        take_opcode(opcode, OPCODE_0F, rest, 1);
    }
}

struct opcode opcode_of(const uint8_t *bytes, size_t size)
{
    struct opcode opcode = {.map = OPCODE_UNKNOWN};
    struct rest rest;
    size_t at = 0;

    for (; at < size && is_prefix(bytes[at]); at++)
        take_prefix(&opcode, bytes[at]);
    rest = (struct rest){bytes + at, size - at};
    switch (byte_at(rest, 0)) {
    case 0x0f:
        take_0f(&opcode, rest);
        break;
    case 0xc4:
    case 0xc5:
        take_vex(&opcode, rest);
        break;
    case 0x62: /* EVEX */
        break;
    default:
        take_opcode(&opcode, OPCODE_ONE_BYTE, rest, 0);
    }
    return opcode;
}

const char *const kind_class_names[KIND_CLASSES] = {
    [KIND_OTHER] = "other",   [KIND_MOVE] = "move",         [KIND_ARITHMETIC] = "arithmetic",
    [KIND_LOGIC] = "logic",   [KIND_MULTIPLY] = "multiply", [KIND_BRANCH] = "branch",
    [KIND_JUMP] = "jump",     [KIND_CALL] = "call",         [KIND_RETURN] = "return",
    [KIND_STRING] = "string", [KIND_FLOAT] = "float",       [KIND_VECTOR] = "vector",
    [KIND_SYSTEM] = "system",
};

const char *const kind_memory_names[KIND_MEMORIES] = {
    [KIND_NO_MEMORY] = "none",
    [KIND_LOAD] = "load",
    [KIND_STORE] = "store",
    [KIND_LOAD_AND_STORE] = "loadAndStore",
};

/* How an opcode accesses memory: always, or only if ModRM names memory. */
enum access {
    NONE = 0,
    LOADS,   /* always */
    STORES,  /* always */
    BOTH,    /* always */
    READS,   /* its operand, if that is memory */
    WRITES,  /* the same */
    CHANGES, /* reads and writes it */
};

/* The tables follow the opcode maps of the AMD64 Architecture Programmer's Manual, volume 3,
 * appendix A, and of Intel's, volume 2, appendix A. The functions below correct entries that ModRM
 * or a prefix splits further. */
struct entry {
    uint8_t class, access;
};

#define RANGE(from, to) [(from)...(to)]
#define IS(c, a)                                                                                   \
    {                                                                                              \
        KIND_##c, a                                                                                \
    }

/* Two forms that change their operand, two that read it, two with an immediate. */
#define ARITHMETIC(base, class)                                                                    \
    RANGE((base), (base) + 1) = IS(class, CHANGES),                                                \
                           RANGE((base) + 2, (base) + 3) = IS(class, READS),                       \
                           RANGE((base) + 4, (base) + 5) = IS(class, NONE)

static const struct entry one_byte[256] = {
    ARITHMETIC(0x00, ARITHMETIC),              /* add */
    ARITHMETIC(0x08, LOGIC),                   /* or */
    ARITHMETIC(0x10, ARITHMETIC),              /* adc */
    ARITHMETIC(0x18, ARITHMETIC),              /* sbb */
    ARITHMETIC(0x20, LOGIC),                   /* and */
    ARITHMETIC(0x28, ARITHMETIC),              /* sub */
    ARITHMETIC(0x30, LOGIC),                   /* xor */
    RANGE(0x38, 0x3b) = IS(ARITHMETIC, READS), /* cmp */
    RANGE(0x3c, 0x3d) = IS(ARITHMETIC, NONE),
    RANGE(0x50, 0x57) = IS(MOVE, STORES), /* push */
    RANGE(0x58, 0x5f) = IS(MOVE, LOADS),  /* pop */
    [0x63] = IS(MOVE, READS),             /* movsxd */
    [0x68] = IS(MOVE, STORES),            /* push */
    [0x69] = IS(MULTIPLY, READS),
    [0x6a] = IS(MOVE, STORES),
    [0x6b] = IS(MULTIPLY, READS),
    RANGE(0x70, 0x7f) = IS(BRANCH, NONE),
    RANGE(0x80, 0x83) = IS(ARITHMETIC, CHANGES), /* group 1 */
    RANGE(0x84, 0x85) = IS(LOGIC, READS),        /* test */
    RANGE(0x86, 0x87) = IS(MOVE, CHANGES),       /* xchg */
    RANGE(0x88, 0x89) = IS(MOVE, WRITES),
    RANGE(0x8a, 0x8b) = IS(MOVE, READS),
    [0x8c] = IS(MOVE, WRITES),
    [0x8d] = IS(ARITHMETIC, NONE), /* lea */
    [0x8e] = IS(MOVE, READS),
    [0x8f] = IS(MOVE, LOADS),            /* pop */
    [0x90] = IS(OTHER, NONE),            /* nop, pause */
    RANGE(0x91, 0x99) = IS(MOVE, NONE),  /* xchg, cbw, cwd */
    [0x9b] = IS(FLOAT, NONE),            /* fwait */
    [0x9c] = IS(MOVE, STORES),           /* pushf */
    [0x9d] = IS(MOVE, LOADS),            /* popf */
    RANGE(0x9e, 0x9f) = IS(MOVE, NONE),  /* sahf, lahf */
    RANGE(0xa0, 0xa1) = IS(MOVE, LOADS), /* at an address in the instruction */
    RANGE(0xa2, 0xa3) = IS(MOVE, STORES),
    RANGE(0xa4, 0xa5) = IS(STRING, BOTH),  /* movs */
    RANGE(0xa6, 0xa7) = IS(STRING, LOADS), /* cmps */
    RANGE(0xa8, 0xa9) = IS(LOGIC, NONE),   /* test */
    RANGE(0xaa, 0xab) = IS(STRING, STORES),
    RANGE(0xac, 0xaf) = IS(STRING, LOADS), /* lods, scas */
    RANGE(0xb0, 0xbf) = IS(MOVE, NONE),
    RANGE(0xc0, 0xc1) = IS(LOGIC, CHANGES), /* shifts */
    RANGE(0xc2, 0xc3) = IS(RETURN, LOADS),
    RANGE(0xc6, 0xc7) = IS(MOVE, WRITES),
    [0xc8] = IS(MOVE, STORES), /* enter */
    [0xc9] = IS(MOVE, LOADS),  /* leave */
    RANGE(0xca, 0xcb) = IS(RETURN, LOADS),
    RANGE(0xcc, 0xcd) = IS(SYSTEM, NONE), /* int */
    [0xcf] = IS(SYSTEM, LOADS),           /* iret */
    RANGE(0xd0, 0xd3) = IS(LOGIC, CHANGES),
    [0xd7] = IS(MOVE, LOADS),             /* xlat */
    RANGE(0xd8, 0xdf) = IS(FLOAT, READS), /* x87 */
    RANGE(0xe0, 0xe3) = IS(BRANCH, NONE), /* loop, jrcxz */
    [0xe8] = IS(CALL, STORES),
    [0xe9] = IS(JUMP, NONE),
    [0xeb] = IS(JUMP, NONE),
    [0xf4] = IS(SYSTEM, NONE),                   /* hlt */
    RANGE(0xf6, 0xf7) = IS(MULTIPLY, READS),     /* group 3 */
    RANGE(0xfe, 0xff) = IS(ARITHMETIC, CHANGES), /* groups 4 and 5 */
};

static const struct entry after_0f[256] = {
    RANGE(0x00, 0x01) = IS(SYSTEM, NONE),
    [0x05] = IS(SYSTEM, NONE), /* syscall */
    [0x0b] = IS(SYSTEM, NONE), /* ud2 */
    [0x10] = IS(VECTOR, READS),
    [0x11] = IS(VECTOR, WRITES),
    [0x12] = IS(VECTOR, READS),
    [0x13] = IS(VECTOR, WRITES),
    RANGE(0x14, 0x16) = IS(VECTOR, READS),
    [0x17] = IS(VECTOR, WRITES),
    [0x28] = IS(VECTOR, READS), /* movaps */
    [0x29] = IS(VECTOR, WRITES),
    [0x2a] = IS(FLOAT, READS), /* cvt */
    [0x2b] = IS(VECTOR, WRITES),
    RANGE(0x2c, 0x2f) = IS(FLOAT, READS), /* cvt, ucomis, comis */
    RANGE(0x30, 0x33) = IS(SYSTEM, NONE), /* rdtsc, rdmsr, rdpmc, wrmsr */
    RANGE(0x40, 0x4f) = IS(MOVE, READS),  /* cmov */
    [0x50] = IS(VECTOR, NONE),
    RANGE(0x51, 0x53) = IS(FLOAT, READS),  /* sqrt, rsqrt, rcp */
    RANGE(0x54, 0x57) = IS(VECTOR, READS), /* and, or, xor */
    RANGE(0x58, 0x5f) = IS(FLOAT, READS),  /* add, mul, cvt, sub, min, div, max */
    RANGE(0x60, 0x70) = IS(VECTOR, READS),
    RANGE(0x71, 0x73) = IS(VECTOR, NONE), /* shifts by an immediate */
    RANGE(0x74, 0x76) = IS(VECTOR, READS),
    [0x77] = IS(VECTOR, NONE),            /* emms, vzeroupper */
    RANGE(0x7c, 0x7d) = IS(FLOAT, READS), /* hadd, hsub */
    RANGE(0x7e, 0x7f) = IS(VECTOR, WRITES),
    RANGE(0x80, 0x8f) = IS(BRANCH, NONE),
    RANGE(0x90, 0x9f) = IS(MOVE, WRITES), /* set */
    [0xa0] = IS(MOVE, STORES),            /* push %fs */
    [0xa1] = IS(MOVE, LOADS),
    [0xa2] = IS(SYSTEM, NONE),              /* cpuid */
    [0xa3] = IS(LOGIC, READS),              /* bt */
    RANGE(0xa4, 0xa5) = IS(LOGIC, CHANGES), /* shld */
    [0xa8] = IS(MOVE, STORES),
    [0xa9] = IS(MOVE, LOADS),
    [0xab] = IS(LOGIC, CHANGES),            /* bts */
    RANGE(0xac, 0xad) = IS(LOGIC, CHANGES), /* shrd */
    [0xae] = IS(SYSTEM, READS),             /* group 15 */
    [0xaf] = IS(MULTIPLY, READS),
    RANGE(0xb0, 0xb1) = IS(ARITHMETIC, CHANGES), /* cmpxchg */
    [0xb3] = IS(LOGIC, CHANGES),                 /* btr */
    RANGE(0xb6, 0xb7) = IS(MOVE, READS),         /* movzx */
    [0xb8] = IS(LOGIC, READS),                   /* popcnt */
    [0xb9] = IS(SYSTEM, NONE),                   /* ud1 */
    [0xba] = IS(LOGIC, CHANGES),                 /* group 8 */
    [0xbb] = IS(LOGIC, CHANGES),                 /* btc */
    RANGE(0xbc, 0xbd) = IS(LOGIC, READS),        /* bsf, bsr */
    RANGE(0xbe, 0xbf) = IS(MOVE, READS),         /* movsx */
    RANGE(0xc0, 0xc1) = IS(ARITHMETIC, CHANGES), /* xadd */
    [0xc2] = IS(FLOAT, READS),                   /* cmpps */
    [0xc3] = IS(MOVE, WRITES),                   /* movnti */
    [0xc4] = IS(VECTOR, READS),                  /* pinsrw */
    [0xc5] = IS(VECTOR, NONE),
    [0xc6] = IS(VECTOR, READS),
    [0xc7] = IS(SYSTEM, WRITES),        /* group 9 */
    RANGE(0xc8, 0xcf) = IS(MOVE, NONE), /* bswap */
    [0xd0] = IS(FLOAT, READS),          /* addsub */
    RANGE(0xd1, 0xd5) = IS(VECTOR, READS),
    [0xd6] = IS(VECTOR, WRITES),
    [0xd7] = IS(VECTOR, NONE), /* pmovmskb */
    RANGE(0xd8, 0xe5) = IS(VECTOR, READS),
    [0xe6] = IS(FLOAT, READS), /* cvt */
    [0xe7] = IS(VECTOR, WRITES),
    RANGE(0xe8, 0xf6) = IS(VECTOR, READS),
    [0xf7] = IS(VECTOR, STORES), /* maskmovdqu */
    RANGE(0xf8, 0xfe) = IS(VECTOR, READS),
};

static const struct entry after_0f38[256] = {
    RANGE(0x2e, 0x2f) = IS(VECTOR, WRITES), /* vmaskmov */
    [0x8e] = IS(VECTOR, WRITES),
    RANGE(0x96, 0x9f) = IS(FLOAT, READS), /* multiply and add */
    RANGE(0xa6, 0xaf) = IS(FLOAT, READS),
    RANGE(0xb6, 0xbf) = IS(FLOAT, READS),
    [0xf0] = IS(MOVE, READS), /* movbe */
    [0xf1] = IS(MOVE, WRITES),
    RANGE(0xf2, 0xf5) = IS(LOGIC, READS),
    [0xf6] = IS(ARITHMETIC, READS), /* adcx, adox */
    [0xf7] = IS(LOGIC, READS),
};

static const struct entry after_0f3a[256] = {
    RANGE(0x08, 0x0b) = IS(FLOAT, READS),   /* round */
    RANGE(0x14, 0x17) = IS(VECTOR, WRITES), /* pextr */
    [0x19] = IS(VECTOR, WRITES),            /* vextractf128 */
    [0x1d] = IS(FLOAT, WRITES),             /* vcvtps2ph */
    [0x39] = IS(VECTOR, WRITES),
    RANGE(0x40, 0x41) = IS(FLOAT, READS), /* dp */
    [0xf0] = IS(LOGIC, READS),            /* rorx */
};

/* ---- opcodes that ModRM's reg field or a prefix splits ---- */

static struct entry group_1(const struct opcode *opcode)
{
    static const struct entry by_field[8] = {
        IS(ARITHMETIC, CHANGES), IS(LOGIC, CHANGES),    IS(ARITHMETIC, CHANGES),
        IS(ARITHMETIC, CHANGES), IS(LOGIC, CHANGES),    IS(ARITHMETIC, CHANGES),
        IS(LOGIC, CHANGES),      IS(ARITHMETIC, READS),
    };

    return by_field[opcode_field(opcode)];
}

static struct entry group_3(const struct opcode *opcode)
{
    static const struct entry by_field[8] = {
        IS(LOGIC, READS),    IS(LOGIC, READS),    IS(LOGIC, CHANGES),  IS(ARITHMETIC, CHANGES),
        IS(MULTIPLY, READS), IS(MULTIPLY, READS), IS(MULTIPLY, READS), IS(MULTIPLY, READS),
    };

    return by_field[opcode_field(opcode)];
}

/* Calls and pushes store also where their operand is a register. */
static struct entry group_5(const struct opcode *opcode)
{
    static const struct entry by_field[8] = {
        IS(ARITHMETIC, CHANGES), IS(ARITHMETIC, CHANGES), IS(CALL, STORES), IS(CALL, BOTH),
        IS(JUMP, READS),         IS(JUMP, READS),         IS(MOVE, STORES), IS(OTHER, NONE),
    };
    struct entry entry = by_field[opcode_field(opcode)];

    if (entry.access == STORES && opcode_names_memory(opcode))
        entry.access = BOTH;
    return entry;
}

/* One bit per reg field with which 0xd8 to 0xdf store. */
static struct entry x87(const struct opcode *opcode)
{
    static const uint8_t stores[8] = {0, 0xcc, 0, 0x8e, 0, 0xce, 0, 0xce};
    bool is_store = stores[opcode->byte & 7] >> opcode_field(opcode) & 1;

    return (struct entry)IS(FLOAT, is_store ? WRITES : READS);
}

static struct entry split_one_byte(const struct opcode *opcode)
{
    switch (opcode->byte) {
    case 0x80:
    case 0x81:
    case 0x83:
        return group_1(opcode);
    case 0x8f:
        return (struct entry)IS(MOVE, opcode_names_memory(opcode) ? BOTH : LOADS);
    case 0x90: /* xchg %rax,%r8 */
        return opcode->extended ? (struct entry)IS(MOVE, NONE) : one_byte[0x90];
    case 0xf6:
    case 0xf7:
        return group_3(opcode);
    case 0xff:
        return group_5(opcode);
    default:
        return opcode->byte >= 0xd8 && opcode->byte <= 0xdf ? x87(opcode) : one_byte[opcode->byte];
    }
}

/* fxsave, fxrstor, ldmxcsr, stmxcsr, xsave, xrstor, xsaveopt, clflush; fences are no memory. */
static struct entry group_15(const struct opcode *opcode)
{
    static const uint8_t by_field[8] = {WRITES, READS, READS, WRITES, WRITES, READS, WRITES, NONE};

    return (struct entry){KIND_SYSTEM, by_field[opcode_field(opcode)]};
}

static struct entry split_0f(const struct opcode *opcode)
{
    switch (opcode->byte) {
    case 0x7e: /* movd to the operand, but with F3 movq from it */
        return (struct entry)IS(VECTOR, opcode->mandatory == 0xf3 ? READS : WRITES);
    case 0xae:
        return group_15(opcode);
    case 0xba: /* bt, then those that change */
        return (struct entry)IS(LOGIC, opcode_field(opcode) == 4 ? READS : CHANGES);
    case 0xc7: /* cmpxchg8b; then states, and random numbers into registers */
        if (opcode_field(opcode) == 1)
            return (struct entry)IS(ARITHMETIC, CHANGES);
        return after_0f[0xc7];
    default:
        return after_0f[opcode->byte];
    }
}

/* Opcodes that these maps do not list work on vectors. */
static struct entry listed_or_vector(const struct entry *table, const struct opcode *opcode)
{
    struct entry entry = table[opcode->byte];

    return entry.class != KIND_OTHER ? entry : (struct entry)IS(VECTOR, READS);
}

static struct entry split_0f38(const struct opcode *opcode)
{
    if (opcode->mandatory == 0xf2 && !opcode->is_vex &&
        (opcode->byte == 0xf0 || opcode->byte == 0xf1)) /* crc32 */
        return (struct entry)IS(ARITHMETIC, READS);
    if (opcode->byte == 0xf6 && opcode->is_vex) /* mulx */
        return (struct entry)IS(MULTIPLY, READS);
    return listed_or_vector(after_0f38, opcode);
}

static struct entry look_up_kind(const struct opcode *opcode)
{
    switch (opcode->map) {
    case OPCODE_ONE_BYTE:
        return split_one_byte(opcode);
    case OPCODE_0F:
        return split_0f(opcode);
    case OPCODE_0F38:
        return split_0f38(opcode);
    case OPCODE_0F3A:
        return listed_or_vector(after_0f3a, opcode);
    case OPCODE_UNKNOWN:
        break;
    }
    return (struct entry)IS(OTHER, NONE);
}

static enum kind_memory memory_of(enum access access, bool names_memory)
{
    switch (access) {
    case NONE:
        break;
    case LOADS:
        return KIND_LOAD;
    case STORES:
        return KIND_STORE;
    case BOTH:
        return KIND_LOAD_AND_STORE;
    case READS:
        return names_memory ? KIND_LOAD : KIND_NO_MEMORY;
    case WRITES:
        return names_memory ? KIND_STORE : KIND_NO_MEMORY;
    case CHANGES:
        return names_memory ? KIND_LOAD_AND_STORE : KIND_NO_MEMORY;
    }
    return KIND_NO_MEMORY;
}

struct kind kind_of(const struct opcode *opcode)
{
    struct entry entry = look_up_kind(opcode);

    return (struct kind){
        .class = (enum kind_class)entry.class,
        .memory = memory_of((enum access)entry.access, opcode_names_memory(opcode)),
    };
}
