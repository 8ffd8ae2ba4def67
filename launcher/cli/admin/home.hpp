// SPDX-License-Identifier: Apache-2.0
//
// Whether two machines see the same home directory. A job's record is in its user's home, written
// by the login node and by each node, so homes must be shared. Found out without writing anything:
// by what the file system says of the directory.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sys/result.hpp"

namespace batchai::cli {

struct HomeIdentity {
    // own: a file system of this machine's disks or memory; served: it comes from a server, with
    // the server's numbers for files; numbered: with numbers of the client's own.
    enum class Kind { own, served, numbered };
    Kind kind = Kind::own;
    unsigned long long inode = 0;
    std::string changed;  // time of the last change, "SECONDS.NANOSECONDS"

    std::string text() const;  // "own:12:34.56", as --home takes it
};

sys::Result<HomeIdentity> home_identity(const std::string& directory);
std::optional<HomeIdentity> parse_home_identity(std::string_view text);

// False only where they cannot be one directory.
bool may_be_same(const HomeIdentity&, const HomeIdentity&);

// The caller's home or, for root, that of the first ordinary user whose home is there; empty: there
// is none.
std::string usual_home();

}  // namespace batchai::cli
