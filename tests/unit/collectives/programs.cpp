// SPDX-License-Identifier: Apache-2.0
//
// Random programs for the queue's dispatchers: phases of operations of all kinds, some of them
// again and again, which each rank submits in its own order at its own pace, waiting now and then.
// All ranks must end the same operations in the same order, and with the right sums.
#include "callers.hpp"
#include "soak.hpp"

using namespace batchai::coll;

namespace {

const unsigned kPrograms = soaks() ? 3000 : 40;

using Phase = std::vector<std::string>;  // different names

class Program {
  public:
    explicit Program(unsigned seed) : random_(seed), job_(pick(kJobs), options(), seed) {}

    void run() {
        make_operations();
        const bool in_order = chance(3);
        const int phases = number(4, 24);
        Phase phase = make_phase();
        for (int i = 0; i < phases; ++i) {
            if (chance(4)) phase = make_phase();
            in_order ? one_by_one(phase) : at_will(phase);
            if (chance(6)) deviate();
        }
        job_.close();
        for (int r = 0; r < job_.size(); ++r) {
            BOOST_TEST(job_[r].order() == job_[0].order(), boost::test_tools::per_element());
            BOOST_TEST(job_.ranks().engine(r).failure().sentence == "");
        }
    }

  private:
    static const std::vector<std::vector<int>> kJobs;

    bool chance(unsigned of) { return random_() % of == 0; }
    int number(int least, int most) {
        return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
    }
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[random_() % from.size()];
    }

    Dispatcher::Options options() {
        Dispatcher::Options options;
        options.fusion_bytes = pick<std::size_t>({0, 100, 4000, 16u << 20});
        options.cache_capacity = pick<std::size_t>({1, 4, 1024, 1024});
        options.tune_fusion = chance(3);
        options.tune_cycle = chance(3);
        options.patience = std::chrono::microseconds(pick<int>({0, 200, 5000}));
        options.stall = std::chrono::microseconds(chance(4) ? 1 : 0);
        return options;
    }

    // Names are of one length, so that all sums are the same.
    void make_operations() {
        const bool plain = chance(2);
        for (char name = 'a'; name <= 'k'; ++name) {
            Wanted wanted;
            const int parts = plain || !chance(4) ? 1 : number(0, 5);
            for (int p = 0; p < parts; ++p) {
                wanted.parts.push_back(
                    {pick<std::size_t>({0, 1, 1, 3, 50, 700, 9000}),
                     plain || !chance(4) ? BATCHAI_COLL_FLOAT32 : BATCHAI_COLL_INT32});
            }
            if (!plain && chance(4)) wanted.priority = number(-1, 2);
            operations_[std::string(1, name)] = wanted;
        }
    }

    Phase make_phase() {
        Phase phase;
        for (const auto& [name, wanted] : operations_) {
            if (chance(2)) phase.push_back(name);
        }
        std::shuffle(phase.begin(), phase.end(), random_);
        return phase;
    }

    void submit(int rank, const std::string& name) { job_[rank].submit(name, operations_[name]); }
    void some_steps() {
        for (int i = number(0, 6); i > 0; --i) {
            job_[number(0, job_.size() - 1)].step();
        }
    }

    // Each rank submits in an order of its own, and waits at the end.
    void at_will(const Phase& phase) {
        std::vector<Phase> to_come(job_.size(), phase);
        for (Phase& own : to_come) std::shuffle(own.begin(), own.end(), random_);
        for (std::size_t left = phase.size() * to_come.size(); left > 0;) {
            const int r = number(0, job_.size() - 1);
            some_steps();
            if (to_come[r].empty()) continue;
            submit(r, to_come[r].back());
            to_come[r].pop_back();
            if (to_come[r].empty()) job_[r].block(true);
            --left;
        }
        finish(phase);
    }

    // All ranks submit in the same order; each waits for any that it has submitted, at any time.
    void one_by_one(const Phase& phase) {
        std::vector<std::size_t> at(job_.size(), 0);
        std::vector<std::string> awaited(job_.size());
        std::size_t left = phase.size() * at.size();
        job_.run([&] {
            some_steps();
            const int r = number(0, job_.size() - 1);
            if (!awaited[r].empty() && !job_[r].has_ended(awaited[r])) {
                job_[r].block(job_[r].is_pending(awaited[r]));
                return left == 0;
            }
            awaited[r].clear();
            job_[r].block(false);
            if (at[r] == phase.size()) return left == 0;
            submit(r, phase[at[r]++]);
            if (chance(3)) awaited[r] = phase[random_() % at[r]];
            --left;
            return left == 0;
        });
        for (int r = 0; r < job_.size(); ++r) job_[r].block(true);
        finish(phase);
    }

    void finish(const Phase& phase) {
        job_.run();
        for (int r = 0; r < job_.size(); ++r) {
            job_[r].block(false);
            for (const std::string& name : phase) {
                BOOST_TEST(job_[r].failure(name) == "");
                BOOST_TEST(job_[r].right(name, job_.sum(name)), "operation " << name);
            }
        }
    }

    // Ranks submit one operation more, some of them long before others, and without a name.
    void deviate() {
        const bool named = chance(2);
        const std::string name = named ? "more" : "noname." + std::to_string(++unnamed_);
        const Wanted wanted{{{static_cast<std::size_t>(number(0, 80))}}, "", 0};
        const int late = number(0, job_.size() - 1);
        for (int r = 0; r < job_.size(); ++r) {
            if (r != late) job_[r].submit(name, wanted);
        }
        Phase phase = make_phase();
        for (int r = 0; r < job_.size(); ++r) {
            for (const std::string& other : phase) {
                some_steps();
                submit(r, other);
            }
        }
        job_[late].submit(name, wanted);
        for (int r = 0; r < job_.size(); ++r) job_[r].block(true);
        phase.push_back(name);
        finish(phase);
    }

    std::mt19937 random_;
    Job job_;
    std::map<std::string, Wanted> operations_;
    int unnamed_ = 0;
};

const std::vector<std::vector<int>> Program::kJobs = {{1},    {2},    {3},       {1, 1},
                                                      {2, 2}, {2, 1}, {1, 3, 2}, {1, 1, 1, 1}};

}  // namespace

BOOST_AUTO_TEST_SUITE(programs)

BOOST_AUTO_TEST_CASE(end_the_same_on_all_ranks) {
    for (unsigned seed = 1; seed <= kPrograms; ++seed) {
        BOOST_TEST_CONTEXT("program " << seed) {
            Program(seed).run();
        }
    }
}

// In a vote, while lines are read, in a message, a bucket, or when times are agreed on; some ranks
// leave at the same time.
BOOST_AUTO_TEST_CASE(end_on_all_ranks_when_the_network_breaks) {
    const std::vector<std::string> names = {"a", "b", "c", "d"};
    for (unsigned seed = 1; seed <= kPrograms; ++seed) {
        Dispatcher::Options options;
        options.tune_fusion = seed % 3 == 0;
        options.fusion_bytes = seed % 4 == 0 ? 0 : 1u << 20;
        Job job({2, 1, 1}, options, seed);
        for (unsigned step = 0; step < seed % 8; ++step) job.train(names, 600);
        for (int r = 0; r < job.size(); ++r) {
            for (const std::string& name : names) job[r].submit(name, 600);
            if (seed % 5 == 0) job[r].submit("new", 5);
        }
        for (unsigned step = job.random()() % 300; step > 0; --step) {
            job[static_cast<int>(job.random()() % 4)].step();
        }
        if (seed % 2 == 0) job[1].close();
        job.ranks().cut(1);
        job.run();
        for (int r = 0; r < job.size(); ++r) job[r].submit("after", 1);
        job.run();
        for (int r = 0; r < job.size(); ++r) BOOST_TEST(job[r].failure("after") != "");
        job.close();
    }
}

BOOST_AUTO_TEST_SUITE_END()
