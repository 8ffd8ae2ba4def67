// SPDX-License-Identifier: Apache-2.0
#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "roofline.hpp"

namespace batchai::bench {
namespace {

void check(ucs_status_t status, const char* what) {
    if (status != UCS_OK)
        throw std::runtime_error(std::string(what) + ": " + ucs_status_string(status));
}

// A worker and its connection to the other of the first two ranks. UCX chooses the transport, as
// its environment says, among those between hosts.
class Pair {
  public:
    explicit Pair(const Ranks& ranks) {
        ucp_config_t* config = nullptr;
        check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
        if (std::getenv("UCX_TLS") == nullptr)
            check(ucp_config_modify(config, "TLS", "^sm"), "TLS");
        ucp_params_t params{};
        params.field_mask = UCP_PARAM_FIELD_FEATURES;
        params.features = UCP_FEATURE_TAG;
        const ucs_status_t status = ucp_init(&params, config, &context_);
        ucp_config_release(config);
        check(status, "ucp_init");

        ucp_worker_params_t mode{};
        mode.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        mode.thread_mode = UCS_THREAD_MODE_SINGLE;
        check(ucp_worker_create(context_, &mode, &worker_), "ucp_worker_create");
        ucp_address_t* address = nullptr;
        std::size_t length = 0;
        check(ucp_worker_get_address(worker_, &address, &length), "ucp_worker_get_address");
        tell(ranks, "ucx", std::string(reinterpret_cast<const char*>(address), length));
        ucp_worker_release_address(worker_, address);

        const std::string peer = ask(ranks, "ucx", 1 - ranks.rank);
        ucp_ep_params_t ep{};
        ep.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        ep.address = reinterpret_cast<const ucp_address_t*>(peer.data());
        check(ucp_ep_create(worker_, &ep, &endpoint_), "ucp_ep_create");
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;
    // The worker closes the connection: closing it before, both sides at times wait for each other.
    ~Pair() {
        ucp_worker_destroy(worker_);
        ucp_cleanup(context_);
    }

    void send() {
        const ucp_request_param_t none{};
        wait(ucp_tag_send_nbx(endpoint_, out_.data(), out_.size(), 1, &none));
    }
    void receive() {
        const ucp_request_param_t none{};
        wait(ucp_tag_recv_nbx(worker_, in_.data(), in_.size(), 1, ~std::uint64_t{0}, &none));
    }

  private:
    void wait(ucs_status_ptr_t request) {
        if (request == nullptr) return;
        if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "a message");
        ucs_status_t status = UCS_INPROGRESS;
        while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
            ucp_worker_progress(worker_);
        ucp_request_free(request);
        check(status, "a message");
    }

    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    ucp_ep_h endpoint_ = nullptr;
    std::array<char, 8> out_{};
    std::array<char, 8> in_{};
};

}  // namespace

void measure_ucx(const Ranks& ranks) {
    using Clock = std::chrono::steady_clock;
    if (ranks.rank > 1) return;
    constexpr int kBatches = 50;
    constexpr int kTurns = 200;
    Pair pair(ranks);
    std::vector<double> times;
    for (int batch = -1; batch < kBatches; ++batch) {
        const auto begin = Clock::now();
        for (int turn = 0; turn < kTurns; ++turn) {
            if (ranks.rank == 0) pair.send();
            pair.receive();
            if (ranks.rank == 1) pair.send();
        }
        const double took = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
        if (batch >= 0) times.push_back(took / (2.0 * kTurns));  // the first one connects
    }
    if (ranks.rank != 0) return;
    std::sort(times.begin(), times.end());
    std::printf("ucx %.4f\nucx_median %.4f\n", times.front(), times[times.size() / 2]);
}

}  // namespace batchai::bench
