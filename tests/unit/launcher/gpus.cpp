// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/gpus.hpp"
#include "launcher/agent/gpu_load.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(gpus)

namespace {

namespace fs = std::filesystem;
using Addresses = std::vector<std::string>;
constexpr const char* kNowhere = "/nonexistent";

// What NVIDIA's driver says of three GPUs; their device files are not numbered by address.
struct Driver {
    fs::path directory = fs::temp_directory_path() / ("gpus." + std::to_string(::getpid()));
    Driver() {
        add("0000:07:00.0", "GPU-aaaa-1", 2);
        add("0000:81:00.0", "GPU-bbbb-2", 0);
        add("0000:c1:00.0", "GPU-cccc-3", 1);
    }
    ~Driver() { fs::remove_all(directory); }
    void add(const std::string& address, const std::string& uuid, int minor) const {
        fs::create_directories(directory / address);
        std::ofstream(directory / address / "information")
            << "Model: \t\t NVIDIA H100\nIRQ:   \t\t 5\nGPU UUID: \t " << uuid
            << "\nBus Location: \t " << address << "\nDevice Minor: \t " << minor << "\n";
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(gpus_are_counted) {
    const Driver driver;
    const auto count = [&](const env::Environment& environment) {
        return *count_gpus(environment, driver.directory);
    };
    BOOST_TEST(count({{"SLURM_GPUS_ON_NODE", "4"}, {"CUDA_VISIBLE_DEVICES", "0"}}) == 4);
    BOOST_TEST(count({{"CUDA_VISIBLE_DEVICES", "0,2,5"}}) == 3);
    BOOST_TEST(count({{"CUDA_VISIBLE_DEVICES", "GPU-aaaa"}}) == 1);
    BOOST_TEST(count({{"CUDA_VISIBLE_DEVICES", ""}}) == 0);
    BOOST_TEST(count({{"CUDA_VISIBLE_DEVICES", "-1"}}) == 0);
    BOOST_TEST(count({{"SLURM_JOB_ID", "1"}}) == 0);
    // Shares of one GPU, as Slurm gives them out.
    BOOST_TEST(count({{"SLURM_JOB_ID", "1"},
                      {"SLURM_SHARDS_ON_NODE", "4"},
                      {"CUDA_VISIBLE_DEVICES", "0"}}) == 1);
    BOOST_TEST(count({}) == 3);
    BOOST_TEST(*count_gpus({}, kNowhere) == 0);
}

BOOST_AUTO_TEST_CASE(visible_devices_are_those_that_cuda_finds) {
    const auto are = [](const char* list, const std::vector<std::string>& wanted) {
        BOOST_TEST_CONTEXT(list)
        BOOST_TEST(*visible_devices(list) == wanted, boost::test_tools::per_element());
    };
    are("1,0", {"1", "0"});
    are("0,1,", {"0", "1"});
    are("0,,1", {"0"});
    are("3,-1,2", {"3"});
    are("0,2,-1,1", {"0", "2"});
    are(" 0,\t1", {"0", "1"});
    are("01,+2,3gpu", {"1", "2", "3"});
    for (const char* none : {"", "-1", "NoDevFiles", "none", ",0", "+", "99999999999"})
        are(none, {});
    are("GPU-8932f937,GPU-1932f937,1", {"GPU-8932f937", "GPU-1932f937"});
    are("0,GPU-8932f937", {"0"});
    are("MIG-a,GPU-b", {"MIG-a"});
    for (const char* twice : {"0,0", "0,1,00", "GPU-a,GPU-a", "MIG-a,MIG-b,MIG-a"}) {
        const auto devices = visible_devices(twice);
        BOOST_TEST(!devices);
        BOOST_TEST(
            devices.error().message.starts_with("CUDA_VISIBLE_DEVICES=" + std::string(twice)));
    }
    are("0,-1,0", {"0"});
    BOOST_TEST(!count_gpus({{"CUDA_VISIBLE_DEVICES", "0,0"}}, kNowhere));
    // Slurm's number counts, whatever the list is.
    BOOST_TEST(*count_gpus({{"SLURM_GPUS_ON_NODE", "1"}, {"CUDA_VISIBLE_DEVICES", "0,0"}}) == 1);
}

BOOST_AUTO_TEST_CASE(each_rank_has_the_gpu_of_its_number_and_no_gpu_is_left) {
    using List = std::vector<int>;
    BOOST_TEST(gpus_of_rank(1, 4, 4) == List{1}, boost::test_tools::per_element());
    BOOST_TEST(gpus_of_rank(0, 1, 3) == (List{0, 1, 2}), boost::test_tools::per_element());
    BOOST_TEST(gpus_of_rank(0, 2, 3) == (List{0, 2}), boost::test_tools::per_element());
    BOOST_TEST(gpus_of_rank(5, 6, 2) == List{1}, boost::test_tools::per_element());
    BOOST_TEST(gpus_of_rank(0, 1, 0).empty());
}

BOOST_AUTO_TEST_CASE(their_addresses_are_found_however_they_are_named) {
    const Driver driver;
    const auto are = [&](const env::Environment& environment, int count, const Addresses& wanted) {
        BOOST_TEST(gpu_addresses(environment, count, driver.directory) == wanted,
                   boost::test_tools::per_element());
    };
    are({}, 3, {"0000:07:00.0", "0000:81:00.0", "0000:c1:00.0"});
    are({{"CUDA_VISIBLE_DEVICES", "2,0"}}, 2, {"0000:c1:00.0", "0000:07:00.0"});
    are({{"CUDA_VISIBLE_DEVICES", "GPU-cccc,GPU-aaaa-1"}}, 2, {"0000:c1:00.0", "0000:07:00.0"});
    // In a cgroup of Slurm's, where CUDA counts from 0.
    are({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_STEP_GPUS", "1,2"}}, 2,
        {"0000:c1:00.0", "0000:07:00.0"});
    are({{"CUDA_VISIBLE_DEVICES", "1,2"}, {"SLURM_JOB_GPUS", "1,2"}}, 2,
        {"0000:c1:00.0", "0000:07:00.0"});
}

BOOST_AUTO_TEST_CASE(addresses_that_cannot_be_told_are_not_guessed) {
    const Driver driver;
    BOOST_TEST(gpu_addresses({{"CUDA_VISIBLE_DEVICES", "0,1"}}, 2, kNowhere).empty());
    BOOST_TEST(gpu_addresses({{"CUDA_VISIBLE_DEVICES", "MIG-1"}}, 1, driver.directory).empty());
    BOOST_TEST(gpu_addresses({{"CUDA_VISIBLE_DEVICES", "0,7"}}, 2, driver.directory).empty());
    BOOST_TEST(gpu_addresses({{"SLURM_STEP_GPUS", "7"}}, 1, driver.directory).empty());
    BOOST_TEST(gpu_addresses({}, 0, driver.directory).empty());
}

BOOST_AUTO_TEST_CASE(a_ranks_own_gpus_are_named_as_all_are) {
    BOOST_TEST(visible_gpus({{"CUDA_VISIBLE_DEVICES", "4, 5,7"}}, 3, {0, 2}) == "4,7");
    BOOST_TEST(visible_gpus({}, 4, {1, 3}) == "1,3");
}

BOOST_AUTO_TEST_CASE(each_rank_sees_its_own_part_of_a_gpu) {
    const env::Environment parts = {{"CUDA_VISIBLE_DEVICES", "MIG-aaaa,MIG-bbbb"}};
    BOOST_TEST(are_parts(parts));
    BOOST_TEST(visible_gpus(parts, 2, {1}) == "MIG-bbbb");
    BOOST_TEST(!are_parts({{"CUDA_VISIBLE_DEVICES", "GPU-aaaa,1"}}));
    BOOST_TEST(!are_parts({}));
}

// By the library of fake_nvml.cpp.
BOOST_AUTO_TEST_CASE(
    the_load_of_gpus_is_known_at_the_second_look_but_for_one_that_does_not_answer) {
    const Driver driver;
    Loop loop;
    const env::Environment environment;
    GpuLoad load(loop, environment, driver.directory);
    BOOST_TEST(load.read().empty());
    loop.run();  // until the thread has ended
    const auto gpus = load.read();
    loop.run();
    BOOST_REQUIRE_EQUAL(gpus.size(), 2U);
    BOOST_TEST(gpus[0].gpu == 0);
    BOOST_TEST(gpus[0].busy == 87);
    BOOST_TEST(gpus[0].memory == 3.0 * (1 << 30));
    BOOST_TEST(gpus[0].limit == 8.0 * (1 << 30));
    BOOST_TEST(gpus[1].gpu == 1);
    BOOST_TEST(gpus[1].busy == 0);
    GpuLoad none(loop, environment, kNowhere);
    none.read();
    loop.run();
    BOOST_TEST(none.read().empty());
}

BOOST_AUTO_TEST_SUITE_END()
