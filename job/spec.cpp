// SPDX-License-Identifier: Apache-2.0
#include "job/spec.hpp"

#include <algorithm>
#include <tuple>

#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/toolkit/toolkit.hpp"
#include "job/volumes.hpp"
#include "sys/text.hpp"

namespace batchai::job {

namespace {

constexpr int kMaxNodes = 100'000;
// Linux refuses to start a program with a variable of 128 KiB; those named in a value may double
// it.
constexpr std::size_t kMaxVariable = 64 << 10;

void read_toolkit(Reader& properties, JobSpec& spec) {
    int found = 0;
    for (const ToolkitKind& kind : toolkit_kinds()) {
        auto settings = properties.object(kind.key);
        if (!settings) continue;
        if (++found > 1) properties.error(kind.key, "a job has one toolkit, this is a second one");
        spec.toolkit = kind.read(*settings);
        settings->finish();
    }
    for (const char* key : unsupported_toolkits()) {
        if (!properties.object(key)) continue;
        ++found;
        properties.error(key, "batchai does not run this toolkit; it runs " + toolkit_names());
    }
    for (const ToolkitKind& kind : toolkit_kinds())
        if (properties.has(kind.key)) return;  // of a wrong type: said already
    if (found == 0) properties.error("", "no toolkit; batchai runs " + toolkit_names());
}

void read_container(Reader& properties, JobSpec& spec) {
    auto container = properties.object("containerSettings");
    if (!container) return;
    if (auto source = container->required_object("imageSourceRegistry")) {
        const std::string image = source->required_string("image");
        if (!image.empty()) spec.image = image;
        source->ignore({"serverUrl", "credentials"});  // the site's images are not pulled
        source->finish();
    }
    if (container->has("shmSize"))
        container->warning("shmSize",
                           "ignored: on the host /dev/shm has the size the site gave it");
    container->ignore({"shmSize"});
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

// Variables that say where a job's files are: one that the user sets would contradict them.
bool is_reserved(const std::string& name) {
    return starts_with_any(name, {"AZ_BATCHAI_"}) || name == "AZ_BATCH_HOST_LIST" ||
           name == "BATCHAI_JOB_FILE" || name == "BATCHAI_POLICY" || name == "BATCHAI_NODE_READY";
}

// Those by which Slurm and PMIx tell a process which job and rank it is.
bool is_slurms(const std::string& name) {
    return starts_with_any(name, {"SLURM_", "SRUN_", "SBATCH_", "SALLOC_", "PMIX_", "PMI_"});
}

void check_variable(Reader& entry, const Variable& variable) {
    const std::string& name = variable.name;
    if (!name.empty() && !is_variable_name(name))
        entry.error("name", "'" + name + "' is not a name of a variable");
    if (is_reserved(name)) entry.error("name", "'" + name + "' is set by batchai");
    if (is_slurms(name))
        entry.error("name", "'" + name + "' is Slurm's or PMIx's to set, not the job's");
    if (name.size() + variable.value.size() > kMaxVariable)
        entry.error("value", "longer than 64 KiB: put it into a file on a share");
}

std::vector<Variable> read_variables(Reader& properties, const std::string& key) {
    std::vector<Variable> variables;
    for (Reader& entry : properties.objects(key)) {
        Variable variable{entry.required_string("name"), entry.string("value")};
        check_variable(entry, variable);
        if (entry.has("valueSecretReference"))
            entry.error("valueSecretReference",
                        "there is no key vault here: give the value in 'value'");
        entry.ignore({"valueSecretReference"});
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
        bool required;
    };
    const Field fields[] = {{"subscription", identity.subscription, true},
                            {"resourceGroup", identity.resource_group, true},
                            {"workspace", identity.workspace, true},
                            {"experiment", identity.experiment, true},
                            {"name", identity.name, true},
                            {"uuid", identity.uuid, true},
                            {"cluster", identity.cluster, false}};
    for (const Field& field : fields) {
        field.value =
            field.required ? reader->required_string(field.key) : reader->string(field.key);
        if (!field.value.empty() && !is_object_name(field.value))
            reader->error(field.key, "'" + field.value + "' is not a name");
    }
    reader->finish();
    spec.identity = identity;
}

// What the service knew and batchai does not carry out: an error where the job would miss it, a
// warning where it would not.
void read_the_rest(Reader& properties) {
    for (const char* key : {"inputDirectories", "outputDirectories"}) {
        if (!properties.objects(key).empty())
            properties.error(key,
                             "batchai does not set AZ_BATCHAI_INPUT_ and AZ_BATCHAI_OUTPUT_ "
                             "variables; use environmentVariables");
    }
    if (properties.object("constraints"))
        properties.warning("constraints", "ignored: the time limit is Slurm's, use --time");
    if (!properties.string("schedulingPriority").empty())
        properties.warning("schedulingPriority", "ignored: priorities are Slurm's, use --qos");
    // Of older API versions and of the command line: nothing that a job could miss.
    properties.ignore({"cluster", "experimentName", "priority", "toolType", "location"});
}

// An absolute path; it may begin with a directory's variable, and holds no other.
std::string read_output_prefix(Reader& properties) {
    const char* const key = "stdOutErrPathPrefix";
    const std::string prefix = properties.required_string(key);
    if (!prefix.empty() && !is_output_prefix(prefix))
        properties.error(key, "'" + prefix +
                                  "' is not an absolute path without '..': expected "
                                  "$AZ_BATCHAI_JOB_MOUNT_ROOT/VOLUME/DIRECTORY");
    return prefix;
}

void read_properties(Reader& properties, JobSpec& spec) {
    if (auto count = properties.integer("nodeCount", 1, kMaxNodes)) spec.node_count = *count;
    if (!properties.has("nodeCount")) properties.missing("nodeCount");
    spec.std_out_err_path_prefix = read_output_prefix(properties);
    spec.volumes = read_volumes(properties);
    read_container(properties, spec);
    read_preparation(properties, spec);
    spec.environment = read_variables(properties, "environmentVariables");
    spec.secrets = read_variables(properties, "secrets");
    read_toolkit(properties, spec);
    read_the_rest(properties);
    properties.finish();
}

}  // namespace

std::string Finding::text() const {
    std::string text = file;
    if (line > 0) text += ":" + std::to_string(line) + ":" + std::to_string(column);
    text += ": ";
    if (severity == Severity::note) text += "note: ";
    if (severity == Severity::warning) text += "warning: ";
    if (!path.empty()) text += path + ": ";
    text += message;
    // Names and values of the file are quoted in it: it stays one line all the same.
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

ParsedJob parse_job(const Document& document) {
    ParsedJob parsed;
    JobSpec spec;
    if (document.root().is_object()) {
        Reader root(document, document.root(), "", parsed.findings);
        if (auto properties = root.required_object("properties"))
            read_properties(*properties, spec);
        read_identity(root, spec);
        root.ignore({"$schema", "location"});
        root.finish();
    } else {
        parsed.findings.push_back(
            document.finding(Finding::Severity::error, "", "expected an object"));
    }
    sort(parsed.findings);
    if (!has_error(parsed.findings)) parsed.spec = spec;
    return parsed;
}

ParsedJob parse_job(std::string_view text, const std::string& file_name) {
    ParsedJob parsed;
    const auto document = Document::parse(text, file_name, parsed.findings);
    if (!document) return parsed;
    return parse_job(*document);
}

}  // namespace batchai::job
