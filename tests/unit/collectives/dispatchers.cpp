// SPDX-License-Identifier: Apache-2.0
//
// The queue's dispatchers, of whole jobs in one thread and random interleavings: operations in any
// order, schedules that freeze and thaw, disagreement, shutdown.
#include "callers.hpp"

using namespace batchai::coll;

namespace {

const std::vector<std::vector<int>> kJobs = {{1}, {2}, {3}, {1, 1}, {2, 2}, {1, 3, 2}};
const std::vector<std::string> kTensors = {"a", "bb", "ccc", "dddd", "eeeee"};

}  // namespace

BOOST_AUTO_TEST_SUITE(dispatchers)

BOOST_AUTO_TEST_CASE(operations_in_any_order_on_each_rank) {
    for (const auto& shape : kJobs) {
        for (const std::size_t count : {1u, 700u, 20'000u}) {
            Job job(shape, {}, static_cast<unsigned>(count));
            job.train(kTensors, count);
            for (int r = 1; r < job.size(); ++r) {
                BOOST_TEST(job[r].order() == job[0].order(), boost::test_tools::per_element());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(late_ranks_are_waited_for) {
    Job job({2, 2});
    for (int r = 0; r < job.size(); ++r) job[r].submit("early", 10);
    for (int r = 0; r < 3; ++r) job[r].submit("late", 10);
    job.run([&] { return job[0].order().size() == 1; });
    job[3].submit("late", 10);
    job.run();
    for (int r = 0; r < job.size(); ++r) BOOST_TEST(job[r].right("late", job.sum("late")));
}

BOOST_AUTO_TEST_CASE(small_ones_are_fused_as_far_as_the_threshold) {
    for (const auto& [threshold, messages] :
         std::map<std::size_t, int>{{0, 5}, {8000, 3}, {1u << 20, 1}}) {
        Dispatcher::Options options;
        options.fusion_bytes = threshold;
        Job job({2}, options);
        job.train(kTensors, 1000, true);
        BOOST_TEST(job[0].messages() == messages);
    }
}

BOOST_AUTO_TEST_CASE(a_job_that_repeats_itself_stops_negotiating) {
    for (const auto& shape : kJobs) {
        Job job(shape);
        for (int step = 0; step < 5; ++step) job.train(kTensors, 300);
        const int rounds = job[0].rounds();
        for (int step = 0; step < 20; ++step) job.train(kTensors, 300);
        BOOST_TEST(job[0].rounds() == rounds);
    }
}

// Also on ranks that are no rail.
BOOST_AUTO_TEST_CASE(slow_links_get_smaller_messages_on_all_ranks) {
    const std::vector<std::string> tensors = {"a", "b", "c", "d", "e", "f", "g", "h"};
    constexpr std::size_t kMiB = (1u << 20) / sizeof(float);
    const Link slow{20e-6, 100e-9, 3e-6};
    Ranks ranks({1, 3, 2}, 1, {}, 4096, {}, {nullptr, {}}, slow);
    for (int r = 0; r < ranks.size(); ++r) {  // 4/3 of the bytes, over one rail
        const auto time = ranks.engine(r).allreduce_time(3000);
        BOOST_TEST(std::chrono::round<std::chrono::microseconds>(time).count() == 400);
    }
    for (const auto& [shape, link, messages] : std::vector<std::tuple<std::vector<int>, Link, int>>{
             {{3}, slow, 6}, {{2, 1}, Link(), 6}, {{2, 1}, slow, 8}, {{1, 3, 2}, slow, 8}}) {
        Job job(shape, {}, 1, link, 1u << 16);
        for (int step = 0; step < 4; ++step) job.train(tensors, kMiB, true);
        std::vector<int> before;
        for (int r = 0; r < job.size(); ++r) before.push_back(job[r].messages());
        job.train(tensors, kMiB, true);
        for (int r = 0; r < job.size(); ++r) BOOST_TEST(job[r].messages() - before[r] == messages);
    }
}

BOOST_AUTO_TEST_CASE(something_else_thaws_the_schedule_and_is_done) {
    for (const auto& shape : kJobs) {
        Job job(shape);
        for (int step = 0; step < 5; ++step) job.train(kTensors, 300);
        job.train({"metric"}, 1);
        for (int step = 0; step < 5; ++step) job.train(kTensors, 300);
        job.train({"a", "ccc"}, 300);
        for (int step = 0; step < 5; ++step) job.train({"a", "ccc"}, 300);
        for (int step = 0; step < 5; ++step) job.train(kTensors, 40'000);
        const int rounds = job[0].rounds();
        job.train(kTensors, 40'000);
        BOOST_TEST(job[0].rounds() == rounds);
    }
}

// Tensors that are waited for one by one must not be put into one bucket for good.
BOOST_AUTO_TEST_CASE(one_after_the_other_freezes_too) {
    Job job({2, 1});
    const auto step = [&] {
        for (const std::string& name : kTensors) job.train({name}, 50);
    };
    for (int i = 0; i < 20; ++i) step();
    const int rounds = job[0].rounds();
    for (int i = 0; i < 10; ++i) step();
    BOOST_TEST(job[0].rounds() == rounds);
}

BOOST_AUTO_TEST_CASE(one_rank_that_deviates_from_the_schedule_is_served) {
    Job job({2, 2});
    for (int step = 0; step < 5; ++step) job.train(kTensors, 300);
    for (int r = 0; r < job.size(); ++r) {
        for (const std::string& name : kTensors) {
            if (r != 2 || name != "bb") job[r].submit(name, 300);
        }
        if (r == 2) job[r].submit("other", 300);
        if (r == 2) job[r].block(true);
    }
    job.run([&] { return job[2].order().size() == 5 * 5 + 4; });  // all but "other"
    job[2].submit("bb", 300);
    for (int r = 0; r < job.size(); ++r) {
        if (r != 2) job[r].submit("other", 300);
        job[r].block(true);
    }
    job.run();
    for (int r = 0; r < job.size(); ++r) {
        BOOST_TEST(job[r].right("bb", job.sum("bb")));
        BOOST_TEST(job[r].right("other", job.sum("other")));
    }
}

BOOST_AUTO_TEST_CASE(integers_and_operations_of_the_callers_own_freeze_too) {
    Job job({2, 1});
    int rounds = 0;
    for (int step = 0; step < 20; ++step) {
        if (step == 10) rounds = job[0].rounds();
        for (int r = 0; r < job.size(); ++r) {
            job[r].submit("n", 3, "", BATCHAI_COLL_INT32);
            job[r].submit_own("own");
            job[r].submit("a", 3);
            job[r].block(true);
        }
        job.run();
        for (int r = 0; r < job.size(); ++r) {
            BOOST_TEST(job[r].right("n", job.sum("n")));
            BOOST_TEST(job[r].own_calls() == step + 1);
            job[r].block(false);
        }
    }
    BOOST_TEST(job[0].rounds() == rounds);
}

BOOST_AUTO_TEST_CASE(operations_without_a_name_are_matched_by_order_and_freeze) {
    Job job({2, 2});
    int rounds = 0, number = 0;
    for (int step = 0; step < 20; ++step) {
        if (step == 10) rounds = job[0].rounds();
        job.train({"noname." + std::to_string(1000 + number++)}, 10);
        job.train(kTensors, 10);
    }
    BOOST_TEST(job[0].rounds() == rounds);
    // Several alike at once, of which some ranks have more than others for a while.
    for (int r = 0; r < job.size(); ++r) {
        for (int i = 0; i < (r == 1 ? 2 : 3); ++i) {
            job[r].submit("noname." + std::to_string(2000 + i),
                          10 + static_cast<std::size_t>(i) / 2);
        }
        job[r].block(true);
    }
    job.run([&] { return job[0].order().size() == 20 * 6 + 2; });
    job[1].submit("noname.2002", 11);
    job.run();
    for (int r = 0; r < job.size(); ++r) {
        for (const char* name : {"noname.2000", "noname.2001", "noname.2002"}) {
            BOOST_TEST(job[r].right(name, job.sum(name)));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_disagreement_ends_the_operation_on_all_ranks_and_no_other) {
    for (const bool frozen : {false, true}) {
        Job job({2, 1});
        for (int step = 0; step < (frozen ? 5 : 1); ++step) job.train({"t", "good"}, 10);
        for (int r = 0; r < job.size(); ++r) {
            job[r].submit("t", r == 2 ? 11 : 10, r == 2 ? "[11]" : "[10]");
            job[r].submit("good", 10);
            job[r].block(true);
        }
        job.run();
        for (int r = 0; r < job.size(); ++r) {
            BOOST_TEST(job[r].failure("t") ==
                       "t: ranks disagree: rank 0 has allreduce (sum) of 10 float32 [10], rank 2 "
                       "has allreduce (sum) of 11 float32 [11]");
            BOOST_TEST(job[r].right("good", job.sum("good")));
            job[r].block(false);
        }
        job.train({"t", "good"}, 10);
    }
}

// No rank waits yet, and both shapes are known by number.
BOOST_AUTO_TEST_CASE(a_disagreement_about_known_operations_is_not_told_late) {
    Job job({2, 1});
    job.train({"t"}, 10);
    job.train({"t"}, 11);
    for (int r = 0; r < job.size(); ++r) job[r].submit("t", r == 2 ? 11 : 10);
    const auto began = Dispatcher::Clock::now();
    job.run();
    BOOST_TEST((Dispatcher::Clock::now() - began < std::chrono::seconds(10)));
    for (int r = 0; r < job.size(); ++r) {
        BOOST_TEST(job[r].failure("t") ==
                   "t: ranks disagree: rank 0 has allreduce (sum) of 10 float32, rank 2 has "
                   "allreduce (sum) of 11 float32");
    }
    job.train({"t"}, 11);
}

// The same of an operation without a name, while other threads of the ranks may submit something.
BOOST_AUTO_TEST_CASE(a_disagreement_without_a_name_is_not_told_late) {
    Job job({2, 1});
    job.train({"noname.1"}, 10);
    job.train({"noname.2"}, 11);
    for (int r = 0; r < job.size(); ++r) {
        job[r].submit("noname.3", r == 2 ? 11 : 10);
        job[r].block(true, false);
    }
    const auto began = Dispatcher::Clock::now();
    job.run();
    BOOST_TEST((Dispatcher::Clock::now() - began < std::chrono::seconds(10)));
    for (int r = 0; r < job.size(); ++r) {
        BOOST_TEST(job[r].failure("noname.3") ==
                   "noname.3: ranks disagree: rank 0 has allreduce (sum) of 10 float32, rank 2 has "
                   "allreduce (sum) of 11 float32");
    }
}

BOOST_AUTO_TEST_CASE(ranks_that_wait_for_different_things_are_told) {
    Job job({1, 1});
    for (int r = 0; r < 2; ++r) {
        job[r].submit(r == 0 ? "left" : "right", 1);
        job[r].block(true);
    }
    job.run();
    const std::string sentence =
        "no operation was submitted on every rank: rank 0 waits for left (allreduce (sum) of 1 "
        "float32); rank 1 waits for right (allreduce (sum) of 1 float32)";
    BOOST_TEST(job[0].failure("left") == sentence);
    BOOST_TEST(job[1].failure("right") == sentence);
}

BOOST_AUTO_TEST_CASE(ranks_leave_together) {
    for (const bool frozen : {false, true}) {
        Job job({2, 2});
        for (int step = 0; step < (frozen ? 5 : 1); ++step) job.train(kTensors, 10);
        job[1].submit("left behind", 1);
        job.close();
        BOOST_TEST(job[1].failure("left behind") ==
                   "shut down before left behind was synchronized");
    }
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_rank_that_has_left_fails) {
    Job job({2});
    job.train(kTensors, 10);
    job[0].submit("x", 1);
    job[0].block(true);
    job[1].close();
    job.run([&] { return job[0].all_ended(); });
    BOOST_TEST(job[0].failure("x") ==
               "no operation was submitted on every rank: rank 0 waits for x (allreduce (sum) of 1 "
               "float32); rank 1 has shut down");
}

BOOST_AUTO_TEST_CASE(a_full_response_cache_begins_anew) {
    Dispatcher::Options options;
    options.cache_capacity = 7;
    Job job({2, 1}, options);
    for (int step = 0; step < 10; ++step) {
        job.train({"x" + std::to_string(step), "y" + std::to_string(step)}, 5);
    }
    for (int step = 0; step < 6; ++step) job.train(kTensors, 5);
    const int rounds = job[0].rounds();
    job.train(kTensors, 5);
    BOOST_TEST(job[0].rounds() == rounds);
}

BOOST_AUTO_TEST_CASE(autotuning_changes_no_result) {
    Dispatcher::Options options;
    options.tune_fusion = options.tune_cycle = true;
    Job job({2, 1}, options);
    for (int step = 0; step < 60; ++step) job.train({"a", "b"}, 300'000);
}

BOOST_AUTO_TEST_CASE(the_cycle_is_settled_once_where_ranks_negotiate) {
    for (const bool wanted : {true, false}) {
        Dispatcher::Options options;
        options.tune_cycle = wanted;
        Job job({2, 1}, options);
        for (int step = 0; step < 100; ++step) {
            job.train(
                step % 2 == 0 ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"a"},
                5);
        }
        BOOST_TEST(job[0].tuned().size() == (wanted ? 1u : 0u));
        if (wanted) BOOST_TEST(job[0].tuned()[0].starts_with("cycle "));
        BOOST_TEST(job[1].tuned().empty());
    }
}

BOOST_AUTO_TEST_CASE(a_line_waits_as_long_as_is_tried) {
    Dispatcher::Options options;
    options.tune_cycle = true;
    Job job({2, 1}, options);
    std::map<int, int> rests;  // by microseconds
    for (int step = 0; step < 70; ++step) {
        for (int r = 0; r < job.size(); ++r) job[r].submit("a", static_cast<std::size_t>(step) + 1);
        ++rests[static_cast<int>(job[0].rest_after("a") / std::chrono::microseconds(1))];
        for (int r = 0; r < job.size(); ++r) job[r].block(true);
        job.run();
        for (int r = 0; r < job.size(); ++r) job[r].block(false);
    }
    for (const int cycle : {0, 100, 2000, 10'000}) BOOST_TEST(rests[cycle] >= 12);
}

BOOST_AUTO_TEST_SUITE_END()
