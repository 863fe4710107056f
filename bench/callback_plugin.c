/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A QEMU plugin that counts as NEAR's does, with a function call and an atomic
 * addition for each instruction. bench/counter compares with it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "counter/qemu/emulator/qemu_plugin_api.h"

int qemu_plugin_version = 1;

static uint64_t instructions;

static void executed(unsigned thread, void *unused)
{
    (void)thread, (void)unused;
    __atomic_fetch_add(&instructions, 1, __ATOMIC_SEQ_CST);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);

    (void)id;
    for (size_t i = 0; i < count; i++)
        qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i), executed,
                                               QEMU_PLUGIN_CB_NO_REGS, NULL);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_plugin_info *info, int argc,
                        char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
