// SPDX-License-Identifier: Apache-2.0
//
// Tls: one end of a connection between two processes of a job. It uses TLS 1.3 with the job's key
// as a pre-shared key. Each end shows the other that it knows the key. Data on the wire can be
// neither read nor changed, and there are no certificates. Every handshake agrees on keys of its
// own (psk_dhe_ke), so the job's key alone does not decrypt a recorded connection.
//
// It works on a non-blocking socket and never waits. An attacker on the wire can end a connection;
// this looks as if the other end had died. One thread.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

// The job's key, ready for connections. Making one takes 2 ms: OpenSSL looks up its algorithms.
class TlsKey {
  public:
    // key: any text that only the job's processes know.
    static sys::Result<TlsKey> make(const std::string& key);

  private:
    friend class Tls;
    struct Free {
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    };
    TlsKey() = default;

    std::unique_ptr<std::string> key_;  // its address is the context's
    std::unique_ptr<SSL_CTX, Free> context_;
};

class Tls {
  public:
    enum class Role { calls, answers };
    enum class Io {
        done,
        later,   // when the socket is ready
        over,    // the other end has closed the connection, or is gone
        refused  // the other end does not know the key, or something has changed what it sent
    };
    // The most that write() takes.
    static constexpr std::size_t kRecord = 16'384;

    // For a connected socket, which stays the caller's. The key outlives the handshake.
    Tls(const TlsKey& key, Role role, int socket);

    // First, and again after `later`. done: each end knows that the other one knows the key.
    Io shake_hands();
    // All of the piece or nothing of it. After `later` the same piece is to be offered again.
    Io write(std::string_view piece);
    // Appends what has come, a record at a time.
    Io read(std::string& bytes);

  private:
    struct Free {
        void operator()(SSL* connection) const { SSL_free(connection); }
    };
    Io result(int code);

    std::unique_ptr<SSL, Free> ssl_;
    std::uint64_t written_ = 0;  // records
};

// A connection whose ends have shaken hands.
struct Link {
    sys::UniqueFd socket;
    Tls tls;
};

}  // namespace batchai::launcher
