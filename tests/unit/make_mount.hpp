// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/mount.hpp"

inline batchai::job::Mount make_mount(batchai::job::MountType type, const std::string& source,
                                      const std::string& target = "",
                                      const batchai::job::EntryName& entry = {},
                                      const std::string& directory = "") {
    batchai::job::Mount mount;
    mount.type = type;
    mount.source = source;
    mount.target = target;
    mount.entry = entry;
    mount.directory = directory;
    return mount;
}
