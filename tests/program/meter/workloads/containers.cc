// SPDX-License-Identifier: Apache-2.0
// C++ at work: maps, strings, sorting, virtual functions, exceptions. usage: containers ROUNDS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual unsigned area() const = 0;
};

struct Square : Shape {
    explicit Square(unsigned side) : side(side) {}
    unsigned area() const override { return side * side; }
    unsigned side;
};

struct Box : Shape {
    Box(unsigned width, unsigned height) : width(width), height(height) {}
    unsigned area() const override
    {
        if (width == height)
            throw std::runtime_error("a square");
        return width * height;
    }
    unsigned width, height;
};

static unsigned work()
{
    std::map<std::string, unsigned> counts;
    std::vector<std::unique_ptr<Shape>> shapes;
    std::vector<unsigned> areas;
    unsigned next = 1, sum = 0;

    for (unsigned i = 0; i < 3000; i++) {
        next = next * 1103515245 + 12345;
        counts["key" + std::to_string(next >> 16 & 511)] += i;
        if (i % 3)
            shapes.push_back(std::make_unique<Square>(i % 100));
        else
            shapes.push_back(std::make_unique<Box>(i % 50, next >> 20 & 63));
    }
    for (const auto &shape : shapes) {
        try {
            areas.push_back(shape->area());
        } catch (const std::exception &error) {
            areas.push_back(static_cast<unsigned>(std::string(error.what()).size()));
        }
    }
    std::sort(areas.begin(), areas.end());
    for (unsigned area : areas)
        sum = sum * 31 + area;
    for (const auto &[key, count] : counts)
        sum = sum * 31 + count + static_cast<unsigned>(key.size());
    return sum;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
    unsigned sum = 0;

    for (int i = 0; i < rounds; i++)
        sum = sum * 31 + work();
    std::printf("%u\n", sum);
    return 0;
}
