// SPDX-License-Identifier: Apache-2.0
#include "spank/options.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include <slurm/spank.h>
}

namespace batchai::spank {
namespace {

// Slurm's callback has no pointer for our own data, so this file has one variable. The last call
// wins: first comes the environment, then #SBATCH lines, then the command line.
char* texts[kOptionCount];

int remember(int option, const char* text, int) {
    free(texts[option]);
    texts[option] = text ? strdup(text) : nullptr;
    return 0;
}

bool equal(const char* a, const char* b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

const char* argument(int argc, char** argv, const char* name, const char* otherwise) {
    const size_t length = strlen(name);
    for (int i = 0; i < argc; ++i)
        if (strncmp(argv[i], name, length) == 0) return argv[i] + length;
    return otherwise;
}

}  // namespace

bool Options::any() const {
    for (const char* text : value)
        if (text) return true;
    return false;
}

bool Options::same(const Options& other) const {
    for (int i = 0; i < kOptionCount; ++i)
        if (!equal(value[i], other.value[i])) return false;
    return true;
}

Site site(int argc, char** argv) {
    return {argument(argc, argv, "policy=", "/etc/batchai/batchai.toml"),
            argument(argc, argv, "libexec=", BATCHAI_LIBEXEC),
            argument(argc, argv, "counters=", "")};
}

const char* counters_option(const Site& site) {
    return *site.counters ? "--counters" : nullptr;
}

void name_unknown_words(int argc, char** argv) {
    constexpr const char* kWords[] = {"policy=", "libexec=", "counters="};
    for (int i = 0; i < argc; ++i) {
        bool known = false;
        for (const char* word : kWords) known = known || strncmp(argv[i], word, strlen(word)) == 0;
        if (known) continue;
        char line[512];
        snprintf(line, sizeof line,
                 "batchai: plugstack.conf: '%.300s' is ignored: the plugin knows policy=FILE, "
                 "libexec=DIRECTORY and counters=DIRECTORY",
                 argv[i]);
        slurm::say(line);
    }
}

void register_options(slurm::Handle spank) {
    for (int i = 0; i < kOptionCount; ++i) {
        spank_option option = {};
        option.name = const_cast<char*>(kOptions[i].option);  // copied by Slurm
        option.arginfo = const_cast<char*>(kOptions[i].argument);
        option.usage = const_cast<char*>(kOptions[i].usage);
        option.has_arg = 1;
        option.val = i;
        option.cb = remember;
        slurm::register_option(spank, &option);
    }
}

Options given_options() {
    Options options;
    for (int i = 0; i < kOptionCount; ++i) options.value[i] = texts[i];
    return options;
}

Options carried_options(char* const* environment) {
    Options options;
    for (int i = 0; i < kOptionCount; ++i) {
        const char* text = find_variable(environment, kOptions[i].variable);
        options.value[i] = text && *text ? text : nullptr;  // empty: another job's (local.cpp)
    }
    return options;
}

Options node_options(char* const* environment) {
    Options carried = carried_options(environment);
    return carried.any() ? carried : given_options();
}

const char* find_variable(char* const* environment, const char* name) {
    const size_t length = strlen(name);
    for (; environment && *environment; ++environment)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return nullptr;
}

const char* tasks_asked(char* const* environment) {
    if (const char* told = find_variable(environment, kTasksVariable)) return told;
    const bool asked = find_variable(environment, "SLURM_NTASKS") ||
                       find_variable(environment, "SLURM_NTASKS_PER_NODE");
    const char* tasks = find_variable(environment, "SLURM_TASKS_PER_NODE");
    return asked && tasks ? tasks : "";
}

}  // namespace batchai::spank
