// SPDX-License-Identifier: Apache-2.0
// The walk-through's job file, and how tests spoil it.
#pragma once

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "job/policy.hpp"

namespace samples {

inline std::string text_of(const std::string& path) {
    std::ifstream stream(path);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

inline std::string file(const std::string& name) {
    return text_of(std::string(BATCHAI_SOURCE_DIR) + "/" + name);
}

inline std::string tutorial() {
    return file("contrib/examples/tutorial/job.json");
}

// The walk-through's job with one place changed.
inline std::string tutorial_with(const std::string& from, const std::string& to) {
    std::string text = tutorial();
    const std::size_t at = text.find(from);
    BOOST_REQUIRE_MESSAGE(at != text.npos, from);
    return text.replace(at, from.size(), to);
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
}

// All that is wrong in a policy, a line each.
inline std::string complaints(const std::string& text) {
    std::string all;
    for (const batchai::job::Finding& finding : batchai::job::parse_policy(text, "p.toml").findings)
        all += finding.text() + "\n";
    return all;
}

inline batchai::job::SitePolicy policy() {
    std::string text = file("contrib/examples/tutorial/batchai.toml.in");
    for (std::size_t at; (at = text.find("@SHARE@")) != text.npos;)
        text.replace(at, 7, "/srv/myshare");
    text += "[[allow]]\ntype = \"bind\"\nsource = \"/scratch\"\n";
    text += "[[allow]]\ntype = \"bind\"\nsource = \"/sw\"\nread_only = true\n";
    text += "[[allow]]\ntype = \"bind\"\nsource = \"/scratch/archive/\"\nread_only = true\n";
    text += "[[allow]]\ntype = \"overlay\"\nsource = \"/sw\"\n";
    text += "[[allow]]\ntype = \"tmpfs\"\nmax_size = \"64M\"\n";
    const auto parsed = batchai::job::parse_policy(text, "batchai.toml");
    for (const auto& finding : parsed.findings) BOOST_ERROR(finding.text());
    return parsed.policy.value();
}

}  // namespace samples
