// SPDX-License-Identifier: Apache-2.0
//
// Result<T>: a value, or the reason for its absence. The project's only error convention.
//
// A function that can fail returns Result<T>; each layer adds context once, from the outside in:
//   if (!text) return text.error().in("reading " + path);   // "reading /etc/x: no such file"
// Only `main` and the SPANK boundary print. Shaped like P0323 (std::expected, which g++ 12 lacks in
// C++20). It is as thread-safe as the value inside. It throws only std::bad_alloc.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace batchai::sys {

struct Error {
    std::string message;

    // The same error with the context of the caller: "context: message".
    Error in(const std::string& context) const { return Error{context + ": " + message}; }
};

// "what: strerror(code)".
inline Error errno_error(const std::string& what, int code = errno) {
    return Error{what + ": " + std::strerror(code)};
}

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

    bool has_value() const { return state_.index() == 0; }
    explicit operator bool() const { return has_value(); }

    T& value() & { return std::get<0>(state_); }
    const T& value() const& { return std::get<0>(state_); }
    T&& value() && { return std::get<0>(std::move(state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const Error& error() const { return std::get<1>(state_); }

  private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : failed_(true), error_(std::move(error)) {}  // NOLINT: implicit

    bool has_value() const { return !failed_; }
    explicit operator bool() const { return !failed_; }
    const Error& error() const { return error_; }

  private:
    bool failed_ = false;
    Error error_;
};

}  // namespace batchai::sys
