/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "worker/native/gascontract.h"
#include "worker/near/vat.h"
#include "worker/wasm/module/module.h"

/* ---- turns between contract and host ---- */

#if defined(__SANITIZE_ADDRESS__)
#define TURN_IS_NOTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TURN_IS_NOTED 1
#endif
#endif

/*
 * Does not use swapcontext(3), whose system call would be counted for the contract. The
 * registers that a function must preserve are on the old stack, to which native_turn_outer
 * points.
 */
extern void native_turn_switch(void *top, void (*function)(void *argument), void *argument);
extern _Noreturn void native_turn_back(void);

#ifdef __x86_64__
__asm__(".pushsection .text\n"
        ".type native_turn_switch, @function\n"
        "native_turn_switch:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, native_turn_outer(%rip)\n"
        "    mov %rdi, %rsp\n"
        "    mov %rdx, %rdi\n"
        "    xor %ebp, %ebp\n"
        "    call *%rsi\n"
        ".type native_turn_back, @function\n"
        "native_turn_back:\n"
        "    mov native_turn_outer(%rip), %rsp\n"
        "    cld\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size native_turn_switch, . - native_turn_switch\n"
        ".popsection\n"
        ".pushsection .bss\n"
        ".balign 8\n"
        "native_turn_outer:\n"
        "    .zero 8\n"
        ".popsection\n");

/* The control of floating point, such as the rounding mode. */
static inline uint64_t float_control(void)
{
    return __builtin_ia32_stmxcsr();
}

static inline void float_control_set(uint64_t control)
{
    __builtin_ia32_ldmxcsr((unsigned)control);
}
#else
__asm__(".pushsection .text\n"
        ".type native_turn_switch, %function\n"
        "native_turn_switch:\n"
        "    stp x29, x30, [sp, #-160]!\n"
        "    stp x19, x20, [sp, #16]\n"
        "    stp x21, x22, [sp, #32]\n"
        "    stp x23, x24, [sp, #48]\n"
        "    stp x25, x26, [sp, #64]\n"
        "    stp x27, x28, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    adrp x9, native_turn_outer\n"
        "    mov x10, sp\n"
        "    str x10, [x9, :lo12:native_turn_outer]\n"
        "    mov sp, x0\n"
        "    mov x0, x2\n"
        "    mov x29, xzr\n"
        "    blr x1\n"
        ".type native_turn_back, %function\n"
        "native_turn_back:\n"
        "    adrp x9, native_turn_outer\n"
        "    ldr x10, [x9, :lo12:native_turn_outer]\n"
        "    mov sp, x10\n"
        "    ldp x19, x20, [sp, #16]\n"
        "    ldp x21, x22, [sp, #32]\n"
        "    ldp x23, x24, [sp, #48]\n"
        "    ldp x25, x26, [sp, #64]\n"
        "    ldp x27, x28, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    ldp x29, x30, [sp], #160\n"
        "    ret\n"
        ".size native_turn_switch, . - native_turn_switch\n"
        ".popsection\n"
        ".pushsection .bss\n"
        ".balign 8\n"
        "native_turn_outer:\n"
        "    .zero 8\n"
        ".popsection\n");

/* The control of floating point, such as the rounding mode. */
static inline uint64_t float_control(void)
{
    uint64_t control;

    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

static inline void float_control_set(uint64_t control)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}
#endif

static bool is_left;

/* AddressSanitizer must know the current stack. */
#ifdef TURN_IS_NOTED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

static const void *outer_stack;
static size_t outer_size;

static void note_switch_begin(void **fake, const void *stack, size_t size)
{
    /* An aborted turn left its stack poisoned. */
    ASAN_UNPOISON_MEMORY_REGION(stack, size);
    __sanitizer_start_switch_fiber(fake, stack, size);
}

static void note_switch_inside(void)
{
    __sanitizer_finish_switch_fiber(NULL, &outer_stack, &outer_size);
}

static void note_switch_end(void)
{
    __sanitizer_start_switch_fiber(NULL, outer_stack, outer_size);
}

static void note_switch_outside(void *fake)
{
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}
#else
static void note_switch_begin(void **fake, const void *stack, size_t size)
{
    (void)fake, (void)stack, (void)size;
}

static void note_switch_inside(void)
{
}

static void note_switch_end(void)
{
}

static void note_switch_outside(void *fake)
{
    (void)fake;
}
#endif

struct turn {
    void (*function)(void *argument);
    void *argument;
};

static void begin_turn(void *context)
{
    const struct turn *turn = context;

    note_switch_inside();
    turn->function(turn->argument);
    note_switch_end();
}

bool native_turn(void *stack, size_t size, void (*function)(void *argument), void *argument)
{
    struct turn turn = {function, argument};
    /* The contract may change the rounding mode; the worker needs its own. */
    const uint64_t control = float_control();
    void *fake = NULL;

    is_left = false;
    note_switch_begin(&fake, stack, size);
    native_turn_switch((char *)stack + size, begin_turn, &turn);
    note_switch_outside(fake);
    float_control_set(control);
    return !is_left;
}

void native_turn_leave(void)
{
    is_left = true;
    note_switch_end();
    native_turn_back();
}

/* ---- what a contract calls ---- */

/* NEAR's num_extra_bytes_record: the size of a record besides its key and value. */
enum { RECORD_BYTES = 40 };

static struct {
    const struct near_context *context;
    const struct near_storage *storage;
    bool is_init;
    bool is_lost; /* the pipe to the storage failed */
    bool has_result;
    uint64_t storage_usage;
    unsigned __int128 balance; /* with the deposit, without what went to promises */
    uint64_t log_count, log_bytes;
    struct buf value; /* what the storage returned last */
    struct buf result;
    struct near_receipts receipts;
    uint32_t returned_receipt;
    char error[NEAR_ERROR_SIZE]; /* empty: no error */
} call;

void native_host_begin(const struct near_context *context, const struct near_storage *storage,
                       bool is_init)
{
    native_host_end();
    call.context = context;
    call.storage = storage;
    call.is_init = is_init;
    call.is_lost = call.has_result = false;
    call.storage_usage = context->storage_usage;
    call.balance = context->balance + context->deposit;
    call.log_count = call.log_bytes = 0;
    call.returned_receipt = NEAR_NO_RECEIPT;
    call.error[0] = '\0';
}

void native_host_end(void)
{
    buf_free(&call.value);
    buf_free(&call.result);
    near_receipts_free(&call.receipts);
}

struct near_outcome native_host_outcome(void)
{
    const bool is_well = call.error[0] == '\0';

    return (struct near_outcome){
        .storage_usage = call.storage_usage,
        .balance = call.balance,
        .has_result = call.has_result && is_well,
        .is_lost = call.is_lost,
        .result = &call.result,
        .receipts = &call.receipts,
        .returned_receipt = call.returned_receipt,
        .error = is_well ? NULL : call.error,
    };
}

/* ---- how a call ends ---- */

static void set_error(const char *format, va_list arguments)
{
    (void)vsnprintf(call.error, sizeof call.error, format, arguments);
}

/* Ends the turn with this error. */
_Noreturn __attribute__((format(printf, 1, 2))) static void native_host_fail(const char *format,
                                                                             ...)
{
    va_list arguments;

    va_start(arguments, format);
    set_error(format, arguments);
    va_end(arguments);
    native_turn_leave();
}

static _Noreturn void lose(void)
{
    call.is_lost = true;
    native_turn_leave();
}

/* Ends the call if the storage was lost, because the pipe failed or memory is exhausted. */
static void hold(bool is_well)
{
    if (!is_well)
        lose();
}

static void check_length(const char *what, size_t length, size_t most)
{
    if (length > most)
        native_host_fail("The length of a %s %zu exceeds the limit %zu", what, length, most);
}

static void check_text(const char *what, const char *text, size_t length)
{
    if (!wasm_is_utf8((const uint8_t *)text, length))
        native_host_fail("A %s is not UTF-8", what);
}

static void refuse_view(const char *name)
{
    if (call.context->is_view)
        native_host_fail("%s is not allowed in view calls", name);
}

static void refuse_init(const char *name)
{
    if (call.is_init)
        native_host_fail("%s is not allowed in gascontract_init()", name);
}

/* ---- the storage ---- */

static struct wasm_bytes as_key(const void *key, size_t length)
{
    check_length("storage key", length, GASCONTRACT_KEY_MOST);
    return (struct wasm_bytes){key, (uint32_t)length};
}

/* Reads the stored value into call.value. */
static bool host_look_up(const void *key, size_t length)
{
    bool found = false;

    hold(call.storage->get(call.storage->context, as_key(key, length), &call.value, &found) == 0);
    return found;
}

static size_t copy_to_contract(const char *bytes, size_t length, void *value, size_t size)
{
    const size_t copied = length < size ? length : size;

    if (copied > 0)
        memcpy(value, bytes, copied);
    return length;
}

size_t gascontract_storage_read(const void *key, size_t key_length, void *value, size_t size)
{
    if (!host_look_up(key, key_length))
        return GASCONTRACT_NONE;
    return copy_to_contract(call.value.data, call.value.length, value, size);
}

bool gascontract_storage_has(const void *key, size_t key_length)
{
    return host_look_up(key, key_length);
}

bool gascontract_storage_write(const void *key, size_t key_length, const void *value, size_t length)
{
    bool found;

    refuse_view("gascontract_storage_write");
    check_length("storage value", length, GASCONTRACT_VALUE_MOST);
    found = host_look_up(key, key_length);
    hold(call.storage->set(call.storage->context, as_key(key, key_length),
                           (struct wasm_bytes){value, (uint32_t)length}) == 0);
    if (found)
        call.storage_usage += length - call.value.length;
    else
        call.storage_usage += key_length + length + RECORD_BYTES;
    return found;
}

bool gascontract_storage_remove(const void *key, size_t key_length)
{
    refuse_view("gascontract_storage_remove");
    if (!host_look_up(key, key_length))
        return false;
    call.storage_usage -= key_length + call.value.length + RECORD_BYTES;
    hold(call.storage->remove(call.storage->context, as_key(key, key_length)) == 0);
    return true;
}

/* ---- the call ---- */

void gascontract_result(const void *bytes, size_t length)
{
    refuse_init("gascontract_result");
    check_length("result", length, GASCONTRACT_VALUE_MOST);
    buf_clear(&call.result);
    hold(length == 0 || buf_append(&call.result, bytes, length) == 0);
    call.has_result = true;
    call.returned_receipt = NEAR_NO_RECEIPT;
}

void gascontract_log(const char *text, size_t length)
{
    if (call.log_count++ == GASCONTRACT_LOGS_MOST)
        native_host_fail("The number of logs will exceed the limit %d", GASCONTRACT_LOGS_MOST);
    check_length("log message", length, GASCONTRACT_LOG_MOST - call.log_bytes);
    check_text("log message", text, length);
    call.log_bytes += length;
    hold(call.storage->log(call.storage->context, text, length) == 0);
}

void gascontract_abort(const char *words, size_t length)
{
    check_text("reason for abort", words, length);
    native_host_fail("Smart contract panicked: %.*s",
                     (int)(length < NEAR_ERROR_SIZE ? length : NEAR_ERROR_SIZE), words);
}

const char *gascontract_self(void)
{
    return call.context->current_account;
}

const char *gascontract_caller(void)
{
    return call.context->predecessor_account;
}

const char *gascontract_signer(void)
{
    return call.context->signer_account;
}

static struct gascontract_amount amount_in_two(unsigned __int128 amount)
{
    return (struct gascontract_amount){(uint64_t)amount, (uint64_t)(amount >> 64)};
}

struct gascontract_amount gascontract_deposit(void)
{
    return amount_in_two(call.context->deposit);
}

struct gascontract_amount gascontract_balance(void)
{
    return amount_in_two(call.balance);
}

bool gascontract_is_view(void)
{
    return call.context->is_view;
}

uint64_t gascontract_block_height(void)
{
    return call.context->block_height;
}

uint64_t gascontract_block_timestamp(void)
{
    return call.context->block_timestamp;
}

/* ---- promises: each is a receipt, of the same number ---- */

static void check_contract_message(const struct gascontract_message *message)
{
    refuse_view("A promise");
    refuse_init("A promise");
    if (!near_is_account(message->account, strlen(message->account)))
        native_host_fail("'%.64s' is not the name of an account", message->account);
    if (message->method[0] == '\0')
        native_host_fail("Tried to call an empty method name.");
    check_text("method", message->method, strlen(message->method));
    check_length("message", message->length, GASCONTRACT_VALUE_MOST);
    if (call.receipts.count == GASCONTRACT_PROMISES_MOST)
        native_host_fail("The number of promises within a call exceeds the limit %d",
                         GASCONTRACT_PROMISES_MOST);
}

static unsigned __int128 deduct_native_amount(const struct gascontract_amount *part)
{
    const unsigned __int128 amount = (unsigned __int128)part->high << 64 | part->low;

    if (amount > call.balance)
        native_host_fail("Exceeded the account balance.");
    call.balance -= amount;
    return amount;
}

static uint32_t host_promise(const struct gascontract_message *message, const uint32_t *after,
                             uint32_t after_count)
{
    struct near_receipt *receipt;
    struct near_action *action;

    check_contract_message(message);
    receipt = near_receipts_add(&call.receipts, message->account, strlen(message->account), after,
                                after_count);
    hold(receipt != NULL);
    action = near_receipt_add_action(receipt, NEAR_ACTION_FUNCTION_CALL);
    hold(action != NULL && buf_append_string(&action->method, message->method) == 0 &&
         (message->length == 0 ||
          buf_append(&action->arguments, message->input, message->length) == 0));
    action->amount = deduct_native_amount(&message->deposit);
    action->gas = message->gas;
    return call.receipts.count - 1;
}

static void check_promise(uint32_t promise)
{
    if (promise >= call.receipts.count)
        native_host_fail("%u does not correspond to existing promises", promise);
}

uint32_t gascontract_send(const struct gascontract_message *message)
{
    return host_promise(message, NULL, 0);
}

uint32_t gascontract_then(uint32_t promise, const struct gascontract_message *message)
{
    check_promise(promise);
    return host_promise(message, &promise, 1);
}

void gascontract_return_promise(uint32_t promise)
{
    check_promise(promise);
    call.returned_receipt = promise;
    call.has_result = false;
}

uint32_t gascontract_promise_results(void)
{
    return call.context->result_count;
}

size_t gascontract_promise_result(uint32_t index, void *value, size_t size)
{
    const struct near_promise_result *result;

    if (index >= call.context->result_count)
        native_host_fail("Accessed invalid promise result index: %u", index);
    result = &call.context->results[index];
    if (result->is_failed)
        return GASCONTRACT_NONE;
    return copy_to_contract((const char *)result->bytes.data, result->bytes.length, value, size);
}
