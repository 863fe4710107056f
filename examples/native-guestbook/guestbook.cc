// SPDX-License-Identifier: Apache-2.0
// The guest book of examples/wasm-guestbook in C++: sign({"text"}), last() and count(). Build it
// with
//
//   c++ -O2 -std=c++17 -fPIC -shared -fno-exceptions -fno-rtti -Iworker/native
//       examples/native-guestbook/guestbook.cc -o guestbook.so
//
// The headers of the C++ library work, as far as they need none of its code: vector, array,
// string_view, optional, algorithm, charconv.
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include <gascontract.h>

namespace
{

using Bytes = std::vector<char>;

void append(Bytes &to, std::string_view text)
{
    to.insert(to.end(), text.begin(), text.end());
}

std::string_view textOf(const Bytes &bytes)
{
    return {bytes.data(), bytes.size()};
}

[[noreturn]] void fail(std::string_view words)
{
    gascontract_abort(words.data(), words.size());
}

// Reads the value under a key, its length first.
std::optional<Bytes> read(std::string_view key)
{
    const size_t length = gascontract_storage_read(key.data(), key.size(), nullptr, 0);

    if (length == GASCONTRACT_NONE)
        return std::nullopt;
    Bytes value(length);
    gascontract_storage_read(key.data(), key.size(), value.data(), value.size());
    return value;
}

void write(std::string_view key, std::string_view value)
{
    gascontract_storage_write(key.data(), key.size(), value.data(), value.size());
}

class Guestbook
{
  public:
    // The lines are numbered from 1.
    Guestbook()
    {
        if (const auto stored = read("count"))
            std::from_chars(stored->data(), stored->data() + stored->size(), count_);
    }

    void sign(std::string_view guest, std::string_view text)
    {
        Bytes line;

        append(line, guest);
        append(line, ": ");
        append(line, text);
        count_++;
        write("count", textOf(number()));
        write(textOf(keyOfLast()), textOf(line));
        gascontract_log(line.data(), line.size());
    }

    void giveLast() const
    {
        Bytes quoted{'"'};

        if (const auto line = read(textOf(keyOfLast())))
            append(quoted, textOf(*line));
        quoted.push_back('"');
        gascontract_result(quoted.data(), quoted.size());
    }

    void giveCount() const
    {
        const Bytes text = number();

        gascontract_result(text.data(), text.size());
    }

  private:
    Bytes number() const
    {
        Bytes digits(16);
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), count_).ptr;

        digits.resize(static_cast<size_t>(end - digits.data()));
        return digits;
    }

    Bytes keyOfLast() const
    {
        Bytes key;

        append(key, "line ");
        append(key, textOf(number()));
        return key;
    }

    uint32_t count_ = 0;
};

// The string after "text": in the input's JSON.
std::string_view textMember(std::string_view json)
{
    constexpr std::string_view name = "\"text\":\"";
    const size_t at = json.find(name);

    if (at == json.npos)
        fail("the input has no text");
    json.remove_prefix(at + name.size());
    return json.substr(0, json.find('"'));
}

} // namespace

void gascontract_call(const char *method, const void *input, size_t length)
{
    const std::string_view name = method;
    Guestbook book;

    if (name == "sign") {
        const auto text = textMember({static_cast<const char *>(input), length});

        if (text.size() > 100)
            fail("the text is too long");
        book.sign(gascontract_caller(), text);
    } else if (name == "last") {
        book.giveLast();
    } else if (name == "count") {
        book.giveCount();
    } else {
        fail("MethodNotFound");
    }
}
