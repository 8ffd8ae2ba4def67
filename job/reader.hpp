// SPDX-License-Identifier: Apache-2.0
//
// Reader: typed access to one object of a job file. Each call reads a key, checks its type and
// notes it as known. finish() warns of the keys that no call has read. All errors and warnings go
// into one list of findings.
//
// Private to job/. A value of null counts as absent, as in the service's own output.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "job/document.hpp"
#include "job/spec.hpp"

namespace batchai::job {

class Reader {
  public:
    Reader(const Document& document, const Json& object, std::string path,
           std::vector<Finding>& findings)
        : document_(document), object_(object), path_(std::move(path)), findings_(findings) {}

    const std::string& path() const { return path_; }
    std::string path(const std::string& key) const {
        return path_.empty() || key.empty() ? path_ + key : path_ + "." + key;
    }

    bool has(const std::string& key) const;
    void error(const std::string& key, const std::string& message);
    void warning(const std::string& key, const std::string& message);
    void missing(const std::string& key);

    // Empty if the key is absent or of another type. Another type is an error.
    std::string string(const std::string& key);
    std::string required_string(const std::string& key);  // absent or empty: an error
    std::optional<bool> boolean(const std::string& key);
    std::optional<int> integer(const std::string& key, int least, int most);
    std::optional<Reader> object(const std::string& key);
    std::optional<Reader> required_object(const std::string& key);
    std::vector<Reader> objects(const std::string& key);  // an array of objects

    // Keys without an effect that are right all the same.
    void ignore(std::initializer_list<const char*> keys);
    // Notes that a key has no effect here, and says why.
    void note_ignored(const std::string& key, const std::string& why);
    // Warns of unknown keys, with "did you mean" if a known one is similar.
    void finish();

  private:
    const Json* find(const std::string& key);

    const Document& document_;
    const Json& object_;
    std::string path_;
    std::vector<Finding>& findings_;
    std::set<std::string> known_;
};

// "comment2", "$comment": comments for people.
bool is_comment(const std::string& key);

// Secrets of a key vault that a job file refers to. Here each secret is a file, which the site
// policy names in [[secret]] (resolve_secret in policy.hpp).
// Reads {"sourceVault": {"id": ".../vaults/NAME"}, "secretUrl": "https://..."} at a key. nullopt:
// the key is missing.
std::optional<SecretReference> read_secret_reference(Reader&, const std::string& key);

// "secret 'https://v.vault.azure.net/secrets/key' of vault 'v'".
std::string describe(const SecretReference&);

}  // namespace batchai::job
