// SPDX-License-Identifier: Apache-2.0
//
// Encodes a message between two processes of this project. Integers and doubles are in the
// machine's own byte order, because all nodes of a job are of one kind. Strings and lists have
// their length in front. A struct is encoded by its
// `fields(archive)`, which names its members once for both directions.
//
// The bytes may come from a process that is not trusted: a Reader never reads beyond its bytes, and
// never holds more items than bytes. After a short or malformed message ok() is false.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// The fields() of a struct whose members are encoded as they are, in this order.
#define BATCHAI_FIELDS(...)         \
    template <class Archive>        \
    void fields(Archive& archive) { \
        archive(__VA_ARGS__);       \
    }

namespace batchai::sys {

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Writer {
  public:
    template <class... T>
    void operator()(const T&... values) {
        (put(values), ...);
    }
    std::string take() { return std::move(bytes_); }

  private:
    template <Plain T>
    void put(const T& value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void put(const std::string& text) {
        put(std::uint64_t{text.size()});
        bytes_.append(text);
    }
    template <class T>
    void put(const std::vector<T>& list) {
        put(std::uint64_t{list.size()});
        for (const T& item : list) put(item);
    }
    void put(const std::map<std::string, std::string>& map) {
        put(std::uint64_t{map.size()});
        for (const auto& [key, value] : map) (*this)(key, value);
    }
    template <class T>
    requires std::is_class_v<T>
    void put(const T& message) {
        const_cast<T&>(message).fields(*this);  // fields() only reads through a Writer
    }

    std::string bytes_;
};

class Reader {
  public:
    // The strings that a Reader accepts. A comparison reads beyond a zero byte in a string, and a
    // system call does not, so they could see different names.
    enum class Strings { any, without_zero };

    explicit Reader(std::string_view bytes, Strings strings = Strings::any)
        : rest_(bytes), strings_(strings) {}

    template <class... T>
    void operator()(T&... values) {
        (get(values), ...);
    }
    // True if every value so far was in the message.
    bool ok() const { return ok_; }
    bool is_at_end() const { return rest_.empty(); }

  private:
    template <Plain T>
    void get(T& value) {
        if (!take(sizeof value)) return;
        std::memcpy(&value, taken_.data(), sizeof value);
    }
    void get(bool& value) {
        std::uint8_t byte = 0;
        get(byte);
        ok_ = ok_ && byte <= 1;
        if (ok_) value = byte == 1;
    }
    void get(std::string& text) {
        std::uint64_t size = 0;
        get(size);
        if (!take(size)) return;
        ok_ = strings_ == Strings::any || taken_.find('\0') == taken_.npos;
        if (ok_) text.assign(taken_);
    }
    template <class T>
    void get(std::vector<T>& list) {
        std::uint64_t size = 0;
        get(size);
        list.clear();
        ok_ = ok_ && size <= rest_.size();
        while (ok_ && size-- > 0) get(list.emplace_back());
        if (!ok_) list.clear();
    }
    void get(std::map<std::string, std::string>& map) {
        std::uint64_t size = 0;
        get(size);
        map.clear();
        while (ok_ && size-- > 0) {
            std::string key, value;
            (*this)(key, value);
            map[key] = value;
        }
    }
    template <class T>
    requires std::is_class_v<T>
    void get(T& message) { message.fields(*this); }

    bool take(std::uint64_t size) {
        ok_ = ok_ && size <= rest_.size();
        if (!ok_) return false;
        taken_ = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
    }

    std::string_view rest_, taken_;
    Strings strings_;
    bool ok_ = true;
};

// False if the message was short or malformed. Its fields must not be used then.
template <class Message>
bool decode(Reader& reader, Message& message) {
    message.fields(reader);
    return reader.ok();
}

template <class Message>
std::string encode(const Message& message) {
    Writer writer;
    writer(message);
    return writer.take();
}

// Decodes a whole message. nullopt: the bytes are short or malformed, or longer than the message.
template <class Message>
std::optional<Message> decode_whole(std::string_view bytes,
                                    Reader::Strings strings = Reader::Strings::any) {
    Reader reader(bytes, strings);
    std::optional<Message> message(std::in_place);
    if (!decode(reader, *message) || !reader.is_at_end()) message.reset();
    return message;
}

}  // namespace batchai::sys
