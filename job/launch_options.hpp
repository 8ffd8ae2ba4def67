// SPDX-License-Identifier: Apache-2.0
//
// The options of batchai-launch that `batchai job create` and `job run` have too: these commands
// start the launch of a job, so its user cannot write them. Command lines, the site policy's
// [launch] and a job's snapshot take names, values and limits from here.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace batchai::job {

struct LaunchOption {
    enum class Kind { flag, count, seconds, requeue_words };
    const char* name;   // on a command line, without dashes; in the policy '_' replaces '-'
    const char* key;    // in JSON
    const char* value;  // its value's name in --help
    Kind kind;
    const char* description;
    double least = 0, most = 1'000'000;
    bool or_zero = false;  // 0 is a value too

    std::string policy_key() const;
    // Why a value is wrong; empty: it is right.
    std::string refuse(const std::string& text) const;
};

inline constexpr LaunchOption kRestarts{
    "restarts", "restarts", "K", LaunchOption::Kind::count,
    "after a failure of a rank or a node, start all ranks again, at most K times"};
inline constexpr LaunchOption kRequeueOn{
    "requeue-on", "requeueOn", "LIST", LaunchOption::Kind::requeue_words,
    "requeue the batch job after a signal, node-fail or failure (commas between)"};
inline constexpr LaunchOption kMaxRequeues{"max-requeues",
                                           "maxRequeues",
                                           "N",
                                           LaunchOption::Kind::count,
                                           "requeue the job at most N times (default: 3)",
                                           1};
inline constexpr LaunchOption kHangReport{
    "hang-report",
    "hangReport",
    "SECONDS",
    LaunchOption::Kind::seconds,
    "report which ranks wait for which when no rank of the collective library has made progress "
    "for this time (default: 60; 0: never)",
    0.1,
    1'000'000,
    true};
inline constexpr LaunchOption kGrace{
    "grace", "grace", "SECONDS", LaunchOption::Kind::seconds,
    "time for ranks to write a checkpoint, from the signal that ends the job to SIGKILL "
    "(default: 10)"};
inline constexpr LaunchOption kLabel{"label", "label", "", LaunchOption::Kind::flag,
                                     "begin each line with its rank and node"};

inline constexpr const LaunchOption* kLaunchOptions[] = {&kRestarts,   &kRequeueOn, &kMaxRequeues,
                                                         &kHangReport, &kGrace,     &kLabel};

// By the option's name: its value as text, which refuse() has accepted. A flag's is "true".
using LaunchOptions = std::map<std::string, std::string>;

// "--restarts=2", "--label".
std::vector<std::string> arguments_of(const LaunchOptions&);

}  // namespace batchai::job
