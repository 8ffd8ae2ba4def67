// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/guarded_accept.hpp"

#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "sys/tcp_owner.hpp"

extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* address,
                                                             socklen_t* size) {
    const int socket = ::accept4(listener, address, size, 0);
    if (socket < 0) return socket;
    int family = AF_UNSPEC;
    socklen_t family_size = sizeof family;
    ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &family_size);
    if (family == AF_UNIX || batchai::sys::is_own_peer(socket)) return socket;
    ::close(socket);
    errno = EAGAIN;  // the only error after which libpmix 4.2 and 5.0 both go on listening
    return -1;
}

namespace batchai::launcher::pmix {

bool accept_is_guarded() {
    return ::dlsym(RTLD_DEFAULT, "accept") == reinterpret_cast<void*>(&::accept);
}

}  // namespace batchai::launcher::pmix
