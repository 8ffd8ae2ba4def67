// SPDX-License-Identifier: Apache-2.0
#include "sys/path_walk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <iterator>
#include <sstream>
#include <vector>

namespace batchai::sys {
namespace {

constexpr int kReference = O_PATH | O_NOFOLLOW | O_CLOEXEC;
constexpr int kMostLinks = 40;  // as in the kernel

struct Level {
    UniqueFd fd;
    std::string path;  // "" is the current directory, or the top
};

// Adds a path's names to the names that are still to be entered. The last one of rest is entered
// next.
void put_before(const std::string& path, std::vector<std::string>& rest) {
    std::vector<std::string> names;
    std::istringstream text(path);
    for (std::string name; std::getline(text, name, '/');)
        if (!name.empty()) names.push_back(name);
    rest.insert(rest.end(), std::make_move_iterator(names.rbegin()),
                std::make_move_iterator(names.rend()));
}

std::string joined(const std::string& above, const std::string& name) {
    if (name == ".") return above.empty() ? name : above;
    return above.empty() || above == "/" ? above + name : above + "/" + name;
}

Result<std::string> target_of(const UniqueFd& link) {
    char target[PATH_MAX];
    const ssize_t n = readlinkat(link.get(), "", target, sizeof target);
    if (n <= 0 || n == sizeof target) return errno_error("symbolic link");
    return std::string(target, static_cast<std::size_t>(n));
}

class Walk {
  public:
    explicit Walk(const PathWalk& how) : how_(how) {}

    Result<Place> to(const std::string& path) {
        if (path.empty()) return errno_error("empty path", ENOENT);
        if (auto started = start(path); !started) return started.error();
        put_before(path, rest_);
        if (rest_.empty()) rest_.emplace_back(".");
        while (true) {
            const std::string name = std::move(rest_.back());
            rest_.pop_back();
            if (name == "." && !rest_.empty()) continue;
            if (name == "..") {
                if (auto done = up(); !done) return done.error();
                if (rest_.empty()) rest_.emplace_back(".");
                continue;
            }
            auto entered = enter(name);
            if (!entered) return entered.error();
            if (*entered == Step::end) return std::move(place_);
        }
    }

  private:
    enum class Step { next, end };

    Error error(const std::string& where, int code = errno) const {
        return how_.explain ? how_.explain(where, code) : errno_error(where, code);
    }

    Result<void> start(const std::string& path) {
        levels_.clear();
        const bool absolute = path.starts_with('/') && how_.top < 0;
        const int from = how_.top < 0 ? AT_FDCWD : how_.top;
        UniqueFd fd(openat(from, absolute ? "/" : ".", kReference | O_DIRECTORY));
        if (!fd) return error(path);
        struct stat info = {};
        if (absolute && fstat(fd.get(), &info) == 0)
            if (auto good = how_.check(info, "/"); !good) return good;
        levels_.push_back({std::move(fd), absolute ? "/" : ""});
        return {};
    }

    Result<void> up() {
        if (levels_.size() > 1) {
            levels_.pop_back();
            return {};
        }
        Level& last = levels_.back();
        if (how_.top >= 0) return error(joined(last.path, ".."), EXDEV);
        UniqueFd above(openat(last.fd.get(), "..", kReference | O_DIRECTORY));
        if (!above) return error(joined(last.path, ".."));
        if (last.path != "/") last.path = joined(last.path, "..");
        last.fd = std::move(above);
        return {};
    }

    Result<Step> enter(const std::string& name) {
        const int above = levels_.back().fd.get();
        const std::string where = joined(levels_.back().path, name);
        UniqueFd next =
            how_.open ? how_.open(above, name.c_str()) : open_component(above, name.c_str());
        if (!next && (errno != ENOENT || !rest_.empty())) return error(where);
        struct stat info = {};
        if (next) {
            if (how_.admit)
                if (auto good = how_.admit(next.get(), where); !good) return good.error();
            if (fstat(next.get(), &info) != 0) return error(where);
            if (auto good = how_.check(info, where); !good) return good.error();
            if (S_ISLNK(info.st_mode)) return follow(next, where);
        }
        if (!rest_.empty()) {
            levels_.push_back({std::move(next), where});
            return Step::next;
        }
        place_ = {std::move(levels_.back().fd), name, where, std::move(next), info};
        return Step::end;
    }

    Result<Step> follow(const UniqueFd& link, const std::string& where) {
        if (++links_ > kMostLinks) return error(where, ELOOP);
        const auto target = target_of(link);
        if (!target) return target.error().in(where);
        if (target->starts_with('/')) {
            if (how_.top >= 0) return error(where, EXDEV);
            if (auto started = start(*target); !started) return started.error();
        }
        put_before(*target, rest_);
        if (rest_.empty()) rest_.emplace_back(".");
        return Step::next;
    }

    const PathWalk& how_;
    std::vector<Level> levels_;
    std::vector<std::string> rest_;
    int links_ = 0;
    Place place_;
};

}  // namespace

// Try to open it as a directory first: only that makes automount(8) mount it.
UniqueFd open_component(int above, const char* name) {
    UniqueFd fd(openat(above, name, kReference | O_DIRECTORY));
    if (!fd && errno == ENOTDIR) fd.reset(openat(above, name, kReference));
    return fd;
}

Result<Place> walk(const std::string& path, const PathWalk& how) {
    return Walk(how).to(path);
}

}  // namespace batchai::sys
