/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_EMULATOR_QEMU_PLUGIN_API_H
#define GASPIPE_COUNTER_QEMU_EMULATOR_QEMU_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The part of QEMU's plugin API, versions 1 to 5, that the counter uses. Debian
 * ships QEMU's plugin support without a header, so the binary interface is
 * declared here, as docs/devel/tcg-plugins.rst of QEMU 7.2 and of 10 describe it.
 * All functions live in the qemu-x86_64 program itself.
 */

/* For functions that only some versions have; the address is NULL in the others. */
#define QEMU_PLUGIN_MAY_LACK __attribute__((weak))

typedef uint64_t qemu_plugin_id_t;

/* Valid only inside a translation callback. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;

struct qemu_plugin_info {
    const char *target_name; /* "x86_64" */
    struct {
        int min;
        int cur;
    } version; /* of the plugin API */
    bool system_emulation;
    struct {
        int smp_vcpus;
        int max_vcpus;
    } system; /* meaningless in user mode */
};

enum qemu_plugin_cb_flags {
    QEMU_PLUGIN_CB_NO_REGS,
    QEMU_PLUGIN_CB_R_REGS,
    QEMU_PLUGIN_CB_RW_REGS,
};

enum qemu_plugin_mem_rw {
    QEMU_PLUGIN_MEM_R = 1,
    QEMU_PLUGIN_MEM_W,
    QEMU_PLUGIN_MEM_RW,
};

/* Describes an access; opaque. */
typedef uint32_t qemu_plugin_meminfo_t;
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

/* A word for each vCPU, from version 2 on. */
struct qemu_plugin_scoreboard;
struct qemu_plugin_u64 {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
};
QEMU_PLUGIN_MAY_LACK struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
QEMU_PLUGIN_MAY_LACK uint64_t qemu_plugin_u64_get(struct qemu_plugin_u64 entry,
                                                  unsigned vcpu_index);

enum qemu_plugin_op {
    QEMU_PLUGIN_INLINE_ADD_U64,
};

typedef void (*qemu_plugin_simple_cb_t)(qemu_plugin_id_t id);
typedef void (*qemu_plugin_vcpu_simple_cb_t)(qemu_plugin_id_t id, unsigned vcpu_index);
typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned vcpu_index, void *userdata);
typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
/* Called after a memory access of the guest succeeded. */
typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned vcpu_index, qemu_plugin_meminfo_t info,
                                          uint64_t vaddr, void *userdata);
/* Called before QEMU performs the system call; num is the guest's number. */
typedef void (*qemu_plugin_vcpu_syscall_cb_t)(qemu_plugin_id_t id, unsigned vcpu_index, int64_t num,
                                              uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                                              uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
/* Called after it; ret is -errno on failure. Not called for exit, exit_group, a successful
 * execve. */
typedef void (*qemu_plugin_vcpu_syscall_ret_cb_t)(qemu_plugin_id_t id, unsigned vcpu_index,
                                                  int64_t num, int64_t ret);

/* Waits until no thread runs translated code, removes all callbacks and discards the code. Then
 * calls cb, which may register callbacks again. */
void qemu_plugin_reset(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t cb);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_syscall_cb_t cb);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
                                              qemu_plugin_vcpu_syscall_ret_cb_t cb);

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            qemu_plugin_vcpu_udata_cb_t cb,
                                            enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void *userdata);
/* Adds imm to *ptr before each execution of the instruction, not atomically. Version 1 only. */
QEMU_PLUGIN_MAY_LACK void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
                                                                     enum qemu_plugin_op op,
                                                                     void *ptr, uint64_t imm);
/* Adds to the vCPU's own word. Since version 2. */
QEMU_PLUGIN_MAY_LACK void
qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn,
                                                    enum qemu_plugin_op op,
                                                    struct qemu_plugin_u64 entry, uint64_t imm);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
/* The address of the instruction's bytes in QEMU's own memory. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);

/* Returns the program's path as QEMU got it, for the caller to free. Missing in 10.0. */
QEMU_PLUGIN_MAY_LACK char *qemu_plugin_path_to_binary(void);

/* Writes to QEMU's log (stderr, or the file of -D). */
void qemu_plugin_outs(const char *string);

/* Marks the functions that a plugin exports to QEMU. */
#define QEMU_PLUGIN_OFFERED __attribute__((visibility("default")))
extern QEMU_PLUGIN_OFFERED int qemu_plugin_version;
QEMU_PLUGIN_OFFERED int qemu_plugin_install(qemu_plugin_id_t id,
                                            const struct qemu_plugin_info *info, int argc,
                                            char **argv);

#endif
