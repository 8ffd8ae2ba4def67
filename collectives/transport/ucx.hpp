// SPDX-License-Identifier: Apache-2.0
//
// Wire: messages between this rank and its counterparts on the other nodes, through UCX. Never
// inside a node, so UCX's own shared memory is off and nodes that share a host really talk through
// a socket. UCX_TLS and UCX_NET_DEVICES, where set, decide instead.
//
// Nothing that carries data blocks. Buffers must stay until their Ticket is done. A failed send or
// receive is never done: lost() says why. One thread at a time.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/transport/tag.hpp"
#include "sys/result.hpp"

namespace batchai::coll {

// A message under way.
struct Ticket {
    ucs_status_ptr_t request = nullptr;  // null: done
    std::size_t expected = 0;            // bytes
    int node = -1;
    bool receives = false;
};

class Wire {
  public:
    // one_host: all nodes are on this host.
    static sys::Result<std::unique_ptr<Wire>> create(int node, int node_count, bool one_host);
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    ~Wire();

    const std::string& address() const { return address_; }
    sys::Result<void> connect(int node, const std::string& address);

    void send(int node, Tag tag, const void* data, std::size_t bytes, Ticket& ticket);
    void receive(int node, Tag tag, void* data, std::size_t bytes, Ticket& ticket);
    bool done(Ticket& ticket);
    // Gives the message up. Its buffer has to stay until the Wire is destroyed.
    void cancel(Ticket& ticket);

    // Moves messages; returns whether there was something to move.
    bool progress() { return ucp_worker_progress(worker_) != 0; }
    // Everything sent has left this process. Waits a few seconds at most.
    void flush();

    // Why messages will not arrive any more, and of which node.
    struct Loss {
        int node;
        std::string why;
    };
    const std::optional<Loss>& lost() const { return loss_; }

    // Sends a note. It is delivered sooner or later, as progress is made.
    void send_note(int node, Note note, std::string text);
    // Waits, for half a second at most, until all notes have been sent.
    void send_out_notes();
    // A note of this kind that has arrived.
    std::optional<std::string> take_note(Note note);

  private:
    struct Peer {
        Wire* wire;
        int node;
        ucp_ep_h endpoint = nullptr;
        bool broken = false;
    };

    struct Letter {
        std::string text;
        Ticket ticket;
    };

    explicit Wire(int node) : node_(node) {}
    void lose(int node, const std::string& why);
    bool finish(ucs_status_ptr_t request);
    void discard_unread();
    void close();
    static void on_endpoint_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);

    int node_;
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    std::string address_;
    std::vector<Peer> peers_;  // by node
    std::optional<Loss> loss_;
    std::list<Letter> letters_;      // notes under way
    std::list<std::string> unread_;  // buffers that UCX may still write to
    bool failed_ = false;            // a note of failure has been sent or received
};

// UCX, as it is loaded, installs signal handlers that print backtraces. A library must not change
// its host program's: this takes them away.
void remove_signal_handlers();

}  // namespace batchai::coll
