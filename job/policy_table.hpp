// SPDX-License-Identifier: Apache-2.0
//
// Table: typed access to one table of the policy. It is like Reader for a job file, but an unknown
// key is an error, because an admin's typing error must not pass. Private to job/.
#pragma once

// toml++ 3.3 asserts that a key starts with one of its letters, which an admin's text may violate.
// Without the assertion it reports an error.
#define TOML_ASSERT(expr) static_cast<void>(0)
#include <toml++/toml.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "job/policy.hpp"
#include "job/spec.hpp"

namespace batchai::job {

class Table {
  public:
    Table(const toml::table& table, std::string path, const std::string& file,
          std::vector<Finding>& findings)
        : table_(table), path_(std::move(path)), file_(file), findings_(findings) {}

    void error(const std::string& key, const std::string& message);
    bool has(const std::string& key);

    // Each leaves the target unchanged if the key is absent.
    void read(const std::string& key, std::string& target);
    void read(const std::string& key, bool& target);
    void read(const std::string& key, int& target, int least, int most);
    void read(const std::string& key, std::vector<std::string>& target);  // an array of strings
    void read_mode(const std::string& key, unsigned& target);             // "0755"

    // A number, or a string: the value of a command line's option.
    void read_text(const std::string& key, std::string& target);

    // A string. An empty one is an error.
    void read_name(const std::string& key, std::string& target);
    void require(const std::string& key, std::string& target);

    // An absolute path without "..".
    void read_path(const std::string& key, std::string& target);
    void require_path(const std::string& key, std::string& target);

    std::vector<Table> table(const std::string& key);   // [key], or nothing
    std::vector<Table> tables(const std::string& key);  // [[key]], any number
    std::vector<std::string> keys() const;

    // Reports the keys that no call has read.
    void finish();

  private:
    template <class T>
    void read_value(const std::string& key, T& target, const char* type);

    const toml::table& table_;
    std::string path_;
    const std::string& file_;
    std::vector<Finding>& findings_;
    std::set<std::string> known_;
};

// Reads the tables of the site policy that name programs, [program.NAME] and [container.NAME], and
// [[image]], which names a container. They are in policy_commands.cpp.
std::map<std::string, ProgramPolicy> read_programs(Table& root);
std::map<std::string, ProgramPolicy> read_containers(Table& root);

// containers: all containers of the policy.
ImagePolicy read_image(Table&, const std::map<std::string, ProgramPolicy>& containers);

}  // namespace batchai::job
