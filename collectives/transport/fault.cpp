// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/fault.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "collectives/common/setting.hpp"
#include "collectives/transport/shm.hpp"

namespace batchai::coll {
namespace {

template <class Number>
bool parse_number(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

bool parse_deed(std::string_view text, Fault& fault) {
    using Deed = Fault::Deed;
    constexpr struct {
        std::string_view name;
        Deed deed;
    } kDeeds[] = {
        {"kill", Deed::kill}, {"stop", Deed::stop}, {"exit", Deed::exit}, {"abort", Deed::abort}};
    for (const auto& [name, deed] : kDeeds) {
        fault.deed = deed;
        if (text == name) return true;
    }
    constexpr std::string_view kDelay = "delay:", kUnit = "ms";
    int milliseconds = 0;
    if (!text.starts_with(kDelay) || !text.ends_with(kUnit)) return false;
    text.remove_prefix(kDelay.size());
    text.remove_suffix(std::min(text.size(), kUnit.size()));
    if (!parse_number(text, milliseconds)) return false;
    fault.deed = Deed::delay;
    fault.delay = std::chrono::milliseconds(milliseconds);
    return true;
}

bool parse_setting(const Setting& setting, Fault& fault) {
    const auto& [item, name, value] = setting;
    if (name == "rank") return parse_number(value, fault.rank);
    if (name == "operation") return parse_number(value, fault.operation) && fault.operation > 0;
    if (name == "chunk") return parse_number(value, fault.chunk);
    return name == "do" && parse_deed(value, fault);
}

}  // namespace

sys::Result<Fault> parse_fault(std::string_view text) {
    Fault fault;
    bool does = false;
    const std::string_view all = text;
    while (!text.empty()) {
        const Setting setting = take_setting(text);
        does |= setting.name == "do";
        if (!parse_setting(setting, fault)) {
            return sys::Error{
                fmt::format("'{}' is not rank=NUMBER, operation=NUMBER (from 1), chunk=NUMBER or "
                            "do=kill|stop|exit|abort|delay:NUMBERms",
                            setting.item)};
        }
    }
    if (!all.empty() && (fault.rank < 0 || !does)) {
        return sys::Error{fmt::format("'{}' needs both rank= and do=", all)};
    }
    return fault;
}

sys::Result<Fault> fault_from_environment() {
    const char* text = std::getenv(kFaultVariable);
    auto fault = parse_fault(text == nullptr ? "" : text);
    if (!fault) return fault.error().in(kFaultVariable);
    return fault;
}

void FaultPoint::act() {
    switch (fault_.deed) {
        case Fault::Deed::kill:
            ::raise(SIGKILL);
            return;
        case Fault::Deed::stop:
            ::raise(SIGSTOP);
            return;
        case Fault::Deed::exit:
            ::_exit(0);
        case Fault::Deed::abort:
            node_.fail({BATCHAI_COLL_ERR_ABORTED,
                        fmt::format("rank {} has aborted: {}", fault_.rank, kFaultVariable)});
            return;
        case Fault::Deed::delay:
            std::this_thread::sleep_for(fault_.delay);
    }
}

}  // namespace batchai::coll
