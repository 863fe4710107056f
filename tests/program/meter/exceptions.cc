// SPDX-License-Identifier: Apache-2.0
// C++ on top of C: exceptions, destructors, virtual and member pointers, static variables, templates
// of the library.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual long area() const = 0;
    long twice() const { return 2 * area(); }
};
struct Square : Shape {
    long side;
    explicit Square(long side) : side(side) {}
    long area() const override { return side * side; }
};
struct Box : Shape {
    long width, height;
    Box(long width, long height) : width(width), height(height) {}
    long area() const override { return width * height; }
};

static long dropped;

struct Guard {
    ~Guard() { dropped++; }
};

static long thrower(long depth)
{
    Guard guard;
    if (depth == 0)
        throw std::runtime_error("bottom");
    return thrower(depth - 1) + 1;
}

// Called where a destructor or handler waits, and where none does.
static long third(long number) { return number / 3; }

static long exceptions()
{
    long sum = 0;
    for (long i = 0; i < 300; i++) {
        try {
            sum += third(i) + thrower(i % 10);
        } catch (const std::runtime_error &error) {
            sum += error.what()[0];
        }
    }
    return sum + third(dropped);
}

static long once(long number)
{
    static std::vector<long> seen(3, number);
    seen.push_back(number);
    return (long)seen.size();
}

// Each machine marks virtual functions by a bit in another place.
static long equal_members()
{
    long (Shape::*members[])() const = {&Shape::area, &Shape::twice, nullptr};
    long sum = 0;
    for (long i = 0; i < 300; i++)
        sum += members[i % 3] == members[i % 2];
    return sum;
}

// A result that one machine writes where it is to be, and another returns in registers.
struct Place {
    double x, y, z;
};
struct Token {
    const char *text;
    int length;
};
__attribute__((noinline)) static Place place_of(long i) { return {double(i), double(i + 1), 2}; }
__attribute__((noinline)) static Token token_of(long i) { return {"text", int(i)}; }

static long made_in_place()
{
    double sum = 0;
    for (long i = 0; i < 100; i++) {
        std::unique_ptr<Place> place(new Place(place_of(i)));
        std::unique_ptr<Token> token(new Token(token_of(i)));
        sum += place->y + token->length;
    }
    return long(sum);
}

// A list of arguments is a structure on one machine, and an array on the other.
__attribute__((noinline)) static long sum_list(int count, va_list list)
{
    long sum = 0;
    for (int i = 0; i < count; i++)
        sum += va_arg(list, int);
    return sum;
}

static long sum_of(int count, ...)
{
    va_list list;
    va_start(list, count);
    long sum = sum_list(count, list);
    va_end(list);
    return sum;
}

static long containers()
{
    std::map<std::string, long> words;
    for (long i = 0; i < 2000; i++)
        // Not "word " + text: libstdc++ 14 would compare the addresses of the two.
        words[std::string("word ") + std::to_string(i * 7919 % 501)] += i;
    std::vector<std::pair<long, std::string>> order;
    for (const auto &[word, count] : words)
        order.emplace_back(count, word);
    std::sort(order.begin(), order.end());
    return order[100].first + (long)order.back().second.size();
}

int main()
{
    std::vector<std::unique_ptr<Shape>> shapes;
    long sum = 0;
    for (long i = 0; i < 100; i++) {
        if (i % 3)
            shapes.push_back(std::make_unique<Square>(i));
        else
            shapes.push_back(std::make_unique<Box>(i, 2));
        sum += once(i);
    }
    long (Shape::*member)() const = &Shape::area;
    for (const auto &shape : shapes)
        sum += shape->area() + ((*shape).*member)();
    sum += equal_members() + made_in_place();
    for (int i = 0; i < 100; i++)
        sum += sum_of(3, i, 2, 3);
    std::thread thread([&sum] { sum += containers(); });
    thread.join();
    std::printf("%ld %ld\n", sum, exceptions());
}
