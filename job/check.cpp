// SPDX-License-Identifier: Apache-2.0
#include "job/check.hpp"

#include <algorithm>
#include <string_view>

#include "job/check_texts.hpp"
#include "job/container.hpp"
#include "job/document.hpp"
#include "job/layout.hpp"
#include "job/plan.hpp"
#include "job/reader.hpp"
#include "job/volumes.hpp"
#include "sys/text.hpp"

namespace batchai::job {

namespace {

class Checker {
  public:
    Checker(const Document& document, const SitePolicy& policy, const CheckOptions& options,
            ParsedJob& parsed)
        : document_(document), policy_(policy), options_(options), parsed_(parsed) {}

    void run() {
        fill_in_account();
        if (has_error(parsed_.findings)) {
            check_what_is_right();
            parsed_.spec.reset();
            return;
        }
        check_volumes();
        check_output();
        check_inputs();
        check_outputs();
        check_image();
        check_shm_size();
        check_secrets();
        check_priority();
        check_preparation();
        check_node_count();
        tell_cluster();
        check_servers();
        check_texts(document_, *parsed_.spec, policy_, options_, parsed_.findings);
        sort(parsed_.findings);
        if (has_error(parsed_.findings)) parsed_.spec.reset();
    }

  private:
    void say(Finding::Severity severity, const std::string& path, const std::string& message) {
        parsed_.findings.push_back(document_.finding(severity, path, message));
    }
    void error(const std::string& path, const std::string& message) {
        say(Finding::Severity::error, path, message);
    }

    // Checks the rest of a file with errors against the policy, so that the user sees all errors at
    // once.
    void check_what_is_right() {
        check_volumes();
        const bool wrong_volumes = is_wrong("properties.mountVolumes");
        if (!wrong_volumes && !is_wrong("properties.stdOutErrPathPrefix")) check_output();
        if (!is_wrong("properties.containerSettings")) check_image();
        if (!is_wrong("properties.nodeCount")) check_node_count();
        sort(parsed_.findings);
    }

    // An error at a path or below it.
    bool is_wrong(const std::string& path) const {
        return std::any_of(parsed_.findings.begin(), parsed_.findings.end(),
                           [&path](const Finding& finding) {
                               return finding.severity == Finding::Severity::error &&
                                      finding.path.starts_with(path);
                           });
    }

    void fill_in_account() {
        fill_in(parsed_.spec->volumes, options_.storage_account.value_or(""), options_.storage_key);
    }

    void check_volumes() {
        const std::size_t count =
            volumes_of(*parsed_.spec, policy_).size() + options_.mounted.size();
        if (auto few = check_count(count); !few)
            error("properties.mountVolumes", few.error().message);
        for (const Volume& volume : parsed_.spec->volumes) {
            if (is_wrong(volume.key)) continue;
            const auto mount = plan_mount(volume, policy_);
            const auto directory = login_path(
                *parsed_.spec, policy_, "$AZ_BATCHAI_JOB_MOUNT_ROOT/" + volume.relative_mount_path);
            if (!mount)
                error(volume.key + "." + kind_of(volume.kind).name_key, mount.error().message);
            else if (!volume.directory.empty() && directory && options_.is_missing &&
                     options_.is_missing(*directory))
                error(volume.key + "." + kind_of(volume.kind).directory_key,
                      "'" + volume.directory + "' is not a directory of " + describe(volume) +
                          ": make " + *directory);
            else
                check_options(volume, (*resolve_volume(policy_, volume))->file_system);
        }
    }

    // Notes options of a mount that the site does not let jobs set.
    void check_options(const Volume& volume, const FileSystem& file_system) {
        for (const auto& option : grant_options(file_system, volume.mount_options).ignored)
            say(Finding::Severity::note, volume.key + ".mountOptions",
                "'" + option + "' is ignored: the site policy does not let jobs set it");
        if (kind_of(file_system.type).has_modes) return;
        for (const auto& [key, mode] :
             {std::pair{".fileMode", volume.file_mode}, {".directoryMode", volume.directory_mode}})
            if (mode)
                say(Finding::Severity::note, volume.key + key,
                    "ignored: the files keep their modes, as it is a " + name_of(file_system.type) +
                        " mount here");
    }

    void check_output() {
        const char* const path = "properties.stdOutErrPathPrefix";
        const JobSpec& spec = *parsed_.spec;
        const std::string& prefix = spec.std_out_err_path_prefix;
        if (is_in_mount_root(prefix) && !volume_of(spec, policy_, prefix))
            error(path, no_volume(prefix));
        if (const std::string gone = no_service_path(prefix, policy_, options_); !gone.empty())
            error(path, gone);
        if (is_in_job_temp(prefix)) tell_lost(path, prefix);
        const auto identity = spec.identity ? spec.identity : options_.identity;
        const auto directory =
            identity ? login_stdouterr_directory(spec, policy_, *identity) : std::nullopt;
        check_writable(path, prefix, directory ? shared_part(*directory) : "");
    }

    void tell_lost(const std::string& path, const std::string& prefix) {
        say(Finding::Severity::warning, path,
            "'" + prefix +
                "' is removed from each node with the job: write "
                "$AZ_BATCHAI_JOB_MOUNT_ROOT/VOLUME/... for output that is to stay");
    }

    // The preparation may still make what is below a volume.
    void check_inputs() {
        const JobSpec& spec = *parsed_.spec;
        for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
            const std::string key = "properties.inputDirectories[" + std::to_string(i) + "].path";
            const std::string& path = spec.inputs[i].path;
            if (is_in_mount_root(path) && !volume_of(spec, policy_, path))
                say(Finding::Severity::warning, key,
                    "'" + path + "' is on no volume of this job: the job will not find it");
            else if (const std::string gone = no_service_path(path, policy_, options_);
                     !gone.empty())
                say(Finding::Severity::warning, key, gone);
            else if (!path.empty() && path.front() != '/' && !path.starts_with("$AZ_BATCHAI_") &&
                     !path.starts_with("${AZ_BATCHAI_"))
                say(Finding::Severity::warning, key, unclear_input(path));
            const auto there = login_path(spec, policy_, path);
            if (there && options_.is_missing && options_.is_missing(*there))
                say(Finding::Severity::warning, key,
                    "'" + path + "' is not there yet: upload it to " + *there);
        }
    }

    static std::string unclear_input(const std::string& path) {
        if (path.front() == '~' || path.front() == '$')
            return "'" + path +
                   "' stays as it is: only $AZ_BATCHAI_ variables are replaced in a path";
        return "'" + path +
               "' is looked for in $AZ_BATCHAI_JOB_TEMP/wd, where the job starts: write "
               "$AZ_BATCHAI_JOB_MOUNT_ROOT/... for a directory of a share";
    }

    void check_outputs() {
        const JobSpec& spec = *parsed_.spec;
        for (const RefusedOutput& refused : refused_outputs(spec, policy_)) {
            const std::string gone =
                no_service_path(refused.directory->path_prefix, policy_, options_);
            error(refused.directory->key + ".pathPrefix", gone.empty() ? refused.message : gone);
        }
        for (const OutputDirectory& output : spec.outputs) {
            if (!output.is_made) continue;
            if (is_in_job_temp(output.path_prefix))
                tell_lost(output.key + ".pathPrefix", output.path_prefix);
            check_writable(output.key + ".pathPrefix", output.path_prefix, "");
            tell_container_of(output);
        }
    }

    // Only the container's own command says which other directories it has.
    void tell_container_of(const OutputDirectory& output) {
        const auto image = resolve_image(policy_, *parsed_.spec);
        if (!image || !image->in_container() || output.path_prefix.starts_with('$')) return;
        say(Finding::Severity::warning, output.key + ".pathPrefix",
            "'" + output.path_prefix + "' is in the container only if [container." + image->run_on +
                "] of " + policy_.file + " binds it: ask the site's admin");
    }

    // Checks that the user can make directories in a prefix, if the login node can tell. shared:
    // the part of the directory that several jobs share, if it is known already.
    void check_writable(const std::string& path, const std::string& prefix,
                        const std::string& shared) {
        const JobSpec& spec = *parsed_.spec;
        const auto volume = volume_of(spec, policy_, prefix);
        if (!volume || !options_.writable || !has_modes_of_share(*volume)) return;
        const auto base =
            login_path(spec, policy_, "$AZ_BATCHAI_JOB_MOUNT_ROOT/" + volume->relative_mount_path);
        const auto directory = login_path(spec, policy_, prefix);
        if (!base || !directory) return;
        const auto writable = options_.writable(*base, shared.empty() ? *directory : shared);
        if (!writable) error(path, writable.error().message);
    }

    // True if the login node and the job see the same owners and modes on the volume.
    bool has_modes_of_share(const Volume& volume) const {
        const auto found = resolve_volume(policy_, volume);
        return found && kind_of((*found)->file_system.type).has_owners;
    }

    void check_image() {
        if (!parsed_.spec->image) return;
        const char* const path = "properties.containerSettings.imageSourceRegistry.image";
        const auto image = resolve_image(policy_, *parsed_.spec->image);
        if (!image)
            error(path, image.error().message);
        else
            say(Finding::Severity::note, path, image->say);
    }

    void check_shm_size() {
        if (!parsed_.spec->shm_size) return;
        const auto image = resolve_image(policy_, *parsed_.spec);
        if (!image || has_shm_size(policy_, *image)) return;
        say(Finding::Severity::note, "properties.containerSettings.shmSize",
            image->in_container()
                ? "ignored: [container." + image->run_on + "] of " + policy_.file +
                      " has no {shm_size}: /dev/shm has the size that the site gave it"
                : "ignored: the job runs on the host, whose /dev/shm has the size that the site "
                  "gave it");
    }

    void check_secret(const SecretReference& reference, const std::string& path) {
        const auto secret = resolve_secret(policy_, reference);
        if (!secret) return error(path, secret.error().message);
        if (!options_.user) return;
        if (const auto may = may_use(**secret, reference, *options_.user); !may)
            error(path, may.error().message);
    }

    void check_secrets() {
        const JobSpec& spec = *parsed_.spec;
        for (std::size_t i = 0; i < spec.secrets.size(); ++i)
            if (spec.secrets[i].reference)
                check_secret(*spec.secrets[i].reference,
                             "properties.secrets[" + std::to_string(i) + "].valueSecretReference");
        for (const Volume& volume : spec.volumes) {
            const auto found = resolve_volume(policy_, volume);
            if (!volume.key_reference || !found) continue;
            const std::string path = volume.key + ".credentials.accountKeySecretReference";
            if ((*found)->file_system.credentials.kind == CredentialsSource::Kind::job)
                check_secret(*volume.key_reference, path);
            else
                say(Finding::Severity::note, path,
                    "ignored: this site mounts the volume without the account's key");
        }
    }

    void check_priority() {
        const Priority priority = parsed_.spec->priority;
        const std::string option = priority_option(policy_, priority);
        const char* const path = "properties.schedulingPriority";
        if (!option.empty())
            say(Finding::Severity::note, path,
                "'batchai job create' submits the job with " + option +
                    ", unless its command line has --nice or --qos; sbatch and 'batchai job run' "
                    "do not");
        else if (priority == Priority::high)
            say(Finding::Severity::note, path,
                "ignored: there is no [priority.high] in " + policy_.file);
    }

    void check_preparation() {
        const Preparation preparation = resolve_preparation(policy_, *parsed_.spec);
        if (!preparation.note.empty())
            say(Finding::Severity::note, "properties.jobPreparation.commandLine", preparation.note);
    }

    void check_node_count() {
        const int wanted = parsed_.spec->node_count;
        if (options_.cluster_nodes && wanted > *options_.cluster_nodes)
            error("properties.nodeCount", "asks for " + std::to_string(wanted) +
                                              " nodes, the cluster has " +
                                              std::to_string(*options_.cluster_nodes));
    }

    // The service allowed one on a node. Here they run, but share a node's network and memory.
    void check_servers() {
        const ToolkitSettings& toolkit = parsed_.spec->toolkit;
        const int nodes = parsed_.spec->node_count;
        if (toolkit.server_count.value_or(0) > nodes)
            say(Finding::Severity::warning, toolkit.key + ".parameterServerCount",
                sys::plural(*toolkit.server_count, "parameter server") + " on " +
                    sys::plural(nodes, "node") +
                    ": several share a node, which the service did not allow");
    }

    void tell_cluster() {
        if (!parsed_.spec->cluster.empty())
            say(Finding::Severity::note, "properties.cluster.id",
                "'batchai job create' without --cluster submits to '" + parsed_.spec->cluster +
                    "'; sbatch and 'batchai job run' do not use it");
    }

    const Document& document_;
    const SitePolicy& policy_;
    const CheckOptions& options_;
    ParsedJob& parsed_;
};

}  // namespace

ParsedJob check_job(ParsedJob parsed, const SitePolicy& policy, const CheckOptions& options) {
    if (!parsed.document) return parsed;
    parsed.findings.clear();
    parsed.spec = read_job(*parsed.document, parsed.findings);
    Checker(*parsed.document, policy, options, parsed).run();
    return parsed;
}

ParsedJob check_job(const std::string& text, const std::string& file_name, const SitePolicy& policy,
                    const CheckOptions& options) {
    return check_job(parse_job(text, file_name), policy, options);
}

}  // namespace batchai::job
