/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_INSPECT_H
#define GASPIPE_STORE_INTEGRITY_INSPECT_H

#include "base/error.h"

struct store;

/*
 * What is checked of a store when it is opened: that its last commits are there; and unless its
 * file is as it was left, all its pages. A page that does not match may come from another program
 * that had the file open, or from a checkpoint that a power failure cut off: then all rows are
 * checked, and if these are whole, the page gets the checksum that it should have, with a line on
 * stderr. From then on each page is checked when it is read.
 *
 * 0, or -1 with ERROR_SYSTEM for a store that is damaged.
 */

/* For the one that holds the lock on the folder. Opens the mark of the last commit. */
int inspect_store(struct store *store, struct error *error);

/* For a reader, which changes nothing: while a run has the store, pages are only checked as they
 * are read. */
int inspect_reader(struct store *store, const char *folder, struct error *error);

#endif
