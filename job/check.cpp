// SPDX-License-Identifier: Apache-2.0
#include "job/check.hpp"

#include "job/document.hpp"
#include "job/layout.hpp"

namespace batchai::job {

namespace {

class Checker {
  public:
    Checker(const Document& document, const SitePolicy& policy, const CheckOptions& options,
            ParsedJob& parsed)
        : document_(document), policy_(policy), options_(options), parsed_(parsed) {}

    void run() {
        fill_in_account();
        check_shares();
        check_image();
        check_node_count();
        check_script();
        if (failed_) parsed_.spec.reset();
    }

  private:
    void error(const std::string& path, const std::string& message) {
        parsed_.findings.push_back(document_.finding(Finding::Severity::error, path, message));
        failed_ = true;
    }

    void fill_in_account() {
        if (!options_.storage_account) return;
        for (AzureFileShare& share : parsed_.spec->azure_file_shares)
            if (share.account.empty()) share.account = *options_.storage_account;
    }

    void check_shares() {
        const auto& shares = parsed_.spec->azure_file_shares;
        for (std::size_t i = 0; i < shares.size(); ++i) {
            const auto share = resolve_share(policy_, shares[i]);
            if (!share)
                error("properties.mountVolumes.azureFileShares[" + std::to_string(i) +
                          "].azureFileUrl",
                      share.error().message);
        }
    }

    void check_image() {
        if (!parsed_.spec->image) return;
        const auto image = resolve_image(policy_, *parsed_.spec->image);
        if (!image)
            error("properties.containerSettings.imageSourceRegistry.image", image.error().message);
    }

    void check_node_count() {
        const int wanted = parsed_.spec->node_count;
        if (options_.cluster_nodes && wanted > *options_.cluster_nodes)
            error("properties.nodeCount", "asks for " + std::to_string(wanted) +
                                              " nodes, the cluster has " +
                                              std::to_string(*options_.cluster_nodes));
    }

    void check_script() {
        const auto* horovod = std::get_if<HorovodSettings>(&parsed_.spec->toolkit);
        if (horovod == nullptr || !options_.file_exists) return;
        const auto path = login_path(*parsed_.spec, policy_, horovod->script);
        if (path && !options_.file_exists(*path))
            error("properties.horovodSettings.pythonScriptFilePath",
                  "'" + horovod->script + "' is not there: upload it to " + *path);
    }

    const Document& document_;
    const SitePolicy& policy_;
    const CheckOptions& options_;
    ParsedJob& parsed_;
    bool failed_ = false;
};

}  // namespace

ParsedJob check_job(const std::string& text, const std::string& file_name, const SitePolicy& policy,
                    const CheckOptions& options) {
    ParsedJob parsed;
    const auto document = Document::parse(text, file_name, parsed.findings);
    if (!document) return parsed;
    parsed = parse_job(*document);
    if (parsed.spec) Checker(*document, policy, options, parsed).run();
    return parsed;
}

}  // namespace batchai::job
