// SPDX-License-Identifier: Apache-2.0
//
// A site policy, and the questions that are put to one that was believed.
#include "job/container.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace batchai::job;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const ParsedPolicy parsed = parse_policy(text, "batchai.toml");
    fuzz::must_be_lines(parsed.findings);
    fuzz::must(parsed.policy.has_value() == !has_error(parsed.findings), "a policy or an error",
               "");
    if (!parsed.policy) return 0;
    fuzz::must(parsed.policy->mount_root.starts_with('/'), "mount_root is absolute",
               parsed.policy->mount_root);
    fuzz::must(parsed.policy->job_temp.starts_with('/'), "job_temp is absolute",
               parsed.policy->job_temp);
    for (const auto* entry : file_systems(*parsed.policy))
        fuzz::must(kind_of(entry->type).is_remote    ? !entry->source.empty()
                   : entry->type == MountType::tmpfs ? entry->source.empty()
                                                     : entry->source.starts_with('/'),
                   "a local source is absolute", entry->source);
    const ContainerPlaces places{"/run/batchai/mnt", "/tmp", "/home/u", 1000, 1000};
    for (const auto& image : parsed.policy->images) {
        fuzz::must(image.in_container() == !image.image.empty(), "a container has an image",
                   image.name);
        const auto prefix = container_prefix(*parsed.policy, image, places);
        fuzz::must(prefix && prefix->empty() == !image.in_container(), "a container has a command",
                   image.run_on);
        fuzz::must(prefix->empty() || prefix->front().starts_with('/'), "a runtime is a path",
                   image.run_on);
    }
    (void)resolve_image(*parsed.policy, "tensorflow/tensorflow:1.8.0-gpu");
    (void)resolve_preparation(*parsed.policy, JobSpec{});
    return 0;
}
