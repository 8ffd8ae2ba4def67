// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/counters.hpp"

#include <boost/test/unit_test.hpp>

namespace batchai::spank {

BOOST_AUTO_TEST_SUITE(counters)

BOOST_AUTO_TEST_CASE(numbers_are_kept_and_read_again) {
    Counts counts{};
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = i * 1000000007ULL;
    const std::string text = kept_text(counts);
    BOOST_TEST((kept_counts(text) == counts));
    BOOST_TEST(kept_text(Counts{}).size() == text.size());  // a write replaces the text as a whole
}

BOOST_AUTO_TEST_CASE(a_broken_list_of_counts_starts_at_zero) {
    const std::string text = kept_text(Counts{1, 2, 3});
    for (const std::string& broken :
         {std::string(), text.substr(0, text.size() / 2), "x" + text, std::string(300, '9')})
        BOOST_TEST((kept_counts(broken) == Counts{}), broken);
}

BOOST_AUTO_TEST_CASE(every_counter_is_a_line_of_the_metrics) {
    Counts counts{};
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = 100 + i;
    const std::string text = metrics_text(counts);
    for (const auto number : counts)
        BOOST_TEST((text.find("\"} " + std::to_string(number) + "\n") != text.npos), number);
    BOOST_TEST(
        text.starts_with("# HELP batchai_node_setups_total Set-ups of this node for a job.\n"
                         "# TYPE batchai_node_setups_total counter\n"
                         "batchai_node_setups_total{result=\"succeeded\"} 100\n"
                         "batchai_node_setups_total{result=\"failed\"} 101\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::spank
