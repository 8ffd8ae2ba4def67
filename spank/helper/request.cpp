// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/request.hpp"

#include <algorithm>

#include "spank/helper/files.hpp"
#include "spank/protocol.hpp"
#include "sys/text.hpp"

namespace batchai::spank {
namespace {

sys::Result<Request> read_fields(const Fields& fields) {
    Request request;
    unsigned gpus = 0;
    unsigned in_place = 0;
    unsigned step = 0;
    const std::pair<const char*, unsigned*> numbers[] = {
        {"id", &request.job_id},    {"restart", &request.restart}, {"step", &step},
        {"uid", &request.user.uid}, {"gid", &request.user.gid},    {"gpus", &gpus},
        {"in_place", &in_place}};
    for (const auto& [name, value] : numbers) {
        const auto number = fields.number(name);
        if (!number) return number.error();
        *value = *number;
    }
    request.gpus = static_cast<int>(std::min(gpus, 1024U));
    request.in_place = in_place != 0;
    request.step = static_cast<pid_t>(step);
    for (const auto& group : split_nonempty(fields.get("groups"), ',')) {
        Fields one;
        one.add("groups", group);
        const auto number = one.number("groups");
        if (!number) return number.error();
        request.user.groups.push_back(*number);
    }
    request.name = fields.get("name");
    if (!is_file_name(request.name))
        return sys::Error{"name: '" + request.name +
                          "' is not a name of a file: ClusterName in slurm.conf may have letters, "
                          "digits, '-', '_' and '.'"};
    request.node = fields.get("node");
    if (!is_file_name(request.node)) return sys::Error{"node: not a node's name"};
    request.hosts = split_nonempty(fields.get("hosts"), ',');
    if (request.hosts.empty()) return sys::Error{"hosts: none"};
    request.tasks = sys::expand_counts(fields.get("tasks"));
    if (request.tasks.size() != request.hosts.size()) request.tasks.clear();
    if (!fields.get("array_task").empty()) {
        const auto number = fields.number("array_task");
        if (!number) return number.error();
        request.array_task = *number;
    }
    if (!fields.get("array").empty()) {
        const auto number = fields.number("array");
        if (!number) return number.error();
        request.array = *number;
    }
    request.submit_directory = fields.get("submit_dir");
    request.job_file = fields.get(kOptions[kJob].name);
    request.mounts = fields.get(kOptions[kMount].name);
    request.preparation = fields.get(kOptions[kPrep].name);
    request.output = fields.get(kOptions[kOutput].name);
    return request;
}

}  // namespace

sys::Result<Request> parse_request(std::string_view text) {
    const auto fields = Fields::parse(text);
    if (!fields) return fields.error().in("request");
    auto request = read_fields(*fields);
    if (!request) return request.error().in("request");
    return request;
}

}  // namespace batchai::spank
