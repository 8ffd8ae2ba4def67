// SPDX-License-Identifier: Apache-2.0
//
// batchai-fusermount: FUSE programs find it in place of fusermount (root/fuse.hpp). They ask it for
// a mount, as libfuse 2 and 3 and the Go libraries do without root. batchai-helper has made the
// mount already, and this program sends its open /dev/fuse, as fusermount does, over the socket
// whose number is in _FUSE_COMMFD or, since libfuse 3.17, an option. It answers a request to
// unmount, now or when the program has ended, with success and does nothing, because the helper
// unmounts. It has no privileges and needs none.
#include <getopt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "spank/helper/exit_code.hpp"
#include "spank/helper/fuse_protocol.hpp"
#include "sys/pass_files.hpp"

namespace {

// fusermount3's options. libfuse 3.17 and later give the long ones.
constexpr option kOptions[] = {{"unmount", no_argument, nullptr, 'u'},
                               {"auto-unmount", no_argument, nullptr, 'U'},
                               {"lazy", no_argument, nullptr, 'z'},
                               {"quiet", no_argument, nullptr, 'q'},
                               {"help", no_argument, nullptr, 'h'},
                               {"version", no_argument, nullptr, 'V'},
                               {"options", required_argument, nullptr, 'o'},
                               {"comm-fd", required_argument, nullptr, 'c'},
                               {}};

}  // namespace

int main(int argc, char** argv) {
    const char* number = std::getenv("_FUSE_COMMFD");
    for (int option; (option = getopt_long(argc, argv, "uUzqhVo:c:", kOptions, nullptr)) != -1;) {
        if (option == 'u' || option == 'U') return 0;
        if (option == 'c') number = optarg;
        if (option == 'h' || option == 'V') {
            std::puts("fusermount version: 3.0 (batchai-fusermount " BATCHAI_VERSION
                      ", for the programs that batchai-helper starts)");
            return 0;
        }
    }
    if (number && batchai::sys::send_files(std::atoi(number), 0, {batchai::spank::kFuseDescriptor}))
        return 0;
    std::perror(
        "batchai-fusermount: only a FUSE program that batchai-helper started can call this");
    return batchai::spank::kFailure;
}
