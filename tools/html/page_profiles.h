/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_HTML_PAGE_PROFILES_H
#define GASPIPE_TOOLS_HTML_PAGE_PROFILES_H

#include <stdint.h>

#include "base/error.h"
#include "tools/html/page_file.h"

/* The calls of deliveries, out of gaspipe's profiles (docs/profile-format.md, "tree"). */
struct page_profiles {
    uint64_t trees;  /* put on the page */
    uint64_t hidden; /* for which there was no more room */
    uint64_t bytes;  /* of those on the page */
};

/*
 * Puts the trees of a profile on the page, as long as they take no more than `limit` bytes with
 * those before. -1 with ERROR_INPUT (file and line named) for what is no profile, or ERROR_SYSTEM.
 */
int page_profiles_add(struct page_profiles *profiles, struct page_file *file, const char *path,
                      uint64_t limit, struct error *error);

#endif
