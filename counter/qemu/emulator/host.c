/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/emulator/host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter/qemu/guest/present_program.h"

/* QEMU reads it when it has loaded the file, and refuses what it does not know. */
int qemu_plugin_version = 1;

/* Up to version 2 qemu_plugin_insn_data() gives where the bytes are, from 3 on it copies them. */
typedef const void *point_function(const struct qemu_plugin_insn *insn);
typedef size_t copy_function(const struct qemu_plugin_insn *insn, void *to, size_t room);
static point_function *point_to_bytes;
static copy_function *copy_bytes;

static struct qemu_plugin_u64 added;

__attribute__((constructor)) static void choose_version(void)
{
    if (qemu_plugin_scoreboard_new != NULL)
        qemu_plugin_version = 2;
}

bool host_learn(const struct qemu_plugin_info *info)
{
    void *bytes_function = dlsym(RTLD_DEFAULT, "qemu_plugin_insn_data");

    if (bytes_function == NULL)
        return false;
    if (info->version.cur >= 3)
        copy_bytes = (copy_function *)bytes_function;
    else
        point_to_bytes = (point_function *)bytes_function;
    if (!host_has_scoreboards())
        return true;
    added.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    return added.score != NULL;
}

bool host_has_scoreboards(void)
{
    return qemu_plugin_scoreboard_new != NULL;
}

bool host_shows_iterations(void)
{
    return !host_has_scoreboards();
}

bool host_program(char path[PATH_MAX])
{
    char *told = qemu_plugin_path_to_binary != NULL ? qemu_plugin_path_to_binary() : NULL;
    bool known =
        told != NULL ? snprintf(path, PATH_MAX, "%s", told) < PATH_MAX : present_program(path);

    free(told);
    return known;
}

size_t host_instruction_bytes(const struct qemu_plugin_insn *insn, uint8_t *bytes, size_t room)
{
    size_t size = qemu_plugin_insn_size(insn);

    if (size > room)
        size = room;
    if (copy_bytes != NULL)
        return copy_bytes(insn, bytes, size);
    memcpy(bytes, point_to_bytes(insn), size);
    return size;
}

void host_add_before(struct qemu_plugin_insn *insn, uint64_t number)
{
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, added,
                                                        number);
}

uint64_t host_added(unsigned thread)
{
    return qemu_plugin_u64_get(added, thread);
}
