// SPDX-License-Identifier: Apache-2.0
#include "job/parameter_file.hpp"

#include <initializer_list>

#include "job/reader.hpp"
#include "job/toolkit/toolkit.hpp"
#include "job/volumes.hpp"

namespace batchai::job {

namespace {

constexpr int kMostNodes = 100'000;
constexpr int kMostDisks = 1'000'000;

// Strings that the caller reads, or that have no effect here.
void read_strings(Reader& reader, std::initializer_list<const char*> keys) {
    for (const char* key : keys) reader.string(key);
}

void read_id(Reader& parent, const char* key) {
    auto reader = parent.object(key);
    if (!reader) return;
    reader->required_string("id");
    reader->finish();
}

void read_user(Reader& parent) {
    auto user = parent.object("userAccountSettings");
    if (!user) return;
    read_strings(*user, {"adminUserName", "adminUserPassword", "adminUserSshPublicKey"});
    user->finish();
}

void read_scale(Reader& properties) {
    auto scale = properties.object("scaleSettings");
    if (!scale) return;
    const auto count = [](Reader& reader, const char* key) { reader.integer(key, 0, kMostNodes); };
    if (auto manual = scale->object("manual")) {
        count(*manual, "targetNodeCount");
        manual->string("nodeDeallocationOption");
        manual->finish();
    }
    if (auto automatic = scale->object("autoScale")) {
        for (const char* key : {"minimumNodeCount", "maximumNodeCount"}) {
            if (!automatic->has(key)) automatic->missing(key);
            count(*automatic, key);
        }
        count(*automatic, "initialNodeCount");
        automatic->finish();
        if (scale->has("manual")) scale->error("autoScale", "a cluster has either this or manual");
    }
    scale->finish();
}

void read_image(Reader& properties) {
    auto machine = properties.object("virtualMachineConfiguration");
    if (!machine) return;
    if (auto image = machine->object("imageReference")) {
        read_strings(*image, {"publisher", "offer", "sku", "version", "virtualMachineImageId"});
        image->finish();
    }
    machine->finish();
}

void read_setup_task(Reader& setup) {
    auto task = setup.object("setupTask");
    if (!task) return;
    task->required_string("commandLine");
    read_strings(*task, {"stdOutErrPathPrefix", "stdOutErrPathSuffix"});
    task->boolean("runElevated");
    for (const char* key : {"environmentVariables", "secrets"})
        for (Reader& variable : task->objects(key)) {
            variable.required_string("name");
            variable.string("value");
            read_secret_reference(variable, "valueSecretReference");
            variable.finish();
        }
    task->finish();
}

void read_setup(Reader& properties) {
    auto setup = properties.object("nodeSetup");
    if (!setup) return;
    read_volumes(*setup);
    read_setup_task(*setup);
    setup->object("performanceCountersSettings");
    setup->finish();
}

// A job file, which another command takes.
void refuse_job(Reader& properties) {
    const auto refuse = [&properties](const std::string& key) {
        if (properties.has(key))
            properties.error(key, "is of a job file: 'batchai job create -f' takes it");
        properties.ignore({key.c_str()});
    };
    for (const Toolkit& toolkit : toolkits()) refuse(toolkit.key);
    for (const char* key : {"nodeCount", "stdOutErrPathPrefix"}) refuse(key);
}

void read_cluster(Reader& properties) {
    refuse_job(properties);
    read_strings(properties, {"vmSize", "vmPriority"});
    read_scale(properties);
    read_image(properties);
    read_setup(properties);
    read_user(properties);
    read_id(properties, "subnet");
}

void read_file_server(Reader& properties) {
    refuse_job(properties);
    properties.string("vmSize");
    if (auto disks = properties.object("dataDisks")) {
        disks->integer("diskCount", 1, kMostDisks);
        disks->integer("diskSizeInGB", 1, kMostDisks);
        read_strings(*disks, {"cachingType", "storageAccountType"});
        disks->finish();
    }
    if (auto ssh = properties.object("sshConfiguration")) {
        ssh->ignore({"publicIPsToAllow", "publicIpsToAllow"});
        read_user(*ssh);
        ssh->finish();
    }
    read_id(properties, "subnet");
}

std::vector<Finding> check(std::string_view text, const std::string& file_name,
                           void (*read)(Reader&)) {
    std::vector<Finding> findings;
    const auto document = Document::parse(text, file_name, findings);
    if (!document) return findings;
    if (!document->root().is_object()) {
        findings.push_back(document->finding(Finding::Severity::error, "", "expected an object"));
        return findings;
    }
    Reader root(*document, document->root(), "", findings);
    root.ignore({"$schema", "location", "name", "tags"});
    if (root.has("properties")) {
        if (auto properties = root.object("properties")) {
            read(*properties);
            properties->finish();
        }
    } else {
        read(root);
    }
    root.finish();
    sort(findings);
    return findings;
}

}  // namespace

std::vector<Finding> check_cluster_file(std::string_view text, const std::string& file_name) {
    return check(text, file_name, read_cluster);
}

std::vector<Finding> check_file_server_file(std::string_view text, const std::string& file_name) {
    return check(text, file_name, read_file_server);
}

}  // namespace batchai::job
