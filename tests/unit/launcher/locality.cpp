// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/binding.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <stdlib.h>

#include <boost/test/unit_test.hpp>

#include "launcher/agent/gpus.hpp"
#include "sys/text.hpp"

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(locality)

namespace {

// A machine of two packages with four cores each.
struct Machine {
    std::string package[2];  // the devices on each
    std::string root;        // devices at an unknown place
    int id = 100;

    std::string device(const std::string& address, const std::string& inside) {
        return fmt::format(
            "<object type='PCIDev' gp_index='{}' pci_busid='{}' pci_type='0302 [10de:2330] "
            "[10de:0000] a1' pci_link_speed='0'>{}</object>",
            ++id, address, inside);
    }
    std::string gpu(const std::string& address) { return device(address, ""); }
    std::string nic(const std::string& address, const std::string& name, const std::string& state,
                    const std::string& lid) {
        return device(
            address,
            fmt::format("<object type='OSDev' gp_index='{}' name='{}' osdev_type='3'>"
                        "<info name='Port1State' value='{}'/><info name='Port1LID' value='{}'/>"
                        "</object>",
                        ++id, name, state, lid));
    }

    Topology load() {
        const auto sets = [](unsigned cpus, unsigned nodes) {
            return fmt::format(
                "cpuset='{0:#010x}' complete_cpuset='{0:#010x}' nodeset='{1:#010x}' "
                "complete_nodeset='{1:#010x}'",
                cpus, nodes);
        };
        const auto bridge = [this](const std::string& devices, int domain) {
            if (devices.empty()) return std::string();
            return fmt::format(
                "<object type='Bridge' gp_index='{}' bridge_type='0-1' depth='0' "
                "bridge_pci='{:04x}:[00-ff]'>{}</object>",
                ++id, domain, devices);
        };
        std::string xml =
            "<?xml version='1.0' encoding='UTF-8'?>\n<!DOCTYPE topology SYSTEM 'hwloc2.dtd'>\n"
            "<topology version='2.0'><object type='Machine' os_index='0' gp_index='1' " +
            sets(0xff, 3) + " allowed_cpuset='0x000000ff' allowed_nodeset='0x00000003'>";
        for (unsigned p = 0; p < 2; ++p) {
            xml += fmt::format("<object type='Package' os_index='{}' gp_index='{}' {}>", p, 2 + p,
                               sets(0xfU << (4 * p), 1U << p));
            xml += fmt::format(
                "<object type='NUMANode' os_index='{}' gp_index='{}' {} local_memory='1'/>", p,
                4 + p, sets(0xfU << (4 * p), 1U << p));
            for (unsigned c = 4 * p; c < 4 * p + 4; ++c) {
                for (const auto& [type, base] : {std::pair{"Core", 10}, {"PU", 20}}) {
                    xml += fmt::format("<object type='{}' os_index='{}' gp_index='{}' {}>", type, c,
                                       base + c, sets(1U << c, 1U << p));
                }
                xml += "</object></object>";
            }
            xml += bridge(package[p], p) + "</object>";
        }
        xml += bridge(root, 2) + "</object></topology>";
        for (char& c : xml) c = c == '\'' ? '"' : c;
        hwloc_topology_t topology = nullptr;
        hwloc_topology_init(&topology);
        Topology owned(topology);
        hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
        BOOST_REQUIRE(hwloc_topology_set_xmlbuffer(topology, xml.c_str(),
                                                   static_cast<int>(xml.size() + 1)) == 0);
        BOOST_REQUIRE(hwloc_topology_load(topology) == 0);
        return owned;
    }
};

const std::vector<Core> kCores = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};

std::vector<std::string> lists(const std::vector<std::vector<int>>& cpus) {
    std::vector<std::string> lists;
    for (const auto& own : cpus) lists.push_back(batchai::sys::number_list(own));
    return lists;
}
using Lists = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_rank_gets_the_cores_of_its_gpus_package) {
    Machine machine;
    machine.package[0] = machine.gpu("0000:07:00.0");
    machine.package[1] = machine.gpu("0001:81:00.0");
    const Topology topology = machine.load();
    // The first rank's GPU is on the second package.
    BOOST_TEST(lists(near_cores(topology, kCores, {{"0001:81:00.0"}, {"0000:07:00.0"}})) ==
                   (Lists{"4-7", "0-3"}),
               boost::test_tools::per_element());
    // Two ranks for each GPU.
    BOOST_TEST(lists(near_cores(
                   topology, kCores,
                   {{"0000:07:00.0"}, {"0001:81:00.0"}, {"0000:07:00.0"}, {"0001:81:00.0"}})) ==
                   (Lists{"0-1", "4-5", "2-3", "6-7"}),
               boost::test_tools::per_element());
    // One rank for both.
    BOOST_TEST(
        lists(near_cores(topology, kCores, {{"0000:07:00.0", "0001:81:00.0"}})) == Lists{"0-7"},
        boost::test_tools::per_element());
    // Of the second package one core is ours.
    BOOST_TEST(lists(near_cores(topology, {{0}, {1}, {6}}, {{"0000:07:00.0"}, {"0001:81:00.0"}})) ==
                   (Lists{"0-1", "6"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(cores_near_no_gpu_go_to_no_rank) {
    Machine machine;
    machine.package[1] = machine.gpu("0001:41:00.0") + machine.gpu("0001:81:00.0");
    BOOST_TEST(lists(near_cores(machine.load(), kCores, {{"0001:41:00.0"}, {"0001:81:00.0"}})) ==
                   (Lists{"4-5", "6-7"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(there_is_no_binding_if_a_rank_would_get_no_core) {
    Machine machine;
    machine.package[0] = machine.gpu("0000:07:00.0");
    machine.root = machine.gpu("0002:01:00.0");
    const Topology topology = machine.load();
    BOOST_TEST(near_cores(topology, kCores, {{"0000:07:00.0"}, {"0002:01:00.0"}}).empty());
    BOOST_TEST(near_cores(topology, kCores, {{"0002:01:00.0"}}).empty());
    BOOST_TEST(near_cores(topology, kCores, {{"0009:99:00.0"}}).empty());
    BOOST_TEST(near_cores(topology, kCores, {{}}).empty());
    BOOST_TEST(near_cores(topology, {{4}, {5}}, {{"0000:07:00.0"}}).empty());
    BOOST_TEST(near_cores(nullptr, kCores, {{"0000:07:00.0"}}).empty());
    const GpusOfRanks five(5, {"0000:07:00.0"});
    BOOST_TEST(near_cores(topology, kCores, five).empty());
}

BOOST_AUTO_TEST_CASE(a_rank_gets_the_network_device_near_its_gpu) {
    Machine machine;
    machine.package[0] =
        machine.gpu("0000:07:00.0") + machine.nic("0000:08:00.0", "mlx5_0", "4", "0x1");
    machine.package[1] = machine.gpu("0001:81:00.0") +
                         machine.nic("0001:82:00.0", "mlx5_1", "4", "0x2") +
                         machine.nic("0001:83:00.0", "mlx5_2", "1", "0x0") +  // no link
                         machine.nic("0001:84:00.0", "mlx5_an", "4", "0x0");  // Ethernet
    const Topology topology = machine.load();
    BOOST_TEST(near_networks(topology, {{"0001:81:00.0"}, {"0000:07:00.0"}}) ==
                   (Lists{"mlx5_1:1", "mlx5_0:1"}),
               boost::test_tools::per_element());
    // As near to its GPUs as each other.
    BOOST_TEST(near_networks(topology, {{"0000:07:00.0", "0001:81:00.0"}}).empty());
    BOOST_TEST(near_networks(topology, {{}}).empty());
}

BOOST_AUTO_TEST_CASE(a_single_network_device_is_no_choice) {
    Machine machine;
    machine.package[0] =
        machine.gpu("0000:07:00.0") + machine.nic("0000:08:00.0", "mlx5_0", "4", "0x1");
    machine.package[1] = machine.gpu("0001:81:00.0");
    BOOST_TEST(near_networks(machine.load(), {{"0000:07:00.0"}, {"0001:81:00.0"}}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
