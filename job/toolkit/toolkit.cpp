// SPDX-License-Identifier: Apache-2.0
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

const std::vector<ToolkitKind>& toolkit_kinds() {
    static const std::vector<ToolkitKind> kinds = {
        {"horovodSettings", "horovod", read_horovod},
        {"customMpiSettings", "custommpi", read_custom_mpi},
        {"customToolkitSettings", "custom", read_custom},
    };
    return kinds;
}

std::string toolkit_names() {
    std::string names;
    for (const ToolkitKind& kind : toolkit_kinds())
        names += (names.empty() ? "" : ", ") + std::string(kind.key);
    return names;
}

const std::vector<const char*>& unsupported_toolkits() {
    static const std::vector<const char*> keys = {"cntkSettings",   "pyTorchSettings",
                                                  "caffeSettings",  "tensorFlowSettings",
                                                  "caffe2Settings", "chainerSettings"};
    return keys;
}

std::string_view tool_type(const Toolkit& toolkit) {
    return toolkit_kinds()[toolkit.index()].type;
}

}  // namespace batchai::job
