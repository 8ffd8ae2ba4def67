// SPDX-License-Identifier: Apache-2.0
#include "cli/output/shape.hpp"

namespace batchai::cli {

using nlohmann::json;

json shaped(const json& value, const json& shape) {
    json result = value;
    if (shape.is_object() && value.is_object()) {
        result = json::object();
        for (const auto& [key, inner] : shape.items())
            result[key] = shaped(value.value(key, json()), inner);
    } else if (shape.is_array() && value.is_array()) {
        for (auto& item : result) item = shaped(item, shape.front());
    } else if (value.is_null() && !shape.is_structured()) {
        result = shape;
    }
    return result;
}

const json& mount_volumes_shape() {
    static const json shape = json::parse(R"({
        "azureBlobFileSystems": [{
            "accountName": null, "containerName": null,
            "credentials": {"accountKey": null, "accountKeySecretReference": null},
            "mountOptions": null, "relativeMountPath": null}],
        "azureFileShares": [{
            "accountName": null, "azureFileUrl": null,
            "credentials": {"accountKey": null, "accountKeySecretReference": null},
            "directoryMode": "0777", "fileMode": "0777", "relativeMountPath": null}],
        "fileServers": [{
            "fileServer": {"id": null}, "mountOptions": null, "relativeMountPath": null,
            "sourceDirectory": null}],
        "unmanagedFileSystems": [{"mountCommand": null, "relativeMountPath": null}]})");
    return shape;
}

}  // namespace batchai::cli
