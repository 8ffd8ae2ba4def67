// SPDX-License-Identifier: Apache-2.0
//
// Encoding of the messages between root and agents: integers and doubles in the machine's own byte
// order (all nodes of a job are of one kind), strings and lists with their length in front. A
// struct is encoded by its `fields(archive)`, which names its members once for both directions.
//
// Reader never reads past its bytes: after a short or malformed message ok() is false and the
// values are the default ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace batchai::launcher {

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
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    template <class... T>
    void operator()(T&... values) {
        (get(values), ...);
    }
    // True when everything asked for was there.
    bool ok() const { return ok_; }

  private:
    template <Plain T>
    void get(T& value) {
        if (!take(sizeof value)) return;
        std::memcpy(&value, taken_.data(), sizeof value);
    }
    void get(std::string& text) {
        std::uint64_t size = 0;
        get(size);
        if (take(size)) text.assign(taken_);
    }
    template <class T>
    void get(std::vector<T>& list) {
        std::uint64_t size = 0;
        get(size);
        list.clear();
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
    bool ok_ = true;
};

// False when the message was short or malformed; its fields are not to be used then.
template <class Message>
bool decode(Reader& reader, Message& message) {
    message.fields(reader);
    return reader.ok();
}

}  // namespace batchai::launcher
