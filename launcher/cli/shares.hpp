// SPDX-License-Identifier: Apache-2.0
//
// From --account-name and --share-name to a directory of this machine, by the site policy.
#pragma once

#include <string>

#include "job/policy.hpp"
#include "launcher/cli/session.hpp"
#include "launcher/cli/share_files.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

struct ShareName {
    std::string account;
    std::string share;
};

// share_option: "-s,--share-name", or "-n,--name" for the verb about shares themselves.
void add_share_options(CLI::App&, ShareName&, const std::string& share_option);

// A value, or an error with the exit code that it means.
template <class T>
class Coded {
  public:
    Coded(T value) : result_(std::move(value)) {}  // NOLINT: implicit
    Coded(ExitCode code, sys::Error error) : result_(std::move(error)), code_(code) {}
    explicit operator bool() const { return result_.has_value(); }
    const T& operator*() const& { return *result_; }
    const T* operator->() const { return &*result_; }
    ExitCode code() const { return code_; }
    const sys::Error& error() const { return result_.error(); }

  private:
    sys::Result<T> result_;
    ExitCode code_ = kOk;
};

// The policy's entry for the share. No policy: kEnvironment; no such share in it: kBadInput.
Coded<job::SharePolicy> find_share(const ShareName&);
// Its files through its login_path. None, or not there: kEnvironment.
Coded<ShareFiles> open_share(const ShareName&);

}  // namespace batchai::cli
