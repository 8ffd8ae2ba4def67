// SPDX-License-Identifier: Apache-2.0
//
// CommandLine: verbs and options of batchai-helper, batchai-prep and batchai-check. CLI11 is
// included in command_line.cpp only, because each source that includes it takes seconds to compile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace batchai::spank {

class CommandLine {
  public:
    // Why a value is wrong; empty: it is right.
    using Check = std::function<std::string(const std::string& value)>;

    // failure: when the exit status is 1, for --help.
    CommandLine(const std::string& program, const std::string& description,
                const std::string& failure);
    ~CommandLine();

    // One verb is required. Options that follow are the verb's.
    void add_verb(const std::string& name, const std::string& description);

    void add_option(const std::string& name, std::string& value, const std::string& help);
    void add_option(const std::string& name, int& value, const std::string& help);
    void require(const std::string& option);
    void check(const std::string& option, const Check&);
    void limit(const std::string& option, int least, int most);

    // The exit status if the program ends here: after help (0) and wrong usage (2), which it
    // prints.
    std::optional<int> parse(int argc, char** argv);

    std::string verb() const;

  private:
    std::unique_ptr<CLI::App> app_;
    CLI::App* current_;  // takes the options
};

}  // namespace batchai::spank
