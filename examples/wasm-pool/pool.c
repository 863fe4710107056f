/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A staking pool with the methods of NEAR's (https://github.com/near/core-contracts/tree/master/
 * staking-pool): new, deposit, deposit_and_stake, stake, unstake, withdraw, each also .._all where
 * theirs has it, ping, and views of accounts. What the pool's balance grows by is shared out among
 * those who stake when an epoch has passed, less the owner's fee. Build it with
 *
 *   clang --target=wasm32 -O2 -nostdlib -I. -Wl,--no-entry examples/wasm-pool/pool.c -o pool.wasm
 *
 * In the storage, "pool" is a struct pool, "key" the pool's key, "owner" its owner, "a:ACCOUNT" a
 * struct account.
 */
#include "examples/wasm/contract.h"

enum { EPOCHS_TO_UNLOCK = 4 };

/* Rounding of shares is paid from this amount of the pool's own. */
#define GUARANTEE ((amount)UINT64_C(1000000000000))

struct pool {
    amount staked; /* yoctoNEAR, which all shares are worth */
    amount shares;
    amount last_balance; /* of the pool, when rewards were shared out last */
    uint64_t last_epoch;
    uint64_t fee_numerator, fee_denominator; /* the owner's part of rewards */
};

struct account {
    amount unstaked;
    amount shares;
    uint64_t unlocked_epoch; /* when `unstaked` can be withdrawn */
};

/* ---- arithmetic: a * b / c without overflow in between ---- */

struct wide {
    amount high, low;
};

static struct wide multiply(amount left, amount right)
{
    struct wide product = {0, 0}, term = {0, left};

    for (; right != 0; right >>= 1) {
        if (right & 1) {
            product.low += term.low;
            product.high += term.high + (product.low < term.low);
        }
        term.high = term.high << 1 | term.low >> 127;
        term.low <<= 1;
    }
    return product;
}

/* Rounded down, or up. */
static amount times_over(amount left, amount right, amount divisor, int up)
{
    struct wide product = multiply(left, right);
    amount quotient = 0, rest = product.high;

    need(divisor != 0 && product.high < divisor, "An amount is too large");
    for (int bit = 0; bit < 128; bit++) {
        const int carry = (int)(rest >> 127);

        rest = rest << 1 | product.low >> 127;
        product.low <<= 1;
        quotient <<= 1;
        if (carry || rest >= divisor) {
            rest -= divisor;
            quotient |= 1;
        }
    }
    return quotient + (up && rest != 0);
}

/* ---- records ---- */

static void pool_key(struct text *key)
{
    text_set(key, "pool");
}

static void read_pool(struct pool *pool)
{
    struct text key;

    pool_key(&key);
    need(read_record(&key, pool, sizeof *pool), "The contract is not initialized");
}

static void write_pool(const struct pool *pool)
{
    struct text key;

    pool_key(&key);
    write_record(&key, pool, sizeof *pool);
}

/* An unknown account has nothing. */
static void read_account(const struct text *name, struct account *account)
{
    struct text key;

    make_key(&key, "a:", name);
    *account = (struct account){0, 0, 0};
    (void)read_record(&key, account, sizeof *account);
}

static void write_account(const struct text *name, const struct account *account)
{
    struct text key;

    make_key(&key, "a:", name);
    write_record(&key, account, sizeof *account);
}

static void read_text(const char *name, struct text *value)
{
    struct text key;

    text_set(&key, name);
    need(storage_read(key.length, address(key.bytes), REGISTER) == 1,
         "The contract is not initialized");
    text_from_register(value);
}

/* ---- shares ---- */

static amount shares_of(const struct pool *pool, amount value, int up)
{
    return times_over(pool->shares, value, pool->staked, up);
}

static amount worth_of(const struct pool *pool, amount shares, int up)
{
    return pool->shares == 0 ? 0 : times_over(pool->staked, shares, pool->shares, up);
}

static amount pool_balance(void)
{
    amount balance = 0, locked = 0;

    account_balance(address(&balance));
    account_locked_balance(address(&locked));
    return balance + locked;
}

/* Shares of what the pool has got, once an epoch; the owner's fee is paid in new shares. */
static void share_rewards(struct pool *pool)
{
    const amount balance = pool_balance() - attached();
    struct text owner;
    struct account account;
    amount reward, fee, shares;

    if (epoch_height() == pool->last_epoch)
        return;
    pool->last_epoch = epoch_height();
    need(balance >= pool->last_balance, "The pool has lost money");
    reward = balance - pool->last_balance;
    if (reward == 0)
        return;
    pool->last_balance = balance;
    fee = times_over(reward, pool->fee_numerator, pool->fee_denominator, 0);
    pool->staked += reward - fee;
    shares = shares_of(pool, fee, 0);
    if (shares > 0) {
        read_text("owner", &owner);
        read_account(&owner, &account);
        account.shares += shares;
        write_account(&owner, &account);
        pool->shares += shares;
    }
    pool->staked += fee;
}

/* Reports the stake to the chain. */
static void restake(const struct pool *pool)
{
    static const char digits[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    struct text own, key;
    unsigned char bytes[33] = {0};

    read_text("key", &key);
    /* After "ed25519:", base 58. */
    for (uint32_t i = 8; i < key.length; i++) {
        unsigned carry = 0;

        while (carry < sizeof digits - 1 && digits[carry] != key.bytes[i])
            carry++;
        need(carry < sizeof digits - 1, "No public key");
        for (uint32_t k = sizeof bytes - 1; k >= 1; k--) {
            carry += 58u * bytes[k];
            bytes[k] = (unsigned char)carry;
            carry >>= 8;
        }
        need(carry == 0, "No public key");
    }
    current_account(&own);
    promise_batch_action_stake(promise_batch_create(own.length, address(own.bytes)),
                               address(&pool->staked), sizeof bytes, address(bytes));
}

/* ---- methods that change something ---- */

/* {"owner_id", "stake_public_key", "reward_fee_fraction": {"numerator", "denominator"}} */
NEAR_EXPORT(new)
{
    struct pool pool = {0};
    struct text key, value;

    pool_key(&key);
    need(storage_read(key.length, address(key.bytes), REGISTER) == 0, "Already initialized");
    read_input();
    text_member(&value, "owner_id");
    text_set(&key, "owner");
    write_record(&key, value.bytes, value.length);
    text_member(&value, "stake_public_key");
    text_set(&key, "key");
    write_record(&key, value.bytes, value.length);
    pool.fee_numerator = (uint64_t)number_member("numerator");
    pool.fee_denominator = (uint64_t)number_member("denominator");
    need(pool.fee_denominator != 0, "Denominator must be a positive number");
    need(pool.fee_numerator <= pool.fee_denominator, "The reward fee must be less or equal to 1");
    pool.last_balance = pool_balance();
    need(pool.last_balance > GUARANTEE, "The pool needs a balance of its own");
    pool.last_epoch = epoch_height();
    pool.staked = pool.shares = pool.last_balance - GUARANTEE;
    write_pool(&pool);
    restake(&pool);
}

/* The pool and the caller's account, after what happened since. */
static void begin(struct pool *pool, struct text *caller, struct account *account)
{
    read_pool(pool);
    share_rewards(pool);
    predecessor(caller);
    read_account(caller, account);
}

static void end(const struct pool *pool, const struct text *caller, const struct account *account)
{
    write_account(caller, account);
    write_pool(pool);
}

static void log_amount(const struct text *caller, const char *what, amount value)
{
    struct text line;

    text_set(&line, "@");
    append_text(&line, caller);
    append(&line, what);
    append_amount(&line, value);
    log_text(&line);
}

static void take_deposit(struct pool *pool, const struct text *caller, struct account *account)
{
    const amount value = attached();

    need(value > 0, "Requires a deposit");
    account->unstaked += value;
    pool->last_balance += value;
    log_amount(caller, " deposited ", value);
}

static void stake_some(struct pool *pool, const struct text *caller, struct account *account,
                       amount value)
{
    amount shares, charge;

    need(value > 0, "Staking amount should be positive");
    need(account->unstaked >= value, "Not enough unstaked balance to stake");
    shares = shares_of(pool, value, 0);
    need(shares > 0, "The calculated number of \"stake\" shares received for staking should be "
                     "positive");
    /* Rounded down: the staker pays at most what was asked for. */
    charge = worth_of(pool, shares, 0);
    account->unstaked -= charge;
    account->shares += shares;
    pool->staked += worth_of(pool, shares, 1);
    pool->shares += shares;
    log_amount(caller, " staking ", charge);
    restake(pool);
}

static void unstake_some(struct pool *pool, const struct text *caller, struct account *account,
                         amount value)
{
    amount shares, received;

    need(value > 0, "Unstaking amount should be positive");
    shares = shares_of(pool, value, 1);
    need(account->shares >= shares, "Not enough staked balance to unstake");
    received = worth_of(pool, shares, 1);
    account->shares -= shares;
    account->unstaked += received;
    account->unlocked_epoch = epoch_height() + EPOCHS_TO_UNLOCK;
    pool->staked -= worth_of(pool, shares, 0);
    pool->shares -= shares;
    log_amount(caller, " unstaking ", received);
    restake(pool);
}

static void withdraw_some(struct pool *pool, const struct text *caller, struct account *account,
                          amount value)
{
    need(value > 0, "Withdrawal amount should be positive");
    need(account->unstaked >= value, "Not enough unstaked balance to withdraw");
    need(account->unlocked_epoch <= epoch_height(),
         "The unstaked balance is not yet available due to unstaking delay");
    account->unstaked -= value;
    pool->last_balance -= value;
    log_amount(caller, " withdrawing ", value);
    promise_batch_action_transfer(promise_batch_create(caller->length, address(caller->bytes)),
                                  address(&value));
}

NEAR_EXPORT(ping)
{
    struct pool pool;

    read_pool(&pool);
    share_rewards(&pool);
    write_pool(&pool);
    restake(&pool);
}

NEAR_EXPORT(deposit)
{
    struct account account;
    struct text caller;
    struct pool pool;

    begin(&pool, &caller, &account);
    take_deposit(&pool, &caller, &account);
    end(&pool, &caller, &account);
}

NEAR_EXPORT(deposit_and_stake)
{
    struct account account;
    struct text caller;
    struct pool pool;

    begin(&pool, &caller, &account);
    take_deposit(&pool, &caller, &account);
    stake_some(&pool, &caller, &account, attached());
    end(&pool, &caller, &account);
}

/* {"amount"}, or all of it */
#define AMOUNT_METHODS(name, all)                                                                  \
    NEAR_EXPORT(name)                                                                              \
    {                                                                                              \
        struct account account;                                                                    \
        struct text caller;                                                                        \
        struct pool pool;                                                                          \
                                                                                                   \
        read_input();                                                                              \
        begin(&pool, &caller, &account);                                                           \
        name##_some(&pool, &caller, &account, amount_member("amount"));                            \
        end(&pool, &caller, &account);                                                             \
    }                                                                                              \
    NEAR_EXPORT(name##_all)                                                                        \
    {                                                                                              \
        struct account account;                                                                    \
        struct text caller;                                                                        \
        struct pool pool;                                                                          \
                                                                                                   \
        begin(&pool, &caller, &account);                                                           \
        name##_some(&pool, &caller, &account, all);                                                \
        end(&pool, &caller, &account);                                                             \
    }

AMOUNT_METHODS(stake, account.unstaked)
AMOUNT_METHODS(unstake, worth_of(&pool, account.shares, 0))
AMOUNT_METHODS(withdraw, account.unstaked)

/* ---- views ---- */

/* {"account_id"} */
static void look(struct text *name, struct account *account, struct pool *pool)
{
    read_input();
    text_member(name, "account_id");
    read_pool(pool);
    read_account(name, account);
}

static void append_amount_member(struct text *text, const char *name, amount value)
{
    append(text, name);
    append_amount(text, value);
    append(text, "\"");
}

NEAR_EXPORT(get_account)
{
    struct account account;
    struct text name, result;
    struct pool pool;

    look(&name, &account, &pool);
    text_set(&result, "{\"account_id\":");
    append_quoted(&result, &name);
    append_amount_member(&result, ",\"unstaked_balance\":\"", account.unstaked);
    append_amount_member(&result, ",\"staked_balance\":\"", worth_of(&pool, account.shares, 0));
    append(&result, account.unlocked_epoch <= epoch_height() ? ",\"can_withdraw\":true}"
                                                             : ",\"can_withdraw\":false}");
    give_back(&result);
}

NEAR_EXPORT(get_account_staked_balance)
{
    struct account account;
    struct text name;
    struct pool pool;

    look(&name, &account, &pool);
    give_back_amount(worth_of(&pool, account.shares, 0));
}

NEAR_EXPORT(get_account_unstaked_balance)
{
    struct account account;
    struct text name;
    struct pool pool;

    look(&name, &account, &pool);
    give_back_amount(account.unstaked);
}

NEAR_EXPORT(get_total_staked_balance)
{
    struct pool pool;

    read_pool(&pool);
    give_back_amount(pool.staked);
}

static void give_back_text(const char *name)
{
    struct text value, result;

    read_text(name, &value);
    text_set(&result, "");
    append_quoted(&result, &value);
    give_back(&result);
}

NEAR_EXPORT(get_owner_id)
{
    give_back_text("owner");
}

NEAR_EXPORT(get_staking_key)
{
    give_back_text("key");
}
