// SPDX-License-Identifier: Apache-2.0
#include "slurm/host_list.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::slurm;

BOOST_AUTO_TEST_SUITE(host_list)

BOOST_AUTO_TEST_CASE(host_lists_expand) {
    const auto is = [](const std::string& list, const std::vector<std::string>& names) {
        BOOST_TEST(expand_hostlist(list) == names, boost::test_tools::per_element());
    };
    is("n1", {"n1"});
    is("n[1-3]", {"n1", "n2", "n3"});
    is("n[1,3-4],gpu", {"n1", "n3", "n4", "gpu"});
    is("n[08-10]", {"n08", "n09", "n10"});
    is("r[0-1]n[1-2]-ib", {"r0n1-ib", "r0n2-ib", "r1n1-ib", "r1n2-ib"});
}

BOOST_AUTO_TEST_CASE(a_list_of_too_many_names_is_empty) {
    BOOST_TEST(expand_hostlist("n[1-99999999]").empty());
    BOOST_TEST(expand_hostlist("n[5--9223372036854775808]").empty());
    BOOST_TEST(expand_hostlist("r[1-9999]n[1-9999]").empty());
    BOOST_TEST(expand_hostlist("n[1-999999,1-999999]").empty());
    BOOST_TEST(expand_hostlist("n[9223372036854775807]").empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_list_is_empty) {
    for (const char* list : {"n[a-b]", "n[1-", "n1-2]", "n]1[", "n[]", "n[1-2],m[3-x]", "n[1-2-3]"})
        BOOST_TEST(expand_hostlist(list).empty(), list);
}

BOOST_AUTO_TEST_CASE(names_become_the_list_that_gives_them_back) {
    const auto is = [](const std::vector<std::string>& names, const std::string& list) {
        BOOST_TEST(hostlist_of(names) == list);
        BOOST_TEST(expand_hostlist(list) == names, boost::test_tools::per_element());
    };
    is({}, "");
    is({"gpu"}, "gpu");
    is({"n1"}, "n1");
    is({"n1", "n2", "n3"}, "n[1-3]");
    is({"n3", "n1", "n2"}, "n[3,1-2]");
    is({"n1", "n1"}, "n[1,1]");
    is({"n08", "n09", "n10", "n11"}, "n[08-11]");
    is({"n098", "n099", "n100"}, "n[098-100]");
    is({"n9", "n10", "n011"}, "n[9-10,011]");
    is({"n99", "n100", "n101"}, "n[99-101]");
    is({"n0", "n00", "n01"}, "n[0,00-01]");
    is({"r0n1-ib", "r0n2-ib", "r1n1-ib"}, "r0n[1-2]-ib,r1n1-ib");
    is({"a", "n1", "b", "n2"}, "a,n1,b,n2");
    is({"1", "2"}, "[1-2]");
    is({"n1234567890123", "n1234567890124"}, "n1234567890123,n1234567890124");
}

BOOST_AUTO_TEST_SUITE_END()
