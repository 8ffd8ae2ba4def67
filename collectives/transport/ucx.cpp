// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/ucx.hpp"

#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "collectives/common/chunking.hpp"
#include "collectives/common/sockets.hpp"
#include "collectives/transport/devices.hpp"

namespace batchai::coll {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long to retry a host that the kernel reports as unreachable. A host whose cable was just
// plugged in again stays so until the kernel's last neighbour query, of three in three seconds, has
// expired.
constexpr milliseconds kComesBack{4000};
constexpr milliseconds kBetweenTries{1000};  // UCX prints a line for each try

constexpr std::size_t kHeaders = 8u << 10;  // the most bytes of UCX's headers

sys::Error ucx_error(const std::string& what, ucs_status_t status) {
    return sys::Error{what + ": " + ucs_status_string(status)};
}

// The name for ucp_config_modify of a setting of the TCP transport. It includes the transport's
// name from UCX 1.17 on.
std::string tcp_setting(const std::string& name) {
    unsigned major = 0, minor = 0, release = 0;
    ucp_get_version(&major, &minor, &release);
    return major > 1 || minor >= 17 ? "TCP_" + name : name;
}

sys::Result<ucp_context_h> open_context(bool one_host) {
    ucp_config_t* config = nullptr;
    ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
    if (status != UCS_OK) return ucx_error("reading UCX's configuration", status);
    const auto set = [&](const char* name, const std::string& value) {
        if (std::getenv((std::string("UCX_") + name).c_str()) == nullptr) {
            ucp_config_modify(config, name, value.c_str());
        }
    };
    // A chunk of fast links goes through a socket as one message, with UCX's headers. A host that
    // gets longer messages than its buffer ends there. So the size depends only on the variable,
    // and on nothing else that may differ between hosts.
    if (std::getenv("UCX_TCP_RX_SEG_SIZE") == nullptr) {
        const std::string size = std::to_string(kMostBetweenNodes + kHeaders);
        ucp_config_modify(config, tcp_setting("RX_SEG_SIZE").c_str(), size.c_str());
    }
    set("TLS", "^sm");
    set("NET_DEVICES", network_devices(one_host));
    set("KEEPALIVE_INTERVAL", "3s");  // detects a host that disappears silently
    // A rendezvous waits for a round trip behind pending data. It helps only with hardware that
    // saves a copy: messages are no longer than a chunk, and a rank waits for them.
    if (one_host || only_tcp()) set("RNDV_THRESH", "inf");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_TAG;
    params.name = "batchai-collectives";
    ucp_context_h context = nullptr;
    status = ucp_init(&params, config, &context);
    ucp_config_release(config);
    if (status != UCS_OK) return ucx_error("starting UCX", status);
    return context;
}

ucs_log_func_rc_t no_warnings(const char*, unsigned, const char*, ucs_log_level_t level,
                              const ucs_log_component_config_t*, const char*, va_list) {
    return level >= UCS_LOG_LEVEL_WARN ? UCS_LOG_FUNC_RC_STOP : UCS_LOG_FUNC_RC_CONTINUE;
}

// UCX warns of settings of an unused transport, such as our settings of TCP.
ucs_log_func_rc_t no_unused_settings(const char*, unsigned, const char*, ucs_log_level_t,
                                     const ucs_log_component_config_t*, const char* message,
                                     va_list) {
    return std::strstr(message, "invalid configuration") != nullptr ? UCS_LOG_FUNC_RC_STOP
                                                                    : UCS_LOG_FUNC_RC_CONTINUE;
}

}  // namespace

void remove_signal_handlers() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (std::getenv("UCX_HANDLE_ERRORS") != nullptr) return;  // the user has decided
        // UCX stays loaded if this library is closed and opened again, or if another one has
        // removed the handlers. It warns then that there are none.
        ucs_log_push_handler(no_warnings);
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ucs_debug_disable_signal(signal);
        ucs_log_pop_handler();
    });
}

sys::Result<std::unique_ptr<UcxWire>> UcxWire::create(int node, int node_count, bool one_host) {
    std::unique_ptr<UcxWire> wire(new UcxWire(node));
    auto context = open_context(one_host);
    if (!context) return context.error();
    wire->context_ = *context;

    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    const std::vector<std::uint16_t> before = listening_ports();
    ucs_log_push_handler(no_unused_settings);
    ucs_status_t status = ucp_worker_create(wire->context_, &params, &wire->worker_);
    ucs_log_pop_handler();
    if (status != UCS_OK) return ucx_error("starting a UCX worker", status);
    wire->ports_ = listening_ports();
    std::erase_if(wire->ports_, [&](std::uint16_t port) {
        return std::find(before.begin(), before.end(), port) != before.end();
    });

    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    status = ucp_worker_get_address(wire->worker_, &address, &length);
    if (status != UCS_OK) return ucx_error("asking UCX for its address", status);
    wire->address_.assign(reinterpret_cast<const char*>(address), length);
    ucp_worker_release_address(wire->worker_, address);

    for (int n = 0; n < node_count; ++n) wire->peers_.push_back({wire.get(), n});
    return wire;
}

sys::Result<void> UcxWire::connect(int node, const std::string& address) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler = {on_endpoint_error, &peers_[node]};
    const auto deadline = Clock::now() + kComesBack;
    ucs_status_t status = UCS_OK;
    while (true) {
        status = ucp_ep_create(worker_, &params, &peers_[node].endpoint);
        if (status != UCS_ERR_UNREACHABLE || Clock::now() > deadline) break;
        std::this_thread::sleep_for(kBetweenTries);
    }
    if (status != UCS_OK) return ucx_error("UCX", status);
    return {};
}

bool UcxWire::is_connected() const {
    return std::all_of(peers_.begin(), peers_.end(), [this](const Peer& peer) {
        return peer.node == node_ || peer.endpoint != nullptr;
    });
}

void UcxWire::on_endpoint_error(void* peer, ucp_ep_h, ucs_status_t status) {
    auto* self = static_cast<Peer*>(peer);
    self->broken = true;
    self->wire->lose(self->node, ucs_status_string(status));
}

// Names the kind of the memory: otherwise UCX that was built for CUDA asks CUDA for it.
ucp_request_param_t UcxWire::host_memory() {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    return param;
}

void UcxWire::send(int node, Tag tag, const void* data, std::size_t bytes, Ticket& ticket) {
    ucp_request_param_t param = host_memory();
    ticket.receives = false;
    ticket.node = node;
    ticket.request =
        ucp_tag_send_nbx(peers_[node].endpoint, data, bytes, tag.from(node_).bits, &param);
}

void UcxWire::receive(int node, Tag tag, void* data, std::size_t bytes, Ticket& ticket) {
    ucp_request_param_t param = host_memory();
    param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;  // the request reports the length
    ticket.receives = true;
    ticket.node = node;
    ticket.expected = bytes;
    ticket.request =
        ucp_tag_recv_nbx(worker_, data, bytes, tag.from(node).bits, ~std::uint64_t{0}, &param);
}

bool UcxWire::done(Ticket& ticket) {
    if (ticket.request == nullptr) return true;
    if (UCS_PTR_IS_ERR(ticket.request)) {
        lose(ticket.node, ucs_status_string(UCS_PTR_STATUS(ticket.request)));
        return false;
    }
    ucp_tag_recv_info_t info{};
    const ucs_status_t status = ticket.receives ? ucp_tag_recv_request_test(ticket.request, &info)
                                                : ucp_request_check_status(ticket.request);
    if (status == UCS_INPROGRESS) return false;
    if (status != UCS_OK || (ticket.receives && info.length != ticket.expected)) {
        lose(ticket.node,
             status != UCS_OK ? ucs_status_string(status) : "a message of an unexpected length");
        return false;
    }
    ucp_request_free(ticket.request);
    ticket.request = nullptr;
    return true;
}

void UcxWire::cancel(Ticket& ticket) {
    if (ticket.request != nullptr && !UCS_PTR_IS_ERR(ticket.request)) {
        if (ticket.receives) ucp_request_cancel(worker_, ticket.request);
        ucp_request_free(ticket.request);
    }
    ticket.request = nullptr;
}

// Waits for a request, at most two seconds, and frees it. UCX keeps a request that is not done yet.
bool UcxWire::finish(ucs_status_ptr_t request) {
    if (request == nullptr) return true;
    if (UCS_PTR_IS_ERR(request)) return false;
    const auto deadline = Clock::now() + milliseconds(2000);
    ucs_status_t status = ucp_request_check_status(request);
    while (status == UCS_INPROGRESS && Clock::now() < deadline) {
        ucp_worker_progress(worker_);
        status = ucp_request_check_status(request);
    }
    ucp_request_free(request);
    return status == UCS_OK;
}

void UcxWire::flush() {
    const ucp_request_param_t param{};
    finish(ucp_worker_flush_nbx(worker_, &param));
}

void UcxWire::send_note(int node, Note note, std::string_view text) {
    failed_ |= note == Note::failed;
    letters_.remove_if([this](Letter& letter) { return done(letter.ticket); });
    if (peers_[node].broken) return;
    Letter& letter = letters_.emplace_back(Letter{std::string(text), {}});
    send(node, Tag::of(note), letter.text.data(), letter.text.size(), letter.ticket);
}

// A note to a lost peer stays in letters_, because UCX may still read it.
void UcxWire::send_out_notes() {
    const auto under_way = [this](Letter& letter) {
        return !peers_[letter.ticket.node].broken && !done(letter.ticket);
    };
    const auto deadline = Clock::now() + milliseconds(500);
    while (std::any_of(letters_.begin(), letters_.end(), under_way) && Clock::now() < deadline) {
        progress();
    }
}

std::optional<std::string> UcxWire::take_note(Note note) {
    ucp_tag_recv_info_t info;
    const auto found = ucp_tag_probe_nb(worker_, Tag::of(note).bits, Tag::kClass, 1, &info);
    if (found == nullptr) return std::nullopt;
    failed_ |= note == Note::failed;
    std::string& buffer = unread_.emplace_back(info.length, '\0');
    const ucp_request_param_t param{};
    if (!finish(ucp_tag_msg_recv_nbx(worker_, buffer.data(), buffer.size(), found, &param))) {
        return std::nullopt;
    }
    std::string text = std::move(buffer);
    unread_.pop_back();
    return text;
}

// Receives messages that no operation receives: UCX would warn of them when the worker ends.
void UcxWire::discard_unread() {
    ucp_tag_recv_info_t info;
    while (const auto found = ucp_tag_probe_nb(worker_, 0, 0, 1, &info)) {
        std::string& buffer = unread_.emplace_back(info.length, '\0');
        const ucp_request_param_t param{};
        const ucs_status_ptr_t request =
            ucp_tag_msg_recv_nbx(worker_, buffer.data(), buffer.size(), found, &param);
        if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    }
}

void UcxWire::close() {
    // Reads the other ranks' last messages before the sockets close. Unread data would reset the
    // connection, and the other ranks would lose data that they have not read yet.
    if (failed_) {
        for (const auto deadline = Clock::now() + milliseconds(100); Clock::now() < deadline;) {
            progress();
        }
    }
    discard_unread();
    for (Letter& letter : letters_) cancel(letter.ticket);
    ucp_request_param_t force{};
    force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    force.flags = UCP_EP_CLOSE_FLAG_FORCE;
    for (const Peer& peer : peers_) {
        if (peer.endpoint == nullptr) continue;
        const ucs_status_ptr_t request = ucp_ep_close_nbx(peer.endpoint, &force);
        if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    }
    // No progress after this: it may handle an event of a closed connection, which crashes UCX
    // 1.13. Destroying the worker ends pending messages. After a failure, which was reported
    // already, UCX warns of them.
    const bool quiet = failed_ || lost();
    if (quiet) ucs_log_push_handler(no_warnings);
    ucp_worker_destroy(worker_);
    if (quiet) ucs_log_pop_handler();
}

UcxWire::~UcxWire() {
    if (worker_ != nullptr) close();
    if (context_ != nullptr) ucp_cleanup(context_);
}

}  // namespace batchai::coll
