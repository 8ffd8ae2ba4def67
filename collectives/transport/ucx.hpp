// SPDX-License-Identifier: Apache-2.0
//
// UcxWire: the Wire through UCX. It is never used inside a node, so UCX's own shared memory is off,
// and nodes that share a host use a socket. UCX_TLS and UCX_NET_DEVICES, if set, override this.
// UCX_TCP_RX_SEG_SIZE, if set, must be the same on all hosts: UCX does not check it.
#pragma once

#include <ucp/api/ucp.h>

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "collectives/transport/wire.hpp"
#include "sys/result.hpp"

namespace batchai::coll {

class UcxWire final : public Wire {
  public:
    // one_host: all nodes are on this host.
    static sys::Result<std::unique_ptr<UcxWire>> create(int node, int node_count, bool one_host);
    ~UcxWire() override;

    const std::string& address() const { return address_; }
    // The TCP ports on which UCX listens.
    const std::vector<std::uint16_t>& ports() const { return ports_; }
    sys::Result<void> connect(int node, const std::string& address);
    // Whether the connections to all other nodes exist.
    bool is_connected() const;

    void send(int node, Tag tag, const void* data, std::size_t bytes, Ticket& ticket) override;
    void receive(int node, Tag tag, void* data, std::size_t bytes, Ticket& ticket) override;
    bool done(Ticket& ticket) override;
    void cancel(Ticket& ticket) override;
    bool progress() override { return ucp_worker_progress(worker_) != 0; }
    void flush() override;
    void send_note(int node, Note note, std::string_view text) override;
    void send_out_notes() override;
    std::optional<std::string> take_note(Note note) override;

  private:
    struct Peer {
        UcxWire* wire;
        int node;
        ucp_ep_h endpoint = nullptr;
        bool broken = false;
    };

    struct Letter {
        std::string text;
        Ticket ticket;
    };

    explicit UcxWire(int node) : node_(node) {}
    static ucp_request_param_t host_memory();
    bool finish(ucs_status_ptr_t request);
    void discard_unread();
    void close();
    static void on_endpoint_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);

    int node_;
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    std::string address_;
    std::vector<std::uint16_t> ports_;
    std::vector<Peer> peers_;        // by node
    std::list<Letter> letters_;      // pending notes
    std::list<std::string> unread_;  // buffers that UCX may still write to
    bool failed_ = false;            // a note of failure has been sent or received
};

// Removes the signal handlers that UCX installs when it is loaded, which print backtraces. A
// library must not change its host program's handlers.
void remove_signal_handlers();

}  // namespace batchai::coll
