/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OPTION_SIMILAR_H
#define GASPIPE_BASE_OPTION_SIMILAR_H

#include <stddef.h>

/*
 * "did you mean ...?": the name closest to a word that is none of the names. Begin with
 * {.word = WORD}, try each name, and ask for the hint.
 */
struct similar {
    const char *word;
    char best[64];   /* "": no name is close */
    size_t distance; /* of best */
    char hint[128];
};

/*
 * A name is close if it begins with the word, or if few letters have to be changed, inserted,
 * deleted or swapped: one for each three letters of the word. The first of equally close names
 * stays.
 */
void similar_try(struct similar *similar, const char *name);

/* "; did you mean --NAME?" if `before` is "--"; "" if no name is close. */
const char *similar_hint(struct similar *similar, const char *before);

#endif
