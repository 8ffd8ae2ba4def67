// SPDX-License-Identifier: Apache-2.0
#include "job/spec.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "job/duration.hpp"
#include "job/expand.hpp"
#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/reader.hpp"
#include "job/size.hpp"
#include "job/toolkit/toolkit.hpp"
#include "job/volumes.hpp"
#include "sys/text.hpp"

namespace batchai::job {

namespace {

constexpr int kMaxNodes = 100'000;
// Linux refuses to start a program with a variable of 128 KiB. Variables in a value may double its
// length.
constexpr std::size_t kMaxVariable = 64 << 10;
constexpr std::size_t kMaxPath = 4095;

void read_toolkit(Reader& properties, JobSpec& spec) {
    int found = 0;
    for (const Toolkit& toolkit : toolkits()) {
        auto settings = properties.object(toolkit.key);
        if (!settings) {
            if (properties.has(toolkit.key)) ++found;  // a wrong type is reported already
            continue;
        }
        if (++found > 1)
            properties.error(toolkit.key, "a job has one toolkit, this is a second one");
        spec.toolkit.type = toolkit.type;
        spec.toolkit.key = settings->path();
        toolkit.read(*settings, spec.toolkit);
        settings->finish();
    }
    if (found == 0) properties.error("", "no toolkit; batchai runs " + toolkit_names());
}

void read_container(Reader& properties, JobSpec& spec) {
    auto container = properties.object("containerSettings");
    if (!container) return;
    if (auto source = container->required_object("imageSourceRegistry")) {
        const std::string image = source->required_string("image");
        if (!image.empty()) spec.image = image;
        for (const char* key : {"serverUrl", "credentials"})
            source->note_ignored(key, "the site's own images are used, none is pulled");
        source->finish();
    }
    if (const std::string size = container->string("shmSize"); !size.empty()) {
        spec.shm_size = parse_docker_size(size);
        if (!spec.shm_size)
            container->error("shmSize", "'" + size + "' is not a size such as 512m or 16gb");
    }
    container->finish();
}

void read_preparation(Reader& properties, JobSpec& spec) {
    auto preparation = properties.object("jobPreparation");
    if (!preparation) return;
    spec.preparation_command = preparation->required_string("commandLine");
    preparation->finish();
}

bool starts_with_any(const std::string& text, std::initializer_list<const char*> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const char* prefix) { return text.rfind(prefix, 0) == 0; });
}

// Variables with the paths of a job's files. A value of the user would contradict them.
bool is_reserved(const std::string& name) {
    return starts_with_any(name, {"AZ_BATCHAI_"}) || name == "AZ_BATCH_HOST_LIST" ||
           name == "AZ_BATCH_MASTER_NODE" || name == "BATCHAI_JOB_FILE" ||
           name == "BATCHAI_POLICY" || name == "BATCHAI_NODE_READY";
}

// Variables by which Slurm and PMIx tell a process its job and rank.
bool is_slurms(const std::string& name) {
    return starts_with_any(name, {"SLURM_", "SRUN_", "SBATCH_", "SALLOC_", "PMIX_", "PMI_"});
}

void check_variable(Reader& entry, const Variable& variable) {
    const std::string& name = variable.name;
    if (!name.empty() && !is_variable_name(name))
        entry.error("name", "'" + name + "' is not a name of a variable");
    if (is_reserved(name)) entry.error("name", "'" + name + "' is set by batchai");
    if (is_slurms(name))
        entry.error("name", "'" + name + "' is set by Slurm or PMIx: a job cannot set it");
    if (name.size() + variable.value.size() > kMaxVariable)
        entry.error("value", "longer than 64 KiB: put it into a file on a share");
}

// secret: the value may come from a reference.
std::vector<Variable> read_variables(Reader& properties, const std::string& key, bool secret) {
    std::vector<Variable> variables;
    for (Reader& entry : properties.objects(key)) {
        Variable variable{entry.required_string("name"), entry.string("value")};
        check_variable(entry, variable);
        if (secret) {
            variable.reference = read_secret_reference(entry, "valueSecretReference");
            if (variable.reference && entry.has("value"))
                entry.error("valueSecretReference",
                            "a secret has either this or 'value', not both");
            if (!variable.reference && !entry.has("value") && !entry.has("valueSecretReference"))
                entry.missing("value");
        }
        entry.finish();
        variables.push_back(variable);
    }
    return variables;
}

void read_identity(Reader& root, JobSpec& spec) {
    auto reader = root.object("batchai");
    if (!reader) return;
    Identity identity;
    struct Field {
        const char* key;
        std::string& value;
    };
    const Field fields[] = {{"subscription", identity.subscription},
                            {"resourceGroup", identity.resource_group},
                            {"workspace", identity.workspace},
                            {"experiment", identity.experiment},
                            {"name", identity.name},
                            {"uuid", identity.uuid}};
    for (const Field& field : fields) {
        field.value = reader->required_string(field.key);
        if (!field.value.empty() && !is_object_name(field.value))
            reader->error(field.key, "'" + field.value + "' is not a name");
    }
    identity.cluster = reader->string("cluster");
    const ClusterName cluster = cluster_of(identity);
    for (const std::string& part : {cluster.resource_group, cluster.workspace, cluster.name})
        if (!identity.cluster.empty() && !is_object_name(part))
            reader->error("cluster", "'" + part + "' is not a name");
    reader->ignore({"launch"});
    reader->finish();
    spec.identity = identity;
}

// The id becomes a part of a variable's name.
std::string read_id(Reader& entry, std::set<std::string>& others) {
    const std::string id = entry.required_string("id");
    if (!id.empty() && !is_variable_name("_" + id))
        entry.error("id", "'" + id + "' is not a part of a variable's name");
    if (!id.empty() && !others.insert(id).second)
        entry.error("id", "another directory of this job has the id '" + id + "'");
    return id;
}

void read_inputs(Reader& properties, JobSpec& spec) {
    std::set<std::string> ids;
    for (Reader& entry : properties.objects("inputDirectories")) {
        const std::string id = read_id(entry, ids);
        spec.inputs.push_back({id, entry.required_string("path")});
        if (spec.inputs.back().path.size() > kMaxPath)
            entry.error("path",
                        "longer than a path can be (" + std::to_string(kMaxPath) + " bytes)");
        entry.finish();
    }
}

// Replaces variables of input directories in a prefix by their paths, because only the path's name
// identifies its volume.
std::string with_inputs(const std::string& prefix, const JobSpec& spec) {
    Environment variables;
    for (const char* name : kDirectoryVariables) variables[name] = std::string("$") + name;
    for (const InputDirectory& input : spec.inputs)
        variables["AZ_BATCHAI_INPUT_" + input.id] = input.path;
    std::string unknown;
    std::string text = expand(prefix, variables, [&](const std::string& name) { unknown = name; });
    return unknown.empty() ? text : prefix;  // another variable: refused unchanged
}

OutputDirectory read_output(Reader& entry, const JobSpec& spec, std::set<std::string>& ids) {
    OutputDirectory output;
    output.key = entry.path();
    output.id = read_id(entry, ids);
    if (output.id == "stdouterr")
        entry.error("id", "'stdouterr' is the id of the job's standard output: choose another one");
    output.path_prefix = with_inputs(entry.required_string("pathPrefix"), spec);
    output.path_suffix = entry.string("pathSuffix");
    output.is_made = entry.boolean("createNew").value_or(true);
    while (output.path_suffix.starts_with('/')) output.path_suffix.erase(0, 1);
    output.path_suffix = without_trailing_slashes(output.path_suffix);
    if (!output.path_suffix.empty() && !is_absolute_path("/" + output.path_suffix))
        entry.error("pathSuffix", "'" + output.path_suffix +
                                      "' is not a path below the job's directory: no '..'");
    if (output.is_made && !output.path_prefix.empty() && !is_output_prefix(output.path_prefix))
        entry.error("pathPrefix", "'" + output.path_prefix +
                                      "' is not an absolute path without '..': expected "
                                      "$AZ_BATCHAI_JOB_MOUNT_ROOT/VOLUME/DIRECTORY");
    entry.note_ignored("type", "what a directory holds makes no difference");
    entry.finish();
    return output;
}

void read_outputs(Reader& properties, JobSpec& spec) {
    std::set<std::string> ids;
    for (Reader& entry : properties.objects("outputDirectories"))
        spec.outputs.push_back(read_output(entry, spec, ids));
}

// cluster.id ends in "/clusters/NAME", or is the name.
void read_cluster(Reader& properties, JobSpec& spec) {
    auto cluster = properties.object("cluster");
    if (!cluster) return;
    const std::string id = cluster->required_string("id");
    spec.cluster = id.substr(id.rfind('/') + 1);
    if (!id.empty() && !is_object_name(spec.cluster))
        cluster->error("id", "'" + id + "' does not end in the name of a cluster");
    cluster->finish();
}

void read_constraints(Reader& properties, JobSpec& spec) {
    auto constraints = properties.object("constraints");
    if (!constraints) return;
    const char* const key = "maxWallClockTime";
    if (const std::string text = constraints->string(key); !text.empty()) {
        spec.time_limit = parse_duration(text);
        if (!spec.time_limit)
            constraints->error(key, "'" + text +
                                        "' is not a duration of 1 second to 366 days such as "
                                        "PT1H30M, P7D or 7.00:00:00");
    }
    constraints->finish();
}

void read_priority(Reader& properties, JobSpec& spec) {
    const char* const key = "schedulingPriority";
    const std::string text = properties.string(key);
    if (text.empty()) return;
    const auto priority = priority_of(lower_case(text));
    if (priority)
        spec.priority = *priority;
    else
        properties.error(key, "'" + text + "' is not one of low, normal and high");
}

// Notes keys that the service used and batchai ignores.
void read_the_rest(Reader& properties) {
    properties.note_ignored("priority", "of an early version: use schedulingPriority");
    properties.note_ignored("experimentName", "name the experiment with --experiment");
    properties.note_ignored("location", "the job runs on this site's cluster");
    properties.note_ignored("toolType", "the toolkit's settings say which it is");
}

// An absolute path. It may start with the variable of a directory or of an input directory, and has
// no other variable.
std::string read_output_prefix(Reader& properties, const JobSpec& spec) {
    const char* const key = "stdOutErrPathPrefix";
    const std::string prefix = with_inputs(properties.required_string(key), spec);
    if (!prefix.empty() && !is_output_prefix(prefix))
        properties.error(key, "'" + prefix +
                                  "' is not an absolute path without '..': expected "
                                  "$AZ_BATCHAI_JOB_MOUNT_ROOT/VOLUME/DIRECTORY");
    return prefix;
}

void read_properties(Reader& properties, JobSpec& spec) {
    if (auto count = properties.integer("nodeCount", 1, kMaxNodes)) spec.node_count = *count;
    if (!properties.has("nodeCount")) properties.missing("nodeCount");
    spec.volumes = read_volumes(properties);
    read_container(properties, spec);
    read_preparation(properties, spec);
    spec.environment = read_variables(properties, "environmentVariables", false);
    spec.secrets = read_variables(properties, "secrets", true);
    read_inputs(properties, spec);
    spec.std_out_err_path_prefix = read_output_prefix(properties, spec);
    read_outputs(properties, spec);
    read_toolkit(properties, spec);
    read_cluster(properties, spec);
    read_priority(properties, spec);
    read_constraints(properties, spec);
    read_the_rest(properties);
    properties.finish();
}

}  // namespace

std::optional<Priority> priority_of(std::string_view name) {
    if (name == "low") return Priority::low;
    if (name == "normal") return Priority::normal;
    if (name == "high") return Priority::high;
    return std::nullopt;
}

ClusterName cluster_of(const Identity& identity) {
    const std::string& text = identity.cluster;
    const auto group = text.find('/');
    if (group == text.npos) return {identity.resource_group, identity.workspace, text};
    const auto workspace = text.find('/', group + 1);
    return {text.substr(0, group), text.substr(group + 1, workspace - group - 1),
            text.substr(workspace + 1)};
}

std::string cluster_text(const Identity& identity, const ClusterName& cluster) {
    const auto own = [](const std::string& part, const std::string& job) {
        return part.empty() ? job : part;
    };
    const std::string group = own(cluster.resource_group, identity.resource_group);
    const std::string workspace = own(cluster.workspace, identity.workspace);
    const bool near = group == identity.resource_group && workspace == identity.workspace;
    return near || cluster.name.empty() ? cluster.name
                                        : group + "/" + workspace + "/" + cluster.name;
}

std::string Finding::text() const {
    std::string text = file;
    if (line > 0) text += ":" + std::to_string(line) + ":" + std::to_string(column);
    text += ": ";
    if (severity == Severity::note) text += "note: ";
    if (severity == Severity::warning) text += "warning: ";
    if (!path.empty()) text += path + ": ";
    text += message;
    // It quotes names and values of the file, and stays one line.
    return sys::printable(text);
}

bool has_error(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.severity == Finding::Severity::error;
    });
}

void sort(std::vector<Finding>& findings) {
    std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    });
}

JobSpec read_job(const Document& document, std::vector<Finding>& findings) {
    JobSpec spec;
    if (document.root().is_object()) {
        Reader root(document, document.root(), "", findings);
        if (auto properties = root.required_object("properties"))
            read_properties(*properties, spec);
        read_identity(root, spec);
        root.ignore({"$schema"});
        root.note_ignored("location", "the job runs on this site's cluster");
        root.finish();
    } else {
        findings.push_back(document.finding(Finding::Severity::error, "", "expected an object"));
    }
    sort(findings);
    return spec;
}

ParsedJob parse_job(std::shared_ptr<Document> document) {
    ParsedJob parsed;
    JobSpec spec = read_job(*document, parsed.findings);
    if (!has_error(parsed.findings)) parsed.spec = std::move(spec);
    parsed.document = std::move(document);
    return parsed;
}

ParsedJob parse_job(std::string_view text, const std::string& file_name) {
    ParsedJob parsed;
    auto document = Document::parse(text, file_name, parsed.findings);
    if (!document) return parsed;
    return parse_job(std::make_shared<Document>(*std::move(document)));
}

}  // namespace batchai::job
