// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/gpus.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace batchai::launcher {
namespace {

std::vector<std::string> words(const std::string& list) {
    std::vector<std::string> parts;
    std::istringstream stream(list);
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    return parts;
}

std::optional<int> number(const std::string& text) {
    int value = 0;
    const auto end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || value < 0) return std::nullopt;
    return value;
}

struct Gpu {
    std::string address, uuid;
    int minor = -1;  // minor number of its device file
};

// The text after "Key:", without leading spaces.
std::string value_in(const std::string& line, const std::string& key) {
    if (!line.starts_with(key + ":")) return {};
    const auto begin = line.find_first_not_of(" \t", key.size() + 1);
    return begin == line.npos ? std::string() : line.substr(begin);
}

// Sorted by PCI address. nvidia-smi uses this order too, and so does CUDA for GPUs of one model.
std::vector<Gpu> gpus_of_driver(const std::string& driver) {
    std::vector<Gpu> gpus;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(driver, error)) {
        Gpu gpu;
        gpu.address = entry.path().filename();
        std::ifstream information(entry.path() / "information");
        for (std::string line; std::getline(information, line);) {
            if (const auto uuid = value_in(line, "GPU UUID"); !uuid.empty()) gpu.uuid = uuid;
            if (const auto minor = number(value_in(line, "Device Minor"))) gpu.minor = *minor;
        }
        gpus.push_back(std::move(gpu));
    }
    std::sort(gpus.begin(), gpus.end(),
              [](const Gpu& a, const Gpu& b) { return a.address < b.address; });
    return gpus;
}

template <class Is>
std::string address_of(const std::vector<Gpu>& gpus, Is is) {
    const auto found = std::find_if(gpus.begin(), gpus.end(), is);
    return found == gpus.end() ? std::string() : found->address;
}

// The index at the start of a word, as strtoul reads it: "+1gpu" is 1; nothing for "-1" and "gpu".
std::optional<std::string> index_of(const std::string& word) {
    const auto begin = word.find_first_not_of(" \t");
    if (begin == word.npos) return std::nullopt;
    const auto digits = begin + (word[begin] == '+' ? 1 : 0);
    const auto end = std::min(word.find_first_not_of("0123456789", digits), word.size());
    const auto index = number(word.substr(digits, end - digits));
    return index ? std::optional(std::to_string(*index)) : std::nullopt;
}

std::vector<std::string> devices_in(const env::Environment& environment) {
    auto devices = visible_devices(env::value_of(environment, "CUDA_VISIBLE_DEVICES"));
    return devices ? *std::move(devices) : std::vector<std::string>();
}

}  // namespace

sys::Result<std::vector<std::string>> visible_devices(const std::string& list) {
    std::string kind;
    for (const char* prefix : {"GPU-", "MIG-"})
        if (list.starts_with(prefix)) kind = prefix;
    std::vector<std::string> devices;
    for (const std::string& word : words(list)) {
        const auto device = kind.empty()             ? index_of(word)
                            : word.starts_with(kind) ? std::optional(word)
                                                     : std::nullopt;
        if (!device) break;
        if (std::find(devices.begin(), devices.end(), *device) != devices.end())
            return sys::Error{fmt::format(
                "CUDA_VISIBLE_DEVICES={}: {} is there twice, and CUDA then finds no GPU at all. "
                "Name each GPU once",
                list, *device)};
        devices.push_back(*device);
    }
    return devices;
}

sys::Result<int> count_gpus(const env::Environment& environment, const std::string& driver) {
    if (const auto found = environment.find("SLURM_GPUS_ON_NODE"); found != environment.end()) {
        return number(found->second).value_or(0);
    }
    if (const auto found = environment.find("CUDA_VISIBLE_DEVICES"); found != environment.end()) {
        const auto devices = visible_devices(found->second);
        if (!devices) return devices.error();
        return static_cast<int>(devices->size());
    }
    if (environment.contains("SLURM_JOB_ID")) return 0;
    return static_cast<int>(gpus_of_driver(driver).size());
}

std::vector<int> gpus_of_rank(int local_rank, int local_size, int gpus) {
    std::vector<int> own;
    if (gpus == 0) return own;
    own.push_back(local_rank % gpus);
    for (int gpu = local_rank + local_size; gpu < gpus; gpu += local_size) own.push_back(gpu);
    return own;
}

// Slurm names the device files. CUDA counts from the first GPU of the machine or, in a cgroup, from
// the first GPU of the job.
std::vector<std::string> gpu_addresses(const env::Environment& environment, int count,
                                       const std::string& driver) {
    const std::vector<Gpu> all = gpus_of_driver(driver);
    const std::vector<std::string> visible = devices_in(environment);
    std::vector<std::string> minors = words(env::value_of(environment, "SLURM_STEP_GPUS"));
    if (minors.empty()) minors = words(env::value_of(environment, "SLURM_JOB_GPUS"));
    const auto size = static_cast<std::size_t>(count);
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < size; ++i) {
        const std::string name = visible.size() == size ? visible[i] : std::to_string(i);
        if (name.starts_with("GPU-")) {
            addresses.push_back(
                address_of(all, [&](const Gpu& gpu) { return gpu.uuid.starts_with(name); }));
        } else if (minors.size() == size) {
            addresses.push_back(
                address_of(all, [&](const Gpu& gpu) { return number(minors[i]) == gpu.minor; }));
        } else if (const auto place = number(name);
                   place && *place < static_cast<int>(all.size())) {
            addresses.push_back(all[*place].address);
        } else {
            return {};
        }
        if (addresses.back().empty()) return {};
    }
    return addresses;
}

bool are_parts(const env::Environment& environment) {
    const std::vector<std::string> all = devices_in(environment);
    return !all.empty() && all.front().starts_with("MIG-");
}

std::string visible_gpus(const env::Environment& environment, int count,
                         const std::vector<int>& gpus) {
    const std::vector<std::string> all = devices_in(environment);
    std::vector<std::string> own;
    for (const int gpu : gpus) {
        own.push_back(static_cast<int>(all.size()) == count ? all[gpu] : std::to_string(gpu));
    }
    return fmt::format("{}", fmt::join(own, ","));
}

}  // namespace batchai::launcher
