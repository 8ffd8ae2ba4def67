// SPDX-License-Identifier: Apache-2.0
#include "job/launch_options.hpp"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <iterator>
#include <optional>
#include <sstream>

#include "job/file_system.hpp"

namespace batchai::job {
namespace {

constexpr const char* kRequeueWords[] = {"signal", "node-fail", "failure"};

template <class Number>
std::optional<Number> number(const std::string& text) {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return value;
}

std::string plain(double number) {
    std::ostringstream text;
    text << std::setprecision(10) << number;
    return text.str();
}

std::string refuse_words(const std::string& text) {
    for (const std::string& word : split_all(text, ','))
        if (std::find(std::begin(kRequeueWords), std::end(kRequeueWords), word) ==
            std::end(kRequeueWords))
            return "'" + word + "' is not one of signal, node-fail and failure";
    return {};
}

}  // namespace

std::string LaunchOption::policy_key() const {
    std::string words = name;
    std::replace(words.begin(), words.end(), '-', '_');
    return words;
}

std::string LaunchOption::refuse(const std::string& text) const {
    if (kind == Kind::flag) return {};
    if (kind == Kind::requeue_words) return refuse_words(text);
    const bool whole = kind == Kind::count;
    const auto given = whole && !number<int>(text) ? std::nullopt : number<double>(text);
    // In this form the condition refuses NaN, because each comparison with NaN is false.
    if (given && ((*given >= least && *given <= most) || (or_zero && *given == 0))) return {};
    return std::string("must be ") +
           (or_zero ? "0 or "
            : whole ? "an integer "
                    : "") +
           "from " + plain(least) + " to " + plain(most) + (whole ? "" : " seconds");
}

std::vector<std::string> arguments_of(const LaunchOptions& launch) {
    std::vector<std::string> arguments;
    for (const LaunchOption* option : kLaunchOptions) {
        const auto given = launch.find(option->name);
        if (given == launch.end()) continue;
        const bool flag = option->kind == LaunchOption::Kind::flag;
        arguments.push_back("--" + given->first + (flag ? "" : "=" + given->second));
    }
    return arguments;
}

}  // namespace batchai::job
