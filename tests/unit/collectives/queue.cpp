// SPDX-License-Identifier: Apache-2.0
//
// The queue's pure parts: verdicts on requests that differ, fusion, schedules, autotuning,
// timelines; and the queue itself, with its thread and several callers, of one rank.
#include "collectives/queue/queue.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ranks.hpp"
#include "sys/codec.hpp"

using namespace batchai::coll;

namespace {

Part part(std::size_t count, batchai_coll_type type = BATCHAI_COLL_FLOAT32,
          batchai_coll_op op = BATCHAI_COLL_SUM) {
    Part made;
    made.signature.kind = Kind::allreduce;
    made.signature.count = count;
    made.signature.type = static_cast<std::uint8_t>(type);
    made.signature.op = static_cast<std::uint8_t>(op);
    return made;
}

// An operation of the caller's own where there are no parts.
std::string key(const std::string& name, const std::string& text, std::vector<Part> parts = {},
                int priority = 0) {
    Submission submission;
    submission.parts = std::move(parts);
    submission.priority = priority;
    set_key(submission, name, text);
    return submission.key;
}

PendingRequests requests(std::vector<std::string> keys, bool stuck = true) {
    return {stuck, false, std::move(keys)};
}

std::vector<std::string> sentences(const std::vector<Verdict>& verdicts) {
    std::vector<std::string> all;
    for (const Verdict& verdict : verdicts) {
        all.push_back(std::string(name_of(verdict.key)) + ": " + verdict.sentence);
    }
    return all;
}

const std::vector<int> kTwo = {0, 1}, kThree = {0, 1, 2};

}  // namespace

BOOST_AUTO_TEST_SUITE(queue_judge)

BOOST_AUTO_TEST_CASE(operations_of_all_ranks_start_in_the_first_ranks_order) {
    const std::string a = key("a", "of x"), b = key("b", "of y"), c = key("c", "of z");
    const auto verdicts = judge({requests({b, a}), requests({a, c, b})}, kTwo);
    BOOST_TEST(sentences(verdicts) == (std::vector<std::string>{"b: ", "a: "}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_difference_is_named_once_for_each_description) {
    const std::string two = key("a", "[2]", {part(2)}), three = key("a", "[3]", {part(3)});
    const auto verdicts = judge({requests({two}), requests({three}), requests({two})}, {4, 6, 8});
    BOOST_REQUIRE(verdicts.size() == 2);
    BOOST_TEST(verdicts[0].key == two);
    BOOST_TEST(verdicts[1].key == three);
    for (const Verdict& verdict : verdicts) {
        BOOST_TEST(verdict.sentence ==
                   "a: ranks disagree: rank 4 has allreduce (sum) of 2 float32 [2], rank 6 has "
                   "allreduce (sum) of 3 float32 [3]");
    }
}

BOOST_AUTO_TEST_CASE(other_operations_are_not_held_up_by_a_difference) {
    const std::string b = key("b", "same");
    const auto verdicts = judge({requests({key("a", "1"), b}), requests({b, key("a", "2")})}, kTwo);
    BOOST_TEST(verdicts.size() == 3);
    BOOST_TEST(verdicts.back().sentence == "");
}

BOOST_AUTO_TEST_CASE(nothing_in_common_fails_only_when_every_rank_is_stuck) {
    const auto all = [](bool last) {
        return std::vector<PendingRequests>{requests({key("a", "of p")}),
                                            requests({key("b", "of q")}),
                                            requests({key("b", "of q")}, last)};
    };
    BOOST_TEST(judge(all(false), kThree).empty());
    const auto verdicts = judge(all(true), kThree);
    BOOST_TEST(verdicts.size() == 2);
    for (const Verdict& verdict : verdicts) {
        BOOST_TEST(verdict.sentence ==
                   "no operation was submitted on every rank: rank 0 waits for a (of p); rank 1 "
                   "waits for b (of q); rank 2 waits for b (of q)");
    }
}

BOOST_AUTO_TEST_CASE(long_lists_of_requests_are_shortened) {
    std::vector<std::string> many;
    for (int i = 0; i < 9; ++i) many.push_back(key("a" + std::to_string(i), "s"));
    const auto verdicts = judge({requests(many), requests({key("b", "s")})}, kTwo);
    BOOST_TEST(verdicts[0].sentence.find("a5 (s) and 3 more; rank 1") != std::string::npos);
    BOOST_TEST(verdicts[0].sentence.find("a6") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_stall_names_the_ranks_that_others_wait_for) {
    BOOST_TEST(describe_stall(
                   {requests({key("a", "")}), requests({}), requests({key("a", ""), key("b", "")})},
                   kThree) == "a: not submitted by rank 1; b: not submitted by ranks 0, 1");
}

BOOST_AUTO_TEST_CASE(requests_travel_as_bytes) {
    const PendingRequests sent{true, false, {key("a", "x"), key("", ""), key("c", "z", {part(3)})}};
    const std::string bytes = batchai::sys::encode(sent);
    const auto read = [](const std::string& from) {
        return batchai::sys::decode_whole<PendingRequests>(from);
    };
    BOOST_REQUIRE(read(bytes).has_value());
    BOOST_TEST((*read(bytes) == sent));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        BOOST_TEST(!read(bytes.substr(0, size)).has_value());
    }
    // A key longer than all there is: after two flags, a number and the number of keys.
    std::string wrong = bytes;
    wrong[2 + 8 + 8 + 7] = '\x7f';
    BOOST_TEST(!read(wrong).has_value());
}

std::string join() {
    Submission submission;
    submission.join = true;
    set_key(submission, "join", "join");
    return submission.key;
}

BOOST_AUTO_TEST_CASE(a_rank_that_has_joined_holds_up_no_sum) {
    const std::string a = key("a", "[2]", {part(2)}), b = key("b", "[3]", {part(3)});
    const auto verdicts = judge({requests({join()}), requests({a, b}), requests({b, a})}, kThree);
    BOOST_TEST(sentences(verdicts) == (std::vector<std::string>{"a: ", "b: "}),
               boost::test_tools::per_element());
    BOOST_TEST(judge({requests({join()}), requests({a}), requests({}, false)}, kThree).empty());
}

BOOST_AUTO_TEST_CASE(an_operation_for_which_zero_is_not_neutral_fails_after_a_join) {
    const std::string own = key("own", "broadcast of x");
    const std::string most = key("most", "", {part(1, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_MAX)});
    const auto verdicts = judge({requests({own, most}), requests({join()})}, {3, 5});
    BOOST_REQUIRE(verdicts.size() == 2);
    BOOST_TEST(
        verdicts[0].sentence ==
        "own: rank 5 has joined. Until all ranks have joined, only sums and averages in host "
        "memory work, not broadcast of x");
    BOOST_TEST(verdicts[1].sentence.find("rank 5 has joined") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(joins_end_together_and_tell_the_last_one) {
    std::vector<PendingRequests> all{requests({join()}), requests({join()}), requests({join()})};
    BOOST_TEST(judge(all, kThree).size() == 1);
    all[0].seen = 2;
    all[2].seen = 1;
    BOOST_TEST(last_to_join(all) == 1);
    all[1].seen = 1;
    BOOST_TEST(last_to_join(all) == 2);
}

BOOST_AUTO_TEST_CASE(keys_tell_everything_that_has_to_agree) {
    BOOST_TEST(key("a", "x") != key("a", "y"));
    BOOST_TEST(key("ax", "") != key("a", "x"));
    BOOST_TEST(key("a", "", {part(2)}) != key("a", "", {part(3)}));
    BOOST_TEST(key("a", "", {part(2)}) != key("a", "", {part(2, BATCHAI_COLL_FLOAT64)}));
    BOOST_TEST(key("a", "", {part(2)}) !=
               key("a", "", {part(2, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_MAX)}));
    BOOST_TEST(key("a", "", {}, 1) != key("a", ""));
    BOOST_TEST(key("a", "", {part(2), part(3)}) != key("a", "", {part(3), part(2)}));
    BOOST_TEST(describe_key(key("a", "", {part(2), part(3)}, 7)) ==
               "allreduce (sum) of 2 float32, allreduce (sum) of 3 float32, priority 7");
    BOOST_TEST(describe_key(key("a", "", std::vector<Part>(6, part(1)))).find("and 2 more") !=
               std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(queue_fusion)

namespace {

std::vector<Fused> groups(const std::vector<Item>& items, std::size_t threshold) {
    return fuse(items, threshold);
}

const FusionKey kFloat{BATCHAI_COLL_FLOAT32, 0, 1, 1}, kHalf{BATCHAI_COLL_FLOAT16, 0, 1, 1};

}  // namespace

BOOST_AUTO_TEST_CASE(the_threshold_is_bytes) {
    const std::vector<Item> items = {{kFloat, 12}, {kFloat, 8}, {kFloat, 4}};
    BOOST_TEST((groups(items, 1000) == std::vector<Fused>{{0, 1, 2}}));
    BOOST_TEST((groups(items, 12) == std::vector<Fused>{{0}, {1, 2}}));
    BOOST_TEST((groups(items, 0) == std::vector<Fused>{{0}, {1}, {2}}));
    BOOST_TEST(groups({}, 12).empty());
}

BOOST_AUTO_TEST_CASE(other_types_in_between_do_not_separate) {
    const std::vector<Item> items = {{kFloat, 4}, {kHalf, 2}, {kFloat, 4}, {kHalf, 2}};
    BOOST_TEST((groups(items, 100) == std::vector<Fused>{{0, 2}, {1, 3}}));
}

BOOST_AUTO_TEST_CASE(an_operation_that_cannot_be_fused_keeps_its_place) {
    const std::vector<Item> items = {
        {kFloat, 4}, {std::nullopt, 0}, {std::nullopt, 0}, {kFloat, 4}};
    BOOST_TEST((groups(items, 100) == std::vector<Fused>{{1}, {2}, {0, 3}}));
}

BOOST_AUTO_TEST_CASE(sections_are_not_mixed) {
    const std::vector<Item> items = {{kFloat, 4, 1}, {kFloat, 4, 1}, {kFloat, 4, 2}};
    BOOST_TEST((groups(items, 100) == std::vector<Fused>{{0, 1}, {2}}));
}

BOOST_AUTO_TEST_CASE(an_item_limits_the_group_that_ends_with_it) {
    const std::vector<Item> items = {
        {kFloat, 4, 0, 8}, {kFloat, 4, 0, 8}, {kFloat, 4, 0, 8}, {kFloat, 4, 0, 4}};
    BOOST_TEST((groups(items, 100) == std::vector<Fused>{{0, 1}, {2}, {3}}));
}

namespace {

// The frozen schedule of a cycle of tensors with these sizes in KiB.
Schedule frozen_schedule(const std::vector<std::size_t>& sizes, std::vector<Submission>& tensors) {
    tensors.resize(sizes.size());
    std::vector<Submission*> round;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        tensors[i].parts = {part(sizes[i] * 1024 / sizeof(float))};
        tensors[i].id = static_cast<int>(i);
        round.push_back(&tensors[i]);
    }
    Schedule schedule;
    for (int cycle = 0; !schedule.may_freeze(); ++cycle) {
        BOOST_TEST_REQUIRE(cycle < 10);
        schedule.started(round, true, tensors.size());
    }
    schedule.freeze();
    return schedule;
}

// The numbers of tensors in the buckets of such a cycle.
std::vector<std::size_t> cut_into_buckets(const std::vector<std::size_t>& sizes,
                                          std::size_t good = 16u << 20) {
    std::vector<Submission> tensors;
    Schedule schedule = frozen_schedule(sizes, tensors);
    schedule.cut(16u << 20, good);
    std::vector<std::size_t> numbers;
    do {
        numbers.push_back(schedule.next().ids.size());
    } while (!schedule.advance());
    return numbers;
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_bucket_of_a_cycle_is_larger_than_what_comes_before_or_after_it) {
    BOOST_TEST(cut_into_buckets(std::vector<std::size_t>(40, 1024)) ==
                   (std::vector<std::size_t>{1, 1, 2, 4, 8, 12, 6, 3, 1, 1, 1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(buckets_are_smaller_the_longer_the_wire_takes) {
    using namespace std::chrono_literals;
    constexpr std::size_t kMiB = 1u << 20;
    std::vector<Submission> tensors;
    const Schedule schedule = frozen_schedule(std::vector<std::size_t>(100, 1024), tensors);
    BOOST_TEST(schedule.good_bucket(0ms) == 100 * kMiB);
    BOOST_TEST(schedule.good_bucket(16ms) == 25 * kMiB);
    BOOST_TEST(schedule.good_bucket(400ms) == 5 * kMiB);
    BOOST_TEST(schedule.good_bucket(1h) == kMiB);
    BOOST_TEST(cut_into_buckets(std::vector<std::size_t>(20, 1024), 3 * kMiB) ==
                   (std::vector<std::size_t>{1, 1, 2, 3, 3, 3, 3, 2, 1, 1}),
               boost::test_tools::per_element());
    // Small tensors do not go alone, although the bucket is then larger than a good one.
    BOOST_TEST(cut_into_buckets({4, 8192, 4, 4, 8192, 2048, 2048}, 3 * kMiB) ==
                   (std::vector<std::size_t>{2, 3, 1, 1}),
               boost::test_tools::per_element());
}

// Two small tensors, a large one that comes at once, and some that come later.
BOOST_AUTO_TEST_CASE(a_large_tensor_does_not_wait_for_a_message_of_small_ones) {
    BOOST_TEST(cut_into_buckets({1, 20, 4608, 144, 72}) == (std::vector<std::size_t>{3, 2}),
               boost::test_tools::per_element());
    // What is not small beside it goes ahead of it.
    BOOST_TEST(cut_into_buckets({1024, 4608, 144, 72}) == (std::vector<std::size_t>{1, 1, 2}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(operations_of_several_types_have_no_fusion_key) {
    Submission submission;
    submission.parts = {part(2), part(3)};
    BOOST_TEST(fusion_key(submission).has_value());
    submission.parts.push_back(part(1, BATCHAI_COLL_INT32));
    BOOST_TEST(!fusion_key(submission).has_value());
    BOOST_TEST(!fusion_key(Submission{}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(queue_tuner)

BOOST_AUTO_TEST_CASE(the_fastest_candidate_wins) {
    const auto candidates = fusion_thresholds(10u << 20);
    BOOST_TEST(candidates.size() == 5u);  // 1, 2, 4, 8 and 16 MiB
    Tuner tuner(16u << 20, true);
    BOOST_TEST(!tuner.step(0.1));
    tuner.begin(candidates);
    std::vector<std::size_t> tried;
    while (!tuner.is_undecided()) {
        if (tried.empty() || tried.back() != tuner.value()) tried.push_back(tuner.value());
        tuner.step(tuner.value() == 4u << 20 ? 0.5 : 1.0);
    }
    BOOST_TEST(tried == candidates, boost::test_tools::per_element());
    BOOST_TEST(tuner.times().size() == 5u);
    tuner.decide();
    BOOST_TEST(tuner.value() == 4u << 20);
    BOOST_TEST(!tuner.is_undecided());
    BOOST_TEST(!tuner.step(0.1));
    tuner.begin(candidates);  // the same job again
    BOOST_TEST(tuner.value() == 4u << 20);
    tuner.begin({7});
    BOOST_TEST(tuner.value() == 7u);
}

BOOST_AUTO_TEST_CASE(a_setting_stays_without_tuning) {
    Tuner tuner(123, false);
    tuner.begin(fusion_thresholds(1u << 30));
    for (int i = 0; i < 100; ++i) BOOST_TEST(!tuner.step(i));
    BOOST_TEST(!tuner.is_undecided());
    BOOST_TEST(tuner.value() == 123u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(queue_alone)

namespace {

// A queue of one rank, with its thread.
struct Alone {
    explicit Alone(Dispatcher::Options options = {}) : ranks({1}) {
        options.numbers = {0};
        queue =
            std::make_unique<Queue>(ranks.engine(0), ranks.progress(0), ranks.topology(0), options);
    }
    Submission* submit(const std::string& name, std::vector<float>& numbers) {
        Part own = part(numbers.size());
        own.send = own.receive = reinterpret_cast<std::byte*>(numbers.data());
        return queue->submit({name, "", std::span(&own, 1)});
    }
    std::string wait(Submission* submission) {
        std::string sentence;
        queue->wait(submission, sentence);
        return sentence;
    }

    Ranks ranks;
    std::unique_ptr<Queue> queue;
};

int fails(void*) {
    return 1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(many_callers_at_once) {
    Alone alone;
    std::vector<std::thread> callers;
    std::atomic<int> wrong = 0;
    for (int c = 0; c < 4; ++c) {
        callers.emplace_back([&, c] {
            for (int i = 0; i < 200; ++i) {
                std::vector<float> numbers(5, static_cast<float>(i));
                const std::string name = i % 3 == 0 ? "" : "caller " + std::to_string(c);
                Submission* submission = alone.submit(name, numbers);
                std::string sentence;
                if (i % 2 == 0) {
                    while (alone.queue->test(submission, sentence) == BATCHAI_COLL_IN_PROGRESS) {
                        std::this_thread::yield();
                    }
                } else {
                    sentence = alone.wait(submission);
                }
                wrong += !sentence.empty() || numbers[4] != static_cast<float>(i);
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    BOOST_TEST(wrong == 0);
    BOOST_TEST(alone.queue->close().status == BATCHAI_COLL_OK);
}

BOOST_AUTO_TEST_CASE(a_submission_ends_without_a_wait) {
    Alone alone;
    std::vector<float> numbers(1000, 1);
    Submission* submission = alone.submit("x", numbers);
    std::string sentence;
    while (alone.queue->test(submission, sentence) == BATCHAI_COLL_IN_PROGRESS) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    BOOST_TEST(sentence.empty());
}

BOOST_AUTO_TEST_CASE(a_name_is_taken_until_the_operation_has_ended) {
    Dispatcher::Options options;
    options.cycle = std::chrono::hours(1);  // no operation starts before a caller waits
    Alone alone(options);
    std::vector<float> numbers(1);
    Submission* first = alone.submit("x", numbers);
    BOOST_TEST(alone.submit("x", numbers) == nullptr);
    BOOST_TEST(alone.wait(first).empty());
    BOOST_TEST(alone.wait(alone.submit("x", numbers)).empty());
}

BOOST_AUTO_TEST_CASE(a_callers_own_operation_fails_alone) {
    Alone alone;
    BOOST_TEST(alone.wait(alone.queue->submit({"own", "", {}, fails})) ==
               "own could not be started");
    std::vector<float> numbers(1);
    BOOST_TEST(alone.wait(alone.submit("x", numbers)).empty());
}

BOOST_AUTO_TEST_CASE(a_waiting_operation_fails_when_the_queue_closes) {
    Dispatcher::Options options;
    options.cycle = std::chrono::hours(1);
    Alone alone(options);
    std::vector<float> numbers(1);
    Submission* submission = alone.submit("x", numbers);
    alone.queue->close();
    BOOST_TEST(alone.wait(submission) == "shut down before x was synchronized");
}

BOOST_AUTO_TEST_CASE(a_timeline_is_json) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("batchai-timeline-" + std::to_string(::getpid()));
    Alone alone;
    BOOST_TEST(!alone.queue->trace("/nonexistent/timeline", false));
    BOOST_TEST(bool(alone.queue->trace(path, true)));
    std::vector<float> numbers(3);
    for (int i = 0; i < 5; ++i)
        BOOST_TEST(alone.wait(alone.submit("a \"b\"\\\n", numbers)).empty());
    BOOST_TEST(bool(alone.queue->trace("", false)));
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::filesystem::remove(path);
    BOOST_TEST(text.str().starts_with("[\n{"));
    BOOST_TEST(text.str().ends_with("}\n]\n"));
    for (const std::string_view wanted :
         {R"("id":"a \"b\"\\\u000a")", R"("name":"NEGOTIATE_ALLREDUCE")", R"("name":"ALLREDUCE")",
          R"("name":"CYCLE_START")", R"("args":{"bytes":12,"tensors":1})"}) {
        BOOST_TEST(text.str().find(wanted) != std::string::npos, wanted);
    }
}

// Whoever looks at it while the job hangs, and after it was killed.
BOOST_AUTO_TEST_CASE(a_timeline_is_not_empty_or_open_before_its_end) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("batchai-timeline-" + std::to_string(::getpid()));
    Alone alone;
    BOOST_TEST(bool(alone.queue->trace(path, false)));
    std::vector<float> numbers(3);
    std::string text;
    for (const std::string name : {"first", "second"}) {
        BOOST_TEST(alone.wait(alone.submit(name, numbers)).empty());
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (text.find(name) == std::string::npos &&
               std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            std::ostringstream now;
            now << std::ifstream(path).rdbuf();
            text = now.str();
        }
        BOOST_TEST(text.find(name) != std::string::npos);
        BOOST_TEST(text.ends_with("}\n]\n"));
    }
    std::filesystem::remove(path);
}

BOOST_AUTO_TEST_SUITE_END()
