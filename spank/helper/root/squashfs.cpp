// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "spank/helper/files.hpp"
#include "spank/helper/root/child.hpp"
#include "spank/helper/root/kernel_mount.hpp"

namespace batchai::spank {
namespace {

struct LoopDevice {
    std::string path;  // "/dev/loop7"
    // The device is free again when this is closed and nothing is mounted from it.
    sys::UniqueFd fd;
};

// A read-only loop device of an open image.
sys::Result<LoopDevice> attach_loop(int image) {
    const sys::UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    if (!control) return sys::errno_error("/dev/loop-control");
    for (int attempt = 0; attempt < 100; ++attempt) {
        const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
        if (number < 0) return sys::errno_error("/dev/loop-control");
        LoopDevice device;
        device.path = "/dev/loop" + std::to_string(number);
        device.fd.reset(open(device.path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!device.fd) return sys::errno_error(device.path);
        loop_config config = {};
        config.fd = static_cast<__u32>(image);
        config.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
        if (ioctl(device.fd.get(), LOOP_CONFIGURE, &config) == 0) return device;
        if (errno != EBUSY) return sys::errno_error(device.path);  // another process took it
    }
    return sys::Error{"no loop device is free"};
}

// Opens the image again to read it, with the user's rights. The descriptor leads to the file whose
// mount was checked, whatever its path leads to now.
sys::Result<sys::UniqueFd> open_image(int file, const Credentials& user, int seconds) {
    auto opened =
        as_user(user, seconds,
                [&]() -> sys::Result<Answer> {
                    Answer answer;
                    answer.files.emplace_back(
                        open(fd_path(file).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
                    if (!answer.files.front())
                        return sys::errno_error("the user cannot read the image");
                    return answer;
                },
                "", {file});
    if (!opened) return opened.error();
    return std::move(opened->files.at(0));
}

}  // namespace

sys::Result<sys::UniqueFd> make_squashfs(const job::Mount& mount, int file, const Credentials& user,
                                         int seconds) {
    const auto image = open_image(file, user, seconds);
    if (!image) return image.error();
    struct stat info = {};
    if (fstat(image->get(), &info) != 0) return sys::errno_error("squashfs");
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) != 0)
        return sys::Error{
            "the image must be a file of root that only root can write to: copy it with install -o "
            "root -m 644"};
    // A process that has opened the file before it became root's can still write to it. The kernel
    // gives no lease then. It does not know of writers on other machines.
    if (fcntl(image->get(), F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN)
        return sys::Error{
            "a process has the image open for writing: copy it with install -o root -m 644"};
    fcntl(image->get(), F_SETLEASE, F_UNLCK);
    const auto device = attach_loop(image->get());
    if (!device) return device.error();
    return make_file_system("squashfs", {{"source", device->path}, {"ro", "", true}}, mount);
}

}  // namespace batchai::spank
