// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/request.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

#include "tests/unit/printing.hpp"

using batchai::spank::Fields;
using batchai::spank::parse_request;

namespace {

Fields request(const std::string& replaced = "", const std::string& value = "") {
    Fields fields;
    for (const auto& [name, text] :
         std::initializer_list<std::pair<std::string, std::string>>{{"name", "mini-7"},
                                                                    {"id", "7"},
                                                                    {"uid", "1000"},
                                                                    {"gid", "100"},
                                                                    {"groups", "100,27,"},
                                                                    {"restart", "1"},
                                                                    {"step", "4711"},
                                                                    {"gpus", "2"},
                                                                    {"in_place", "0"},
                                                                    {"node", "n1"},
                                                                    {"hosts", "n1,n2"},
                                                                    {"job", "/home/u/job.json"}})
        fields.add(name, name == replaced ? value : text);
    return fields;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(request_suite)

BOOST_AUTO_TEST_CASE(a_task_of_a_job_array_has_its_number) {
    Fields fields = request();
    fields.add("array_task", "0");
    fields.add("array", "26");
    BOOST_TEST(parse_request(fields.text())->array_task == 0U);
    BOOST_TEST(parse_request(fields.text())->array == 26U);
    Fields wrong = request();
    wrong.add("array_task", "x");
    BOOST_TEST(!parse_request(wrong.text()));
}

BOOST_AUTO_TEST_CASE(a_request_is_read) {
    const auto parsed = parse_request(request().text());
    BOOST_REQUIRE(parsed);
    BOOST_TEST(parsed->job_id == 7U);
    BOOST_TEST(parsed->restart == 1U);
    BOOST_TEST(parsed->name == "mini-7");
    BOOST_TEST(parsed->step == 4711);
    BOOST_TEST(parsed->has_options());
    BOOST_TEST(!parsed->array_task);
    BOOST_TEST(parsed->user.uid == 1000U);
    BOOST_TEST(parsed->user.groups.size() == 2U);
    BOOST_TEST(parsed->hosts.size() == 2U);
    BOOST_TEST(parsed->gpus == 2);
    BOOST_TEST(!parsed->in_place);
    BOOST_TEST(parsed->job_file == "/home/u/job.json");
    BOOST_TEST(parsed->mounts.empty());
}

BOOST_AUTO_TEST_CASE(a_request_with_a_mistake_is_refused) {
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, const char*>>{{"name", ""},
                                                                    {"name", "../mini-7"},
                                                                    {"name", "."},
                                                                    {"step", "x"},
                                                                    {"id", ""},
                                                                    {"uid", "root"},
                                                                    {"gid", "-1"},
                                                                    {"groups", "1,x"},
                                                                    {"node", ""},
                                                                    {"node", "../n1"},
                                                                    {"node", "a/b"},
                                                                    {"node", ".."},
                                                                    {"hosts", ""}})
        BOOST_TEST(!parse_request(request(name, value).text()), name << "=" << value);
    BOOST_TEST(!parse_request(""));
    BOOST_TEST(!parse_request("nonsense"));
}

BOOST_AUTO_TEST_CASE(bytes_at_random_do_no_harm) {
    std::minstd_rand random(1);
    const std::string good = request().text();
    for (int round = 0; round < 5000; ++round) {
        std::string text = good;
        for (int change = 0; change < 3; ++change)
            text[random() % text.size()] = static_cast<char>(random());
        text.resize(random() % (text.size() + 1));
        const auto parsed = parse_request(text);
        BOOST_TEST_REQUIRE((parsed || !parsed.error().message.empty()));
    }
}

BOOST_AUTO_TEST_SUITE_END()
