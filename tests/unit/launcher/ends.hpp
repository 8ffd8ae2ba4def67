// SPDX-License-Identifier: Apache-2.0
//
// Two ends of a connection whose processes know the same key, and a relay between such ends.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <functional>
#include <utility>

#include "launcher/common/door.hpp"

namespace batchai::launcher {

inline TlsKey key_of(const std::string& text) {
    std::signal(SIGPIPE, SIG_IGN);  // as in the launcher and its agents
    return std::move(*TlsKey::make(text));
}

// Both go on until neither can.
inline std::pair<Tls::Io, Tls::Io> shake(Tls& one, Tls& other) {
    auto a = Tls::Io::later, b = Tls::Io::later;
    for (int turn = 0; turn < 10; ++turn) {
        if (a == Tls::Io::later) a = one.shake_hands();
        if (b == Tls::Io::later) b = other.shake_hands();
    }
    return {a, b};
}

// The number of the loop's turns in half a second while the process has no free descriptor.
inline int turns_without_descriptors(Loop& loop) {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit none = before;
    none.rlim_cur = 3;
    ::setrlimit(RLIMIT_NOFILE, &none);
    int turns = 0;
    uv_check_t check;
    uv_check_init(loop.get(), &check);
    check.data = &turns;
    uv_check_start(&check, [](uv_check_t* c) { ++*static_cast<int*>(c->data); });
    Timer end(loop, [&] { loop.stop(); });
    end.start(std::chrono::milliseconds(500));
    loop.run();
    const int counted = turns;
    uv_close(reinterpret_cast<uv_handle_t*>(&check), nullptr);
    uv_run(loop.get(), UV_RUN_NOWAIT);  // the loop forgets the handle
    ::setrlimit(RLIMIT_NOFILE, &before);
    return counted;
}

// Over TCP; its caller and its answerer.
inline std::pair<Link, Link> tcp_ends(const TlsKey& key) {
    auto listener = listen_at("127.0.0.1", "a test");
    sys::UniqueFd near(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listener->socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    ::connect(near.get(), reinterpret_cast<const sockaddr*>(&address), size);
    ::fcntl(near.get(), F_SETFL, O_NONBLOCK);
    sys::UniqueFd far(::accept4(listener->socket.get(), nullptr, nullptr, SOCK_NONBLOCK));
    Tls caller(key, Tls::Role::calls, near.get()), answerer(key, Tls::Role::answers, far.get());
    shake(caller, answerer);
    return {Link{std::move(near), std::move(caller)}, Link{std::move(far), std::move(answerer)}};
}

// A wire between two sockets, with an attacker on it.
class Wire {
  public:
    Wire() {
        for (auto* side : {&left_, &right_}) {
            std::array<int, 2> ends{};
            ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data());
            side->ours.reset(ends[0]);
            side->theirs.reset(ends[1]);
        }
    }
    int left() const { return left_.theirs.get(); }
    int right() const { return right_.theirs.get(); }

    // What the attacker does with what goes to the right.
    std::function<void(std::string&)> change = [](std::string&) {};
    std::string seen;  // of both directions

    void carry() {
        carry(left_, right_, true);
        carry(right_, left_, false);
    }

  private:
    struct Side {
        sys::UniqueFd ours, theirs;
    };
    void carry(const Side& from, const Side& to, bool right) {
        std::array<char, 1 << 16> bytes{};
        for (ssize_t size; (size = ::read(from.ours.get(), bytes.data(), bytes.size())) > 0;) {
            std::string text(bytes.data(), static_cast<std::size_t>(size));
            seen += text;
            if (right) change(text);
            (void)!::write(to.ours.get(), text.data(), text.size());
        }
    }
    Side left_, right_;
};

}  // namespace batchai::launcher
