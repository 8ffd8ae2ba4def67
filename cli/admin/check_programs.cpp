// SPDX-License-Identifier: Apache-2.0
//
// Checks of batchai's programs on this machine, and of the libraries and programs that they need.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "cli/admin/machine.hpp"
#include "slurm/command.hpp"
#include "sys/paths.hpp"
#include "sys/subprocess.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

constexpr std::array kHelpers = {"batchai-helper", "batchai-prep", "batchai-check",
                                 "batchai-fusermount"};

// Runs the command with slurmd's environment, not the caller's, for at most 20 s.
sys::Result<sys::Finished> ask_clean(std::vector<std::string> command) {
    command.insert(command.begin(), {"timeout", "20"});
    return sys::run({command, {{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}});
}

std::vector<std::string> helpers_of(const Machine& machine) {
    std::vector<std::string> paths;
    for (const char* name : kHelpers) paths.push_back(machine.libexec + "/" + name);
    return paths;
}

// The paths that only root can change. An admin's process may run these, even as root.
std::vector<std::string> trusted(const std::vector<std::string>& paths) {
    std::vector<std::string> good;
    for (const auto& path : paths)
        if (!path.empty() && is_roots_alone(path)) good.push_back(path);
    return good;
}

void check_helpers(const Machine& machine, Report& report) {
    for (const auto& path : helpers_of(machine)) {
        if (auto good = is_roots_alone(path); !good)
            report.error(good.error().message);
        else
            report.ok(path);
    }
}

// ldd decides: execvp(3) would run any text file with a shell.
bool is_program(const std::string& path) {
    const auto ldd = ask_clean({"ldd", path});
    return ldd && ldd->status == 0;
}

// Finds the version in "0.1.0", "batchai-launch 0.1.0" or "... (batchai-fusermount 0.1.0, ...". It
// is the word after a name that begins with "batchai-", or else the first word.
std::string version_of(const std::string& text) {
    const std::size_t name = text.find("batchai-");
    std::istringstream words(name == text.npos ? text : text.substr(text.find(' ', name)));
    std::string word;
    words >> word;
    if (word.ends_with(',')) word.pop_back();
    return word;
}

void check_versions(const Machine& machine, Report& report) {
    auto programs = helpers_of(machine);
    programs.push_back(sys::sibling_program("batchai-launch"));
    for (const auto& path : trusted(programs)) {
        if (!is_program(path)) continue;                          // check_libraries reports it
        const bool is_fusermount = path.ends_with("fusermount");  // it has fusermount(1)'s options
        const auto answer = ask_clean({path, is_fusermount ? "-V" : "--version"});
        if (!answer)
            report.error(answer.error().message);
        else if (answer->status != 0)
            report.error(fmt::format("{}: cannot be run: {}", path,
                                     answer->err.empty() ? fmt::format("exit {}", answer->status)
                                                         : sys::first_line(answer->err)));
        else if (const std::string version = version_of(answer->out); version != BATCHAI_VERSION)
            report.error(fmt::format("{}: is of batchai {}, and this command of {}", path, version,
                                     BATCHAI_VERSION));
        else
            report.ok(fmt::format("{} of {}", version, path));
    }
}

// ldd prints "NAME => not found" for a missing library. It prints a line on stderr for a missing
// symbol version. "not a dynamic executable": the loader of this machine does not accept the file.
std::vector<std::string> lacks(const sys::Finished& ldd) {
    std::vector<std::string> found;
    std::istringstream lines(ldd.out + ldd.err);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t name = std::min(line.find_first_not_of(" \t"), line.size());
        if (const auto end = line.find(" => not found"); end != line.npos)
            found.push_back("lacks " + line.substr(name, end - name));
        else if (line.find("not found (required by") != line.npos)
            found.push_back("lacks " + line.substr(line.find("version ") + 8));
        else if (line.find("not a dynamic executable") != line.npos)
            found.emplace_back(
                "cannot run on this machine: it is damaged, or built for another architecture");
    }
    return found;
}

void check_libraries(const Machine& machine, Report& report) {
    auto files = helpers_of(machine);
    files.push_back(machine.plugin);
    files.push_back(sys::sibling_program("batchai-launch"));
    files.push_back(sys::sibling_library("libbatchai_collectives.so"));
    for (const auto& file : trusted(files)) {
        const auto ldd = ask_clean({"ldd", file});
        if (!ldd) return report.warning(ldd.error().message);
        const auto missing = lacks(*ldd);
        for (const auto& what : missing) report.error(file + ": " + what);
        if (missing.empty()) report.ok("of " + file);
    }
}

void check_slurms_commands(const Machine&, Report& report) {
    for (const char* name : {"srun", "squeue", "scontrol"}) {
        const auto path = slurm::find_command(name);
        if (!path)
            report.error(path.error().message + ": no job of several nodes can start");
        else
            report.ok(*path);
    }
}

// The directories in which the plugin and batchai-prep look. slurmd's search path has at least
// these.
bool is_installed(const char* program) {
    for (const char* directory : {"/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"})
        if (::access((std::string(directory) + program).c_str(), X_OK) == 0) return true;
    return false;
}

struct Needed {
    const char* program;
    const char* package;
    const char* use;
};
constexpr Needed kNeeded[] = {
    {"bash", "bash", "runs preparations"},
    {"flock", "util-linux", "tasks of one node wait with it for the preparation"},
};

void check_packages(const Machine&, Report& report) {
    for (const auto& [program, package, use] : kNeeded)
        if (!is_installed(program))
            report.error(
                fmt::format("{}: not installed, and {}: package {}", program, use, package));
    if (sys::sibling_program("batchai-launch").empty())
        report.error("batchai-launch: not installed, and job files run with it: package batchai");
    if (sys::sibling_library("batchai/python").empty())
        report.warning(
            "horovod: not installed, and ranks that import it find another one or none: "
            "package batchai-horovod");
}

}  // namespace

std::vector<Check> program_checks() {
    return {
        {"program", "whether only root can change the helpers", "", check_helpers},
        {"version", "whether the helpers and batchai-launch are of this release",
         "Install all of batchai's packages from one release", check_versions},
        {"libraries", "the shared libraries of the plugin, the helpers and batchai-launch",
         "Install the packages that have them, or build batchai on this machine", check_libraries},
        {"srun", "Slurm's commands that batchai starts", "", check_slurms_commands},
        {"packages", "other programs and packages that jobs need", "Install it", check_packages},
    };
}

}  // namespace batchai::cli
