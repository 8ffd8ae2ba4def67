// SPDX-License-Identifier: Apache-2.0
//
// Tls: one end of a connection between two processes of a job. It uses TLS 1.3 with the job's key
// as a pre-shared key, without certificates. Each end proves that it knows the key. Data on the
// wire can be neither read nor changed. Every handshake agrees on new keys (psk_dhe_ke), so the
// job's key alone does not decrypt a recorded connection.
//
// It works on a non-blocking socket and never waits. An attacker on the wire can end a connection;
// it then looks as if the other end had died. For one thread.
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

// The job's key, prepared for connections. Making one takes 2 ms, because OpenSSL looks up its
// algorithms.
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

    std::unique_ptr<std::string> key_;  // the context points to it
    std::unique_ptr<SSL_CTX, Free> context_;
};

class Tls {
  public:
    enum class Role { calls, answers };
    enum class Io {
        done,
        later,   // call again when the socket is ready
        over,    // the other end has closed the connection or is gone
        refused  // the other end does not know the key, or its data was changed
    };
    // The largest piece that write() accepts.
    static constexpr std::size_t kRecord = 16'384;

    // socket: a connected socket, which the caller owns. The key must outlive the handshake.
    Tls(const TlsKey& key, Role role, int socket);

    // Call it first, and again after `later`. done: each end has proved that it knows the key.
    Io shake_hands();
    // Writes the whole piece or nothing. After `later`, offer the same piece again.
    Io write(std::string_view piece);
    // Appends received bytes, one record per call.
    Io read(std::string& bytes);

  private:
    struct Free {
        void operator()(SSL* connection) const { SSL_free(connection); }
    };
    Io result(int code);

    std::unique_ptr<SSL, Free> ssl_;
    std::uint64_t written_ = 0;  // number of records
};

// A connection after its handshake.
struct Link {
    sys::UniqueFd socket;
    Tls tls;
};

}  // namespace batchai::launcher
