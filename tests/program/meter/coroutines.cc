// SPDX-License-Identifier: Apache-2.0
// C++20 coroutines: a generator, tasks that wait for tasks, exceptions out of them, locals that live
// across a suspension. usage: coroutines TURNS
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

struct Generator {
    struct promise_type {
        long value = 0;
        Generator get_return_object() { return Generator(handle::from_promise(*this)); }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(long next)
        {
            value = next;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    using handle = std::coroutine_handle<promise_type>;

    explicit Generator(handle frame) : frame(frame) {}
    Generator(const Generator &) = delete;
    Generator &operator=(const Generator &) = delete;
    ~Generator() { frame.destroy(); }
    bool next()
    {
        frame.resume();
        return !frame.done();
    }

    handle frame;
};

template <class Value> struct Task {
    struct promise_type;
    using handle = std::coroutine_handle<promise_type>;

    // Continues the waiting coroutine without growing the stack.
    struct Last {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(handle frame) noexcept
        {
            const std::coroutine_handle<> waiting = frame.promise().waiting;

            return waiting ? waiting : std::noop_coroutine();
        }
        void await_resume() noexcept {}
    };
    struct promise_type {
        Value value{};
        std::coroutine_handle<> waiting;
        std::exception_ptr thrown;
        Task get_return_object() { return Task(handle::from_promise(*this)); }
        std::suspend_always initial_suspend() { return {}; }
        Last final_suspend() noexcept { return {}; }
        void return_value(Value result) { value = std::move(result); }
        void unhandled_exception() { thrown = std::current_exception(); }
    };

    explicit Task(handle frame) : frame(frame) {}
    Task(Task &&other) : frame(std::exchange(other.frame, nullptr)) {}
    Task &operator=(Task &&) = delete;
    ~Task()
    {
        if (frame)
            frame.destroy();
    }
    bool await_ready() { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller)
    {
        frame.promise().waiting = caller;
        return frame;
    }
    Value await_resume()
    {
        if (frame.promise().thrown)
            std::rethrow_exception(frame.promise().thrown);
        return std::move(frame.promise().value);
    }
    Value run()
    {
        frame.resume();
        return await_resume();
    }

    handle frame;
};

struct Large {
    long numbers[20] = {7, 5};
    int count = 3;
};

static Generator squares(long last)
{
    for (long i = 0; i < last; i++)
        co_yield i *i;
}

static Task<std::string> name(std::string prefix, long number)
{
    if (number % 13 == 0)
        throw std::runtime_error("no " + prefix);
    // operator+ would compare the addresses of both texts, which differ between machines.
    prefix.append(std::to_string(number));
    co_return std::move(prefix);
}

static Task<long> names(Large large, const std::string &prefix, long last)
{
    std::map<std::string, long> seen;
    char lengths[64] = {0};
    long sum = large.count;

    for (long i = 0; i < last; i++) {
        bool failed = false;

        try {
            const std::string text = co_await name(prefix, i);

            seen[text]++;
            lengths[i % 64] = static_cast<char>(text.size());
            sum += large.numbers[i % 20];
        } catch (const std::runtime_error &error) {
            failed = true;
            sum += error.what()[0];
        }
        if (failed)
            sum += static_cast<long>((co_await name("again", 1)).size());
    }
    for (const char length : lengths)
        sum += length;
    co_return sum + static_cast<long>(seen.size());
}

int main(int argc, char **argv)
{
    const long turns = argc > 1 ? atol(argv[1]) : 0;
    const std::string prefix = "name";
    Generator numbers = squares(turns);
    long sum = 0;

    while (numbers.next())
        sum += numbers.frame.promise().value;
    printf("%ld %ld\n", sum, names(Large(), prefix, turns).run());
    return 0;
}
