/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/paths/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/paths/places.h"

/* Linux's attributes up to ABI 6, and the rights that came after Debian 12's header
 * (include/uapi/linux/landlock.h of Linux 6.12). */
struct attributes {
    uint64_t handled_files;
    uint64_t handled_network;
    uint64_t scoped;
};

enum {
    FILE_RIGHTS_OF_ABI_1 = 13, /* bits 0 to 12 */
    FILE_TRUNCATE = 14,        /* the bit; ABI 3 */
    FILE_IOCTL = 15,           /* the bit; ABI 5 */
    TCP_BIND_AND_CONNECT = 3,
    SCOPE_SIGNALS_AND_ABSTRACT_SOCKETS = 3,
};

static const uint64_t read_folder = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t execute = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
static const uint64_t write_file = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
static const uint64_t rights_to_a_file =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE;

static struct attributes attributes_for(int abi)
{
    struct attributes all = {.handled_files = (UINT64_C(1) << FILE_RIGHTS_OF_ABI_1) - 1};

    if (abi >= 2)
        all.handled_files |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= 3)
        all.handled_files |= UINT64_C(1) << FILE_TRUNCATE;
    if (abi >= 4)
        all.handled_network = TCP_BIND_AND_CONNECT;
    if (abi >= 5)
        all.handled_files |= UINT64_C(1) << FILE_IOCTL;
    if (abi >= 6)
        all.scoped = SCOPE_SIGNALS_AND_ABSTRACT_SOCKETS;
    return all;
}

/* A kernel knows the attributes of its own ABI and refuses longer ones. */
static size_t attributes_size(int abi)
{
    if (abi < 4)
        return offsetof(struct attributes, handled_network);
    return abi < 6 ? offsetof(struct attributes, scoped) : sizeof(struct attributes);
}

/* A path that is not there needs no rule. */
static int allow(int ruleset, const char *path, uint64_t rights, struct error *error)
{
    const int fd = open(path, O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    struct stat status;
    int result = 0;

    if (fd < 0)
        return 0;
    if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed_access &= rights_to_a_file;
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
        result = error_system(error, errno, "cannot let the worker reach %s", path);
    close(fd);
    return result;
}

static uint64_t rights_for(enum sandbox_use use)
{
    switch (use) {
    case SANDBOX_EXECUTE:
        return execute;
    case SANDBOX_WRITE:
        return write_file;
    case SANDBOX_READ:
        break;
    }
    return read_folder;
}

static int allow_all(int ruleset, const char *const *programs, struct error *error)
{
    for (const struct sandbox_place *place = sandbox_places; place->path != NULL; place++)
        if (allow(ruleset, place->path, rights_for(place->use), error) != 0)
            return -1;
    for (; *programs != NULL; programs++)
        if (allow(ruleset, *programs, execute, error) != 0)
            return -1;
    return 0;
}

int sandbox_restrict_paths(const char *const *programs, struct error *error)
{
    const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct attributes attributes;
    int ruleset, result;

    if (abi <= 0)
        return 0;
    attributes = attributes_for((int)abi);
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, attributes_size((int)abi), 0);
    if (ruleset < 0)
        return error_system(error, errno, "cannot make a Landlock ruleset");
    result = allow_all(ruleset, programs, error);
    if (result == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        result = error_system(error, errno, "cannot enter the Landlock ruleset");
    close(ruleset);
    return result == 0 ? (int)abi : -1;
}
