// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "launcher/gloo/key_values.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai::launcher;
using batchai::launcher::gloo::KeyValues;
using batchai::launcher::gloo::RequestReader;

namespace {

using RequestState = RequestReader::State;

const RankMap kGlooMap{{"n1", "n2", "n3"}, {0, 2, 3, 3}};  // two ranks, one, none

RequestState read_request(const std::string& bytes) {
    RequestReader reader;
    return reader.add(bytes);
}

std::string http_status(const std::string& answer) {
    return answer.substr(9, 3);
}

std::string http_body(const std::string& answer) {
    return answer.substr(answer.find("\r\n\r\n") + 4);
}

struct GlooStore {
    KeyValues values{kGlooMap};
    std::string put(const std::string& scope, const std::string& key, const std::string& value) {
        return http_status(values.answer({"PUT", scope, key, value}));
    }
    std::string get(const std::string& scope, const std::string& key) {
        return values.answer({"GET", scope, key, {}});
    }
    std::string remove(const std::string& scope, const std::string& key) {
        return http_status(values.answer({"DELETE", scope, key, {}}));
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(gloo_requests)

BOOST_AUTO_TEST_CASE(a_request_may_come_in_pieces) {
    const std::string text = "PUT /global/3 HTTP/1.1\r\nHost: n1:80\r\ncontent-length: 5\r\n\r\n" +
                             std::string("a\0b\r\n", 5);
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
        RequestReader reader;
        BOOST_TEST(reader.add(text.substr(0, cut)) == RequestState::incomplete);
        BOOST_REQUIRE(reader.add(text.substr(cut)) == RequestState::complete);
        BOOST_TEST(reader.request().method == "PUT");
        BOOST_TEST(reader.request().scope == "global");
        BOOST_TEST(reader.request().key == "3");
        BOOST_TEST(reader.request().body == std::string("a\0b\r\n", 5));
    }
}

BOOST_AUTO_TEST_CASE(a_malformed_request_is_refused) {
    BOOST_TEST(read_request("GET /a/b HTTP/1.0\r\n\r\n") == RequestState::complete);
    for (const char* line :
         {"", "GET", "GET /a/b", "GET /a/b FTP/1.1", "GET a/b HTTP/1.1", "GET /a HTTP/1.1",
          "GET / HTTP/1.1", "GET //b HTTP/1.1", "GET /a/ HTTP/1.1", "GET /a/b/c HTTP/1.1",
          "GET /a/b HTTP/1.1\r\nContent-Length: x", "GET /a/b HTTP/1.1\r\nContent-Length: -1",
          "GET /a/b HTTP/1.1\r\nContent-Length: 99999999999999999999",
          "GET /a/b HTTP/1.1\r\nTransfer-Encoding: chunked", "GET /a/b HTTP/1.1\r\nno colon"}) {
        BOOST_TEST(read_request(std::string(line) + "\r\n\r\n") == RequestState::bad, line);
    }
}

BOOST_AUTO_TEST_CASE(a_too_large_request_is_refused) {
    BOOST_TEST(read_request(std::string(10000, 'x')) == RequestState::too_large);
    BOOST_TEST((read_request("PUT /a/b HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n") ==
                RequestState::too_large));
    BOOST_TEST((read_request("PUT /a/b HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n") ==
                RequestState::incomplete));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(gloo_values, GlooStore)

BOOST_AUTO_TEST_CASE(a_value_is_there_once_it_was_put) {
    BOOST_TEST(http_status(get("global", "0")) == "404");
    const std::string value("\0\xff\r\n\r\n", 6);
    BOOST_TEST(put("global", "0", value) == "200");
    BOOST_TEST(http_status(get("global", "0")) == "200");
    BOOST_TEST(http_body(get("global", "0")) == value);
    BOOST_TEST(http_status(get("global", "1")) == "404");
    BOOST_TEST(http_status(get("local_n1", "0")) == "404");
    BOOST_TEST(put("global", "0", "new") == "200");
    BOOST_TEST(http_body(get("global", "0")) == "new");
}

BOOST_AUTO_TEST_CASE(a_scope_of_ranks_is_empty_when_all_of_them_have_finished) {
    for (const auto& [scope, size] : {std::pair{"global", 3},
                                      {"local_n1", 2},
                                      {"local_n2", 1},
                                      {"cross_0", 2},
                                      {"cross_1", 1}}) {
        for (int again = 0; again < 2; ++again) {
            put(scope, "0", "value");
            for (int rank = 0; rank < size; ++rank) {
                BOOST_TEST(http_status(get(scope, "0")) == "200");
                remove(scope, std::to_string(rank));
                remove(scope, "0");  // once more
                remove(scope, "77");
                remove(scope, "x");
            }
            BOOST_TEST(http_status(get(scope, "0")) == "404");
        }
    }
}

BOOST_AUTO_TEST_CASE(in_other_scopes_a_value_is_deleted) {
    put("global_process_set_hash_1", "0", "a");
    put("global_process_set_hash_1", "1", "b");
    BOOST_TEST(remove("global_process_set_hash_1", "0") == "200");
    BOOST_TEST(http_status(get("global_process_set_hash_1", "0")) == "404");
    BOOST_TEST(http_status(get("global_process_set_hash_1", "1")) == "200");
    BOOST_TEST(remove("nothing", "here") == "200");
}

BOOST_AUTO_TEST_CASE(values_beyond_the_memory_limit_are_refused) {
    const std::string large(RequestReader::kMostBody, 'x');
    int held = 0;
    while (put("a", std::to_string(held), large) == "200") ++held;
    BOOST_TEST(held == 63);
    BOOST_TEST(put("b", "0", large) == "507");
    BOOST_TEST(put("a", "0", large) == "200");  // in place of itself
    remove("a", "5");
    BOOST_TEST(put("b", "0", large) == "200");
}

BOOST_AUTO_TEST_CASE(other_methods_are_refused) {
    BOOST_TEST(http_status(values.answer({"POST", "a", "b", {}})) == "405");
    BOOST_TEST(http_status(KeyValues::refusal(RequestState::bad)) == "400");
    BOOST_TEST(http_status(KeyValues::refusal(RequestState::too_large)) == "413");
}

BOOST_AUTO_TEST_SUITE_END()
