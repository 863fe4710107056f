/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/profile_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "supervisor/profile/cost_tree.h"

#define PACKED ".zst"

int profile_file_open(struct profile_file *file, const char *path, enum profile_format format,
                      struct error *error)
{
    const size_t length = strlen(path);

    *file = (struct profile_file){.format = format};
    if (length >= strlen(PACKED) && strcmp(path + length - strlen(PACKED), PACKED) == 0 &&
        (file->packer = packer_new(error)) == NULL)
        return -1;
    return output_file_open_growing(&file->file, path, "the profile", error);
}

/* ---- JSON lines ---- */

void profile_file_put_text(struct buf *line, const char *name, const char *text)
{
    buf_printf(line, ",\"%s\":", name);
    if (text == NULL)
        buf_append_string(line, "null");
    else
        json_text_string(line, text, strlen(text));
}

void profile_file_put_count(struct buf *line, const char *name, int64_t number, bool known)
{
    if (known)
        buf_printf(line, ",\"%s\":%" PRId64, name, number);
    else
        buf_printf(line, ",\"%s\":null", name);
}

void profile_file_put_head(struct buf *line, const char *kind,
                           const struct profiled_delivery *delivery)
{
    buf_printf(line, "{\"kind\":\"%s\"", kind);
    profile_file_put_text(line, "vatID", delivery->vat_id);
    profile_file_put_text(line, "vat", delivery->vat);
    profile_file_put_text(line, "method", delivery->method);
    profile_file_put_count(line, "crankNum", delivery->crank_num,
                           delivery->crank_num != PROFILE_NO_CRANK);
    profile_file_put_count(line, "deliveryNum", delivery->delivery_num, true);
}

static void put_function(struct buf *lines, const struct cost_function *function,
                         const struct profiled_delivery *delivery)
{
    profile_file_put_head(lines, "function", delivery);
    profile_file_put_text(lines, "function", function->name);
    profile_file_put_text(lines, "file", function->file);
    profile_file_put_count(lines, "line", function->line, function->file != NULL);
    profile_file_put_count(lines, "calls", function->calls, true);
    profile_file_put_count(lines, "self", function->self.computrons, true);
    profile_file_put_count(lines, "total", function->total.computrons, true);
    profile_file_put_count(lines, "selfInstructions", function->self.instructions,
                           delivery->counted);
    profile_file_put_count(lines, "totalInstructions", function->total.instructions,
                           delivery->counted);
    buf_append_string(lines, "}\n");
}

static void put_line(struct buf *lines, const struct cost_line *line,
                     const struct profiled_delivery *delivery)
{
    profile_file_put_head(lines, "line", delivery);
    profile_file_put_text(lines, "file", line->file);
    profile_file_put_count(lines, "line", line->line, line->file != NULL);
    profile_file_put_count(lines, "self", line->self.computrons, true);
    profile_file_put_count(lines, "selfInstructions", line->self.instructions, delivery->counted);
    buf_append_string(lines, "}\n");
}

void profile_file_put_function(struct buf *line, const char *name, const char *file, int64_t number)
{
    buf_append_byte(line, '[');
    json_text_string(line, name, strlen(name));
    if (file == NULL) {
        buf_append_string(line, ",null,null]");
        return;
    }
    buf_append_byte(line, ',');
    json_text_string(line, file, strlen(file));
    if (number > 0)
        buf_printf(line, ",%" PRId64 "]", number);
    else
        buf_append_string(line, ",null]");
}

void profile_file_put_node(struct buf *line, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_append_byte(line, i == 0 ? '[' : ',');
        if (numbers[i] == PROFILE_NO_NUMBER)
            buf_append_string(line, "null");
        else
            buf_printf(line, "%" PRId64, numbers[i]);
    }
    buf_append_byte(line, ']');
}

static void put_tree(struct buf *line, const struct cost_tree *tree,
                     const struct profiled_delivery *delivery)
{
    profile_file_put_head(line, "tree", delivery);
    buf_append_string(line, ",\"functions\":[");
    for (size_t i = 0; i < tree->function_count; i++) {
        if (i > 0)
            buf_append_byte(line, ',');
        profile_file_put_function(line, tree->functions[i].name, tree->functions[i].file,
                                  tree->functions[i].line);
    }
    buf_append_string(line, "],\"nodes\":[");
    for (size_t i = 0; i < tree->node_count; i++) {
        const struct cost_node *node = &tree->nodes[i];

        if (i > 0)
            buf_append_byte(line, ',');
        profile_file_put_node(line,
                              (const int64_t[5]){
                                  i > 0 ? (int64_t)node->caller : PROFILE_NO_NUMBER,
                                  (int64_t)node->function,
                                  node->calls,
                                  node->self.computrons,
                                  delivery->counted ? node->self.instructions : PROFILE_NO_NUMBER,
                              },
                              5);
    }
    buf_append_string(line, "]}\n");
}

static void put_json(struct buf *lines, const struct cost_tree *tree,
                     const struct profiled_delivery *delivery)
{
    for (size_t i = 0; i < tree->function_count; i++)
        put_function(lines, &tree->functions[i], delivery);
    for (size_t i = 0; i < tree->line_count; i++)
        put_line(lines, &tree->lines[i], delivery);
    put_tree(lines, tree, delivery);
}

/* ---- folded stacks ---- */

/* In a stack, `;` is between frames and the end of the line is the end. */
void profile_file_put_frame(struct buf *line, const char *text)
{
    for (; *text != '\0'; text++)
        buf_append_byte(line, *text == ';' || (unsigned char)*text < ' ' ? '_' : *text);
}

static void put_stack(struct buf *line, const struct cost_tree *tree, size_t *chain, size_t index)
{
    size_t depth = 0;

    for (; index > 0; index = tree->nodes[index].caller)
        chain[depth++] = tree->nodes[index].function;
    while (depth > 0) {
        const struct cost_function *function = &tree->functions[chain[--depth]];

        buf_append_byte(line, ';');
        profile_file_put_frame(line, function->name);
        if (function->file == NULL)
            continue;
        buf_append_string(line, " (");
        profile_file_put_frame(line, function->file);
        buf_printf(line, ":%" PRId64 ")", function->line);
    }
}

static int put_folded(struct buf *lines, const struct cost_tree *tree,
                      const struct profiled_delivery *delivery, struct error *error)
{
    size_t *chain = calloc(tree->node_count, sizeof *chain);

    if (chain == NULL)
        return error_memory(error, "a profile");
    for (size_t i = 0; i < tree->node_count; i++) {
        if (tree->nodes[i].self.computrons <= 0)
            continue;
        profile_file_put_frame(lines, delivery->vat);
        buf_append_byte(lines, ';');
        profile_file_put_frame(lines, delivery->method);
        put_stack(lines, tree, chain, i);
        buf_printf(lines, " %" PRId64 "\n", tree->nodes[i].self.computrons);
    }
    free(chain);
    return 0;
}

/* ---- deliveries ---- */

int profile_file_add(struct profile_file *file, const struct profiled_delivery *delivery,
                     struct error *error)
{
    struct cost_tree tree;
    int result = 0;

    if (cost_tree_read(&tree, delivery->profile,
                       delivery->counted ? (int64_t)delivery->instructions : -1, error) != 0)
        return -1;
    if (file->format == PROFILE_JSON)
        put_json(&file->gathered, &tree, delivery);
    else
        result = put_folded(&file->gathered, &tree, delivery, error);
    cost_tree_free(&tree);
    if (result == 0 && buf_failed(&file->gathered))
        return error_memory(error, "a profile");
    return result;
}

void profile_file_keep(struct profile_file *file)
{
    file->kept = file->gathered.length;
}

void profile_file_undo(struct profile_file *file)
{
    file->gathered.length = file->kept;
}

/* Compressed, if that is wanted. */
static int write_gathered(struct profile_file *file, enum packer_end end, struct error *error)
{
    struct buf packed = {0};
    int result;

    if (file->packer == NULL || buf_failed(&file->gathered))
        return output_file_write(&file->file, &file->gathered, error);
    result =
        packer_add(file->packer, file->gathered.data, file->gathered.length, end, &packed, error);
    buf_clear(&file->gathered);
    if (result == 0)
        result = output_file_write(&file->file, &packed, error);
    buf_free(&packed);
    return result;
}

int profile_file_flush(struct profile_file *file, struct error *error)
{
    file->kept = 0;
    return file->gathered.length > 0 || buf_failed(&file->gathered)
               ? write_gathered(file, PACKER_FLUSH, error)
               : 0;
}

void profile_file_drop(struct profile_file *file)
{
    buf_clear(&file->gathered);
    file->kept = 0;
}

int profile_file_close(struct profile_file *file, struct error *error)
{
    int result = 0;

    if (file->file.path != NULL) {
        result = write_gathered(file, PACKER_FINISH, error) == 0
                     ? output_file_finish(&file->file, error)
                     : -1;
        output_file_discard(&file->file);
    }
    packer_free(file->packer);
    file->packer = NULL;
    buf_free(&file->gathered);
    return result;
}
