// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/kernel_mount.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "spank/helper/fields.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

struct Route {
    std::string server;  // numeric addresses
    std::string client;  // our address towards the server
};

sys::Result<std::string> numeric(const sockaddr* address, socklen_t length) {
    char text[NI_MAXHOST];
    const int code = getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    if (code != 0) return sys::Error{gai_strerror(code)};
    return std::string(text);
}

// Finds the addresses without sending data.
sys::Result<Route> route_to(const std::string& host) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = AI_ADDRCONFIG;
    addrinfo* list = nullptr;
    const int code = getaddrinfo(host.c_str(), "2049", &hints, &list);
    if (code != 0) return sys::Error{host + ": " + gai_strerror(code)};
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
    auto server = numeric(list->ai_addr, list->ai_addrlen);
    if (!server) return server.error().in(host);
    const sys::UniqueFd probe(socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own = {};
    socklen_t length = sizeof own;
    if (!probe || connect(probe.get(), list->ai_addr, list->ai_addrlen) != 0 ||
        getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0)
        return sys::errno_error(host);
    auto client = numeric(reinterpret_cast<sockaddr*>(&own), length);
    if (!client) return client.error().in(host);
    return Route{*server, *client};
}

// "HOST:/export", "[fe80::1]:/export"
std::string nfs_host(const std::string& source) {
    std::string host = source.substr(0, source.find(":/"));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return host;
}

std::string cifs_host(const std::string& source) {
    return source.substr(2, source.find('/', 2) - 2);
}

// The site's options, then the options that it permits to the job: the kernel uses the last value.
std::vector<Parameter> options_of(const job::Mount& own, const job::FileSystem& file_system) {
    std::vector<Parameter> parameters;
    for (const auto& option : file_system.options) parameters.push_back(parameter_of(option));
    for (const auto& option : split_nonempty(own.options, ','))
        parameters.push_back(parameter_of(option));
    return parameters;
}

bool has(const std::vector<Parameter>& parameters, std::initializer_list<const char*> keys) {
    return std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
        return std::any_of(keys.begin(), keys.end(),
                           [&](const char* key) { return parameter.key == key; });
    });
}

}  // namespace

sys::Result<Login> parse_login(const std::string& text) {
    Login login;
    for (std::string line : split_nonempty(text, '\n')) {
        if (line.ends_with('\r')) line.pop_back();
        if (line.empty() || line.starts_with('#')) continue;
        const std::size_t equals = line.find('=');
        const std::string key = line.substr(0, equals);
        const std::string value = equals == line.npos ? "" : line.substr(equals + 1);
        if (key == "username" || key == "user")
            login.user = value;
        else if (key == "password" || key == "pass")
            login.password = value;
        else if (key == "domain")
            login.domain = value;
        else  // the line may be a password
            return sys::Error{"expected lines username=, password= and domain="};
    }
    if (login.user.empty()) return sys::Error{"has no line username="};
    return login;
}

sys::Result<std::vector<Parameter>> nfs_parameters(const job::Mount& mount,
                                                   const job::FileSystem& file_system) {
    const auto route = route_to(nfs_host(file_system.source));
    if (!route) return route.error();
    std::vector<Parameter> parameters = {{"source", file_system.source}, {"addr", route->server}};
    const auto options = options_of(mount, file_system);
    if (!has(options, {"vers", "nfsvers"})) parameters.push_back({"vers", "4.2"});
    if (!has(options, {"clientaddr"})) parameters.push_back({"clientaddr", route->client});
    parameters.insert(parameters.end(), options.begin(), options.end());
    return parameters;
}

sys::Result<std::vector<Parameter>> cifs_parameters(const job::Mount& mount,
                                                    const job::FileSystem& file_system,
                                                    const Credentials& user, const Login* login) {
    const auto route = route_to(cifs_host(mount.source));
    if (!route) return route.error();
    std::vector<Parameter> parameters = {{"source", mount.source}, {"ip", route->server}};
    const auto options = options_of(mount, file_system);
    parameters.insert(parameters.end(), options.begin(), options.end());
    // The job's user owns all files: only the job sees its mounts.
    parameters.push_back({"uid", std::to_string(user.uid)});
    parameters.push_back({"gid", std::to_string(user.gid)});
    parameters.push_back({"forceuid", "", true});
    parameters.push_back({"forcegid", "", true});
    parameters.push_back({"file_mode", fmt::format("0{:o}", mount.file_mode)});
    parameters.push_back({"dir_mode", fmt::format("0{:o}", mount.directory_mode)});
    if (login == nullptr) {
        if (!has(options, {"sec"})) parameters.push_back({"sec", "none"});
        return parameters;
    }
    parameters.push_back({"username", login->user});
    parameters.push_back({"password", login->password});
    if (!login->domain.empty()) parameters.push_back({"domain", login->domain});
    return parameters;
}

}  // namespace batchai::spank
