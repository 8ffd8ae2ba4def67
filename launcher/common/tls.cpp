// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/tls.hpp"

#include <openssl/err.h>

#include <array>
#include <new>

namespace batchai::launcher {
namespace {

// Its hash is the one that belongs to the pre-shared key. Processors have instructions for AES.
constexpr const char* kSuite = "TLS_AES_128_GCM_SHA256";
constexpr std::array<unsigned char, 2> kSuiteNumber{0x13, 0x01};

// The identity of the key at both ends. There is only one key.
constexpr std::string_view kIdentity = "batchai-launch";

// RFC 8446, 5.5: an AES-GCM key is good for 2^24.5 records.
constexpr std::uint64_t kRecordsOfAKey = 1 << 22;

// OpenSSL represents a pre-shared key as a session to resume.
SSL_SESSION* session_of(SSL* ssl) {
    const auto& key = *static_cast<const std::string*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    SSL_SESSION* session = SSL_SESSION_new();
    if (session != nullptr &&
        SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()),
                                    key.size()) == 1 &&
        SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, kSuiteNumber.data())) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1) {
        return session;
    }
    SSL_SESSION_free(session);
    return nullptr;
}

int offer_key(SSL* ssl, const EVP_MD*, const unsigned char** name, std::size_t* size,
              SSL_SESSION** session) {
    *name = reinterpret_cast<const unsigned char*>(kIdentity.data());
    *size = kIdentity.size();
    *session = session_of(ssl);
    return *session != nullptr ? 1 : 0;
}

int find_key(SSL* ssl, const unsigned char* name, std::size_t size, SSL_SESSION** session) {
    const std::string_view asked(reinterpret_cast<const char*>(name), size);
    *session = asked == kIdentity ? session_of(ssl) : nullptr;
    return 1;
}

}  // namespace

sys::Result<TlsKey> TlsKey::make(const std::string& key) {
    // openssl.cnf is meant for other programs, and reading it takes time.
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_SSL_STRINGS, nullptr);
    TlsKey made;
    made.key_ = std::make_unique<std::string>(key);
    made.context_.reset(SSL_CTX_new(TLS_method()));
    SSL_CTX* context = made.context_.get();
    if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, kSuite) != 1) {
        return sys::Error{std::string("OpenSSL cannot do TLS 1.3 with ") + kSuite};
    }
    SSL_CTX_set_app_data(context, made.key_.get());
    SSL_CTX_set_psk_use_session_callback(context, offer_key);
    SSL_CTX_set_psk_find_session_callback(context, find_key);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    // RELEASE_BUFFERS: most of the root's thousands of connections are idle. MOVING_WRITE_BUFFER: a
    // piece that is offered again may be at another address.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return made;
}

Tls::Tls(const TlsKey& key, Role role, int socket) : ssl_(SSL_new(key.context_.get())) {
    if (!ssl_) throw std::bad_alloc();
    SSL_set_fd(ssl_.get(), socket);
    role == Role::calls ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
}

Tls::Io Tls::result(int code) {
    if (code == 1) return Io::done;
    const int error = SSL_get_error(ssl_.get(), code);
    const bool ended = error == SSL_ERROR_SYSCALL || error == SSL_ERROR_ZERO_RETURN ||
                       ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return Io::later;
    return ended ? Io::over : Io::refused;
}

Tls::Io Tls::shake_hands() {
    if (const Io io = result(SSL_do_handshake(ssl_.get())); io != Io::done) return io;
    // OpenSSL also accepts a server that shows any certificate instead of the key.
    if (SSL_session_reused(ssl_.get()) != 1) return Io::refused;
    // In TLS 1.3 the client finishes before the server has checked the client's proof. So the
    // server sends one byte after the check.
    char welcome = 0;
    std::size_t size = 0;
    return result(SSL_is_server(ssl_.get()) == 1 ? SSL_write_ex(ssl_.get(), &welcome, 1, &size)
                                                 : SSL_read_ex(ssl_.get(), &welcome, 1, &size));
}

Tls::Io Tls::write(std::string_view piece) {
    std::size_t size = 0;
    const Io io = result(SSL_write_ex(ssl_.get(), piece.data(), piece.size(), &size));
    if (io == Io::done && ++written_ % kRecordsOfAKey == 0) {
        SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    return io;
}

Tls::Io Tls::read(std::string& bytes) {
    static thread_local std::array<char, kRecord> record;
    std::size_t size = 0;
    const Io io = result(SSL_read_ex(ssl_.get(), record.data(), record.size(), &size));
    if (io == Io::done) bytes.append(record.data(), size);
    return io;
}

}  // namespace batchai::launcher
