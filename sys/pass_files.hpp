// SPDX-License-Identifier: Apache-2.0
//
// Passes open files to another process, over a Unix socket (SCM_RIGHTS in unix(7)).
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "sys/unique_fd.hpp"

namespace batchai::sys {

// The most files of one message.
inline constexpr std::size_t kMostPassed = 64;

// Sends a byte, and at most kMostPassed files with it. False, with errno: it is not sent.
inline bool send_files(int socket, char byte, const std::vector<int>& files) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostPassed)] = {};
    iovec part = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!files.empty()) {
        const std::size_t size = sizeof(int) * files.size();
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(size);
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        std::memcpy(CMSG_DATA(header), files.data(), size);
    }
    return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

// recvmsg(2): reads bytes, and adds the files that come with them.
inline ssize_t receive_files(int socket, char* buffer, std::size_t size,
                             std::vector<UniqueFd>& files) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostPassed)];
    iovec part = {buffer, size};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    for (cmsghdr* header = n > 0 ? CMSG_FIRSTHDR(&message) : nullptr; header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
            files.emplace_back(fd);
        }
    }
    return n;
}

}  // namespace batchai::sys
