// SPDX-License-Identifier: Apache-2.0
//
// What Boost.Test prints of values that have no operator<<: the number of an enumerator, the items
// of a list, and the members that a struct names in its fields(archive). With it a test compares
// such values in plain BOOST_TEST(a == b), and a failure shows both.
#pragma once

#include <boost/test/unit_test.hpp>
#include <optional>
#include <ostream>
#include <ranges>
#include <string>
#include <type_traits>

namespace batchai::test {

class Printer {
  public:
    explicit Printer(std::ostream& out) : out_(out) {}

    template <class... T>
    void operator()(const T&... values) {
        (item(values), ...);
    }
    // Without a comma in front.
    template <class T>
    void value(const T& value) {
        if constexpr (std::is_enum_v<T>) {
            out_ << "enumerator " << static_cast<long long>(value);
        } else if constexpr (requires { out_ << value; }) {
            out_ << value;
        } else if constexpr (requires { value.has_value(); }) {
            value ? this->value(*value) : void(out_ << "nothing");
        } else if constexpr (std::ranges::range<T>) {
            list([&](Printer& items) {
                for (const auto& item : value) items(item);
            });
        } else {
            list([&](Printer& items) { const_cast<T&>(value).fields(items); });
        }
    }

  private:
    template <class T>
    void item(const T& value) {
        if (!first_) out_ << ", ";
        first_ = false;
        this->value(value);
    }
    template <class Body>
    void list(Body body) {
        out_ << '{';
        Printer items(out_);
        body(items);
        out_ << '}';
    }

    std::ostream& out_;
    bool first_ = true;
};

struct AnyArchive {
    template <class... T>
    void operator()(T&...) {}
};

template <class T>
concept HasFields = requires(T value, AnyArchive archive) {
    value.fields(archive);
};

template <class T>
concept IsOptional = requires(const T& value) {
    value.has_value();
    *value;
};

template <class T>
concept IsVariant = requires(const T& value) {
    value.index();
    value.valueless_by_exception();
};

template <class T>
concept Unprintable = !requires(std::ostream & out, const T& value) {
    out << value;
};

}  // namespace batchai::test

namespace boost::test_tools::tt_detail {

template <class T>
requires batchai::test::Unprintable<T> &&
    (std::is_enum_v<T> || batchai::test::HasFields<T> || batchai::test::IsVariant<T> ||
     batchai::test::IsOptional<T> || std::ranges::range<T>)struct print_log_value<T> {
    void operator()(std::ostream& out, const T& value) { batchai::test::Printer(out).value(value); }
};

}  // namespace boost::test_tools::tt_detail
