/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/contract_file.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/json/scan.h"
#include "base/number.h"

/* Bytes; with its JSON it must fit in a frame. */
enum { CONTRACT_SIZE_MAX = 32 << 20, SHA512_SIZE = 64 };

long contract_file_lines(const struct buf *bundle)
{
    json_t *json = json_value_read(bundle->data, bundle->length, JSON_ALLOW_NUL, NULL);
    const json_t *source = json_object_get(json, "source");
    const char *text = json_string_value(source);
    const size_t length = json_string_length(source);
    long lines = length > 0 && text[length - 1] != '\n';

    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    json_decref(json);
    return lines;
}

static const char *trim_line(const char *from, const char **to)
{
    static const char blanks[] = " \t\r";

    while (from < *to && strchr(blanks, *from) != NULL)
        from++;
    while (*to > from && strchr(blanks, (*to)[-1]) != NULL)
        --*to;
    return from;
}

void contract_file_line(const struct buf *bundle, long number, struct buf *line)
{
    json_t *json = json_value_read(bundle->data, bundle->length, JSON_ALLOW_NUL, NULL);
    const json_t *source = json_object_get(json, "source");
    const char *text = json_string_value(source);
    const char *end = text != NULL ? text + json_string_length(source) : NULL;

    for (long at = 1; text != NULL; at++) {
        const char *next = memchr(text, '\n', (size_t)(end - text));
        const char *stop = next != NULL ? next : end;

        if (at == number) {
            text = trim_line(text, &stop);
            buf_append(line, text, (size_t)(stop - text));
            break;
        }
        text = next != NULL ? next + 1 : NULL;
    }
    json_decref(json);
}

long contract_file_place(const char *stack)
{
    static const char before[] = "(contract.js:";
    const char *found = stack != NULL ? strstr(stack, before) : NULL;
    uint64_t number;

    if (found == NULL)
        return 0;
    found += strlen(before);
    return number_take(&found, &number) && *found == ')' && number <= LONG_MAX ? (long)number : 0;
}

static int make_plain(struct contract_file *contract, const char *path, const struct buf *source,
                      struct error *error)
{
    json_t *text = json_stringn(source->data != NULL ? source->data : "", source->length);
    bool is_text = text != NULL;

    json_decref(text);
    if (!is_text)
        return error_set(error, ERROR_INPUT, "%s: is not UTF-8 text", path);
    contract->is_plain = true;
    buf_append_string(&contract->bundle, "{\"moduleFormat\":\"gaspipePlain\",\"source\":");
    json_text_string(&contract->bundle, source->data, source->length);
    buf_append_byte(&contract->bundle, '}');
    return buf_failed(&contract->bundle) ? error_memory(error, "a contract") : 0;
}

/* A module of WebAssembly, by its first bytes. */
static bool is_wasm(const struct buf *file)
{
    return file->length >= 4 && memcmp(file->data, "\0asm", 4) == 0;
}

/* The worker says what is wrong with one. */
static bool is_elf(const struct buf *file)
{
    return file->length >= 4 && memcmp(file->data, "\177ELF", 4) == 0;
}

/* The text format of WebAssembly, after spaces and comments of a line. */
static bool is_wasm_text(const char *text)
{
    text += strspn(text, " \t\r\n");
    while (strncmp(text, ";;", 2) == 0) {
        text += strcspn(text, "\n");
        text += strspn(text, " \t\r\n");
    }
    return strncmp(text, "(module", 7) == 0;
}

static int make_binary(struct contract_file *contract, const char *format, const struct buf *module,
                       struct error *error)
{
    unsigned char *text = malloc(module->length / 3 * 4 + 5);

    if (text == NULL)
        return error_memory(error, "a contract");
    EVP_EncodeBlock(text, (const unsigned char *)module->data, (int)module->length);
    contract->is_plain = true;
    buf_printf(&contract->bundle, "{\"moduleFormat\":\"%s\",\"source\":\"", format);
    buf_append_string(&contract->bundle, (const char *)text);
    buf_append_string(&contract->bundle, "\"}");
    free(text);
    return buf_failed(&contract->bundle) ? error_memory(error, "a contract") : 0;
}

static bool is_blank_byte(const struct buf *text)
{
    return text->length == 0 || strspn(text->data, " \t\r\n") == text->length;
}

/* The bundle in a text that is JSON with a moduleFormat; NULL: it is no such text. */
static json_t *parse_bundle(const struct buf *text)
{
    json_t *json = NULL;

    if (text->length > 0 && text->data[strspn(text->data, " \t\r\n")] == '{')
        json = json_value_read(text->data, text->length, JSON_ALLOW_NUL, NULL);
    if (json_is_string(json_object_get(json, "moduleFormat")))
        return json;
    json_decref(json);
    return NULL;
}

/* In JavaScript the mark is a blank; before a bundle it would make a plain contract of it. */
static bool is_bundle_after_bom(const struct buf *text)
{
    const size_t mark = sizeof SCAN_BOM - 1;
    struct buf bundle = {0};
    json_t *json;

    if (!scan_has_bom(text->data, text->length))
        return false;
    bundle.data = text->data + mark;
    bundle.length = text->length - mark;
    json = parse_bundle(&bundle);
    json_decref(json);
    return json != NULL;
}

/* On one line: it goes into the slog. */
static int take_json_bundle(struct contract_file *contract, const json_t *bundle,
                            struct error *error)
{
    return json_value_write(&contract->bundle, bundle) == 0 ? 0 : error_memory(error, "a bundle");
}

/* Without one that it brings along, the hash is of all its text. */
static int make_id(struct contract_file *contract, const json_t *bundle, struct error *error)
{
    const char *own = json_string_value(json_object_get(bundle, "endoZipBase64Sha512"));
    unsigned char hash[SHA512_SIZE];

    if (own != NULL && strlen(own) == 2 * sizeof hash &&
        strspn(own, "0123456789abcdef") == 2 * sizeof hash) {
        snprintf(contract->id, sizeof contract->id, "b1-%s", own);
        return 0;
    }
    if (EVP_Digest(contract->bundle.data, contract->bundle.length, hash, NULL, EVP_sha512(),
                   NULL) != 1)
        return error_memory(error, "a hash");
    memcpy(contract->id, "b0-", 3);
    hex_write(contract->id + 3, hash, sizeof hash);
    return 0;
}

int contract_file_read(struct contract_file *contract, const char *path, struct error *error)
{
    struct buf text = {0};
    json_t *bundle = NULL;
    int result = io_refuse_fifo(path, error);

    if (result == 0)
        result = io_read_file(path, CONTRACT_SIZE_MAX, &text, error);
    if (result == 0 && buf_string(&text) == NULL)
        result = error_memory(error, "a contract");
    if (result == 0 && is_blank_byte(&text))
        result =
            error_set(error, ERROR_INPUT, "%s: is empty; a contract or a bundle is needed", path);
    if (result == 0 && is_wasm_text(text.data))
        result = error_set(error, ERROR_INPUT,
                           "%s: is WebAssembly in text format; assemble it first: wat2wasm %s",
                           path, path);
    if (result == 0)
        bundle = parse_bundle(&text);
    if (result == 0 && bundle == NULL && text.length > 0 && is_bundle_after_bom(&text))
        result = error_set(error, ERROR_INPUT, "%s: " SCAN_BOM_WHY, path);
    if (result == 0) {
        contract->is_wasm = is_wasm(&text);
        contract->is_native = is_elf(&text);
    }
    if (result == 0 && contract->is_wasm)
        result = make_binary(contract, "gaspipeWasm", &text, error);
    else if (result == 0 && contract->is_native)
        result = make_binary(contract, "gaspipeNative", &text, error);
    else if (result == 0)
        result = bundle != NULL ? take_json_bundle(contract, bundle, error)
                                : make_plain(contract, path, &text, error);
    if (result == 0 && buf_reserve(&contract->bundle, SCAN_PADDING) != 0)
        result = error_memory(error, "a contract");
    if (result == 0) {
        memset(contract->bundle.data + contract->bundle.length, 0, SCAN_PADDING);
        result = make_id(contract, bundle, error);
    }
    json_decref(bundle);
    buf_free(&text);
    return result;
}

/* ---- what a line calls ---- */

static bool text_ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '$' || (byte & 0x80) != 0;
}

/* Words that a parenthesis follows without being called. */
static bool is_keyword(const char *name, size_t length)
{
    static const char *const keywords[] = {
        "if",       "for", "while", "switch", "catch",  "return", "typeof", "await", "void",
        "function", "of",  "in",    "case",   "delete", "throw",  "yield",  "async", "new"};

    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (strlen(keywords[i]) == length && memcmp(keywords[i], name, length) == 0)
            return true;
    }
    return false;
}

/* Returns the end of the name that begins here: "a.b", "a?.b", "#a". */
static const char *skip_name(const char *at)
{
    while (is_name_byte(*at) || *at == '.' || (*at == '?' && at[1] == '.'))
        at++;
    return at;
}

/* Returns the end of a quoted text, or of the line. */
static const char *skip_quoted(const char *at)
{
    const char quote = *at++;

    while (*at != '\0' && *at != quote)
        at += *at == '\\' && at[1] != '\0' ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

static bool has_callee_name(const struct buf *names, size_t start, const char *name, size_t length)
{
    for (size_t at = start; at + length <= names->length; at++) {
        if (memcmp(names->data + at, name, length) == 0 &&
            (at == start || names->data[at - 1] == ' ') &&
            (at + length == names->length || names->data[at + length] == ' '))
            return true;
    }
    return false;
}

static void callee_add(struct buf *callee, size_t start, const char *name, size_t length)
{
    if (is_keyword(name, length) || has_callee_name(callee, start, name, length))
        return;
    if (callee->length > start)
        buf_append_string(callee, " or ");
    buf_append(callee, name, length);
}

/* A name followed by a parenthesis, unless it is being defined. */
static const char *take_called_name(const char *at, bool defined, struct buf *callee, size_t start)
{
    const char *end = skip_name(at), *next = end;

    while (*next == ' ')
        next++;
    if (*next == '(' && !defined)
        callee_add(callee, start, at, (size_t)(end - at));
    return end;
}

bool callee_find(const char *problem, const char *line, struct buf *callee)
{
    const size_t start = callee->length;
    bool defined = false;

    if (problem == NULL || line == NULL ||
        (!text_ends_with(problem, ": no function") && !text_ends_with(problem, ": no constructor")))
        return false;
    for (const char *at = line; *at != '\0' && strncmp(at, "//", 2) != 0;) {
        if (*at == '"' || *at == '\'' || *at == '`') {
            at = skip_quoted(at);
        } else if (is_name_byte(*at)) {
            const char *name = at;

            at = take_called_name(at, defined, callee, start);
            defined = at - name == 8 && memcmp(name, "function", 8) == 0;
        } else {
            at++;
        }
    }
    return !buf_failed(callee) && callee->length > start;
}
