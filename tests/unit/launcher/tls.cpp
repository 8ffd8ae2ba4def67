// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/tls.hpp"

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "ends.hpp"

using namespace batchai::launcher;
using Io = Tls::Io;

BOOST_TEST_DONT_PRINT_LOG_VALUE(Io)

BOOST_AUTO_TEST_SUITE(tls)

namespace {

const std::string kSecret = "AZ_BATCHAI_SECRET=correct horse battery staple";

struct Ends {
    Wire wire;
    TlsKey caller_key, answerer_key;
    Tls caller, answerer;

    explicit Ends(const std::string& a = "a key", const std::string& b = "a key")
        : caller_key(key_of(a)),
          answerer_key(key_of(b)),
          caller(caller_key, Tls::Role::calls, wire.left()),
          answerer(answerer_key, Tls::Role::answers, wire.right()) {}

    std::pair<Io, Io> shake() {
        std::pair<Io, Io> now{Io::later, Io::later};
        for (int turn = 0; turn < 10; ++turn) {
            if (now.first == Io::later) now.first = caller.shake_hands();
            wire.carry();
            if (now.second == Io::later) now.second = answerer.shake_hands();
            wire.carry();
        }
        return now;
    }
    // What the answerer makes of a piece, with the attacker at work.
    Io pass(const std::string& piece, std::string& got) {
        BOOST_TEST(caller.write(piece) == Io::done);
        wire.carry();
        return answerer.read(got);
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(ends_with_one_key_understand_each_other) {
    Ends ends;
    const auto [caller, answerer] = ends.shake();
    BOOST_TEST(caller == Io::done);
    BOOST_TEST(answerer == Io::done);
    std::string got;
    BOOST_TEST(ends.pass(std::string(Tls::kRecord, 'x'), got) == Io::done);
    BOOST_TEST(got == std::string(Tls::kRecord, 'x'));
    BOOST_TEST(ends.answerer.read(got) == Io::later);
}

BOOST_AUTO_TEST_CASE(a_wrong_key_is_refused_by_both_ends) {
    for (const char* wrong : {"another key", "a ke", "a key "}) {
        Ends ends("a key", wrong);
        const auto [caller, answerer] = ends.shake();
        BOOST_TEST(caller == Io::refused);
        BOOST_TEST(answerer == Io::refused);
    }
}

BOOST_AUTO_TEST_CASE(neither_end_is_done_before_the_other_has_shown_its_key) {
    Ends ends;
    BOOST_TEST(ends.caller.shake_hands() == Io::later);
    ends.wire.carry();
    BOOST_TEST(ends.answerer.shake_hands() == Io::later);
    ends.wire.carry();
    BOOST_TEST(ends.caller.shake_hands() == Io::later);  // it knows now, but is it known?
    ends.wire.carry();
    BOOST_TEST(ends.answerer.shake_hands() == Io::done);
    ends.wire.carry();
    BOOST_TEST(ends.caller.shake_hands() == Io::done);
}

BOOST_AUTO_TEST_CASE(a_server_with_a_certificate_in_place_of_the_key_is_refused) {
    EVP_PKEY* pair = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, pair);
    X509_sign(certificate, pair, EVP_sha256());
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    BOOST_TEST(SSL_CTX_use_certificate(context, certificate) == 1);
    BOOST_TEST(SSL_CTX_use_PrivateKey(context, pair) == 1);

    Ends ends;
    SSL* server = SSL_new(context);
    SSL_set_fd(server, ends.wire.right());
    SSL_set_accept_state(server);
    Io caller = Io::later;
    int welcomed = 0;
    for (int turn = 0; turn < 10 && caller == Io::later; ++turn) {
        caller = ends.caller.shake_hands();
        ends.wire.carry();
        if (SSL_do_handshake(server) == 1 && welcomed == 0) welcomed = SSL_write(server, "x", 1);
        ends.wire.carry();
    }
    BOOST_TEST(caller == Io::refused);
    SSL_free(server);
    SSL_CTX_free(context);
    X509_free(certificate);
    EVP_PKEY_free(pair);
}

BOOST_AUTO_TEST_CASE(a_peer_that_speaks_no_tls_is_refused_in_both_directions) {
    Ends called;
    called.wire.change = [](std::string& bytes) { bytes = "GET / HTTP/1.1\r\n\r\n"; };
    BOOST_TEST(called.shake().second == Io::refused);

    Ends calling;
    (void)!::write(calling.wire.right(), "SSH-2.0-OpenSSH_9.2p1\r\n", 23);
    BOOST_TEST(calling.caller.shake_hands() == Io::later);
    calling.wire.carry();
    BOOST_TEST(calling.caller.shake_hands() == Io::refused);
}

BOOST_AUTO_TEST_CASE(data_is_not_on_the_wire_in_plain_text) {
    Ends ends("the key of the job", "the key of the job");
    ends.shake();
    std::string got;
    BOOST_TEST(ends.pass(kSecret, got) == Io::done);
    BOOST_TEST(got == kSecret);
    BOOST_TEST(ends.wire.seen.size() > kSecret.size());
    for (const std::string& secret : {kSecret, std::string("horse"), std::string("the key of")}) {
        BOOST_TEST(ends.wire.seen.find(secret) == std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(data_changed_cut_repeated_or_left_out_on_the_wire_is_refused) {
    std::string before;
    const std::function<void(std::string&)> changes[] = {
        [](std::string& bytes) { bytes.front() ^= 1; },
        [](std::string& bytes) { bytes[bytes.size() / 2] ^= 1; },
        [](std::string& bytes) { bytes.back() ^= 1; },
        [](std::string& bytes) { bytes.erase(10, 1), bytes += "x"; },
        [&](std::string& bytes) { bytes = before; },  // and this one is missing
        [](std::string& bytes) { bytes += bytes; },
    };
    for (const auto& change : changes) {
        Ends ends;
        ends.shake();
        std::string got;
        ends.wire.change = [&](std::string& bytes) { before = bytes; };
        BOOST_TEST(ends.pass("first", got) == Io::done);
        ends.wire.change = change;
        Io io = ends.pass("second", got);
        if (io == Io::done) io = ends.answerer.read(got);  // the first of two is good
        BOOST_TEST(io == Io::refused);
        BOOST_TEST((got == "first" || got == "firstsecond"));
    }
}

BOOST_AUTO_TEST_CASE(a_record_that_is_cut_off_is_not_taken_for_a_whole_one) {
    Ends ends;
    ends.shake();
    std::string got;
    ends.wire.change = [](std::string& bytes) { bytes.pop_back(); };
    BOOST_TEST(ends.pass(kSecret, got) == Io::later);
    BOOST_TEST(got.empty());
}

// With BATCHAI_SOAK=1 enough bytes for the ends to change their keys.
BOOST_AUTO_TEST_CASE(a_connection_does_not_end_for_how_much_it_has_carried) {
    Ends ends;
    ends.shake();
    const long records = std::getenv("BATCHAI_SOAK") != nullptr ? (1 << 22) + 10 : 1000;
    std::string got;
    for (long n = 0; n < records; ++n) {
        got.clear();
        ends.wire.seen.clear();
        BOOST_REQUIRE(ends.pass("x", got) == Io::done);
    }
    BOOST_TEST(got == "x");
}

BOOST_AUTO_TEST_SUITE_END()
