// SPDX-License-Identifier: Apache-2.0
//
// Rendezvous: where the ranks of Horovod's own Gloo find each other, over HTTP, as horovodrun would
// serve them; on the first node, for the whole job. Costs a socket where nobody wants it.
//
// The protocol has no way to say who somebody is. So it listens on the address of the ranks'
// interface only, answers the job's nodes only, holds KeyValues::kMost bytes at most, and gives
// a connection half a minute.
#pragma once

#include <uv.h>

#include <chrono>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launcher/gloo/key_values.hpp"
#include "launcher/loop.hpp"
#include "sys/result.hpp"

namespace batchai::launcher::gloo {

class Rendezvous {
  public:
    static sys::Result<std::unique_ptr<Rendezvous>> listen(Loop& loop, const std::string& address,
                                                           const RankMap& map);
    Rendezvous(const Rendezvous&) = delete;
    Rendezvous& operator=(const Rendezvous&) = delete;
    ~Rendezvous();

    int port() const { return port_; }
    // From where ranks call; nobody else is answered.
    void admit(const std::vector<std::string>& addresses);

  private:
    struct Connection;
    Rendezvous(Loop& loop, const RankMap& map);
    void accept();
    void forget(const Connection& connection);
    void close_old();

    Loop& loop_;
    KeyValues values_;
    std::set<std::string> admitted_;
    std::unique_ptr<Poll> listener_;
    std::list<std::unique_ptr<Connection>> connections_;
    Timer sweep_;
    int port_ = 0;
};

}  // namespace batchai::launcher::gloo
