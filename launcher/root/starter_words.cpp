// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/starter_words.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

constexpr std::size_t kMost = 4096;  // bytes of srun's text that are kept

}  // namespace

void StarterWords::listen(Loop& loop, std::vector<Starter>& starters) {
    for (Starter& starter : starters) {
        ::fcntl(starter.errors.get(), F_SETFL, O_NONBLOCK);
        Stream& stream = *streams_.emplace_back(std::make_unique<Stream>());
        stream.poll = std::make_unique<Poll>(loop, std::move(starter.errors),
                                             [this, &stream](int) { read(stream); });
    }
}

void StarterWords::catch_up() {
    for (const auto& stream : streams_) read(*stream);
}

void StarterWords::read(Stream& stream) {
    std::array<char, 4096> bytes{};
    while (stream.poll) {
        const ssize_t size = ::read(stream.poll->fd(), bytes.data(), bytes.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size <= 0) {
            stream.poll.reset();
            if (!stream.line.empty()) take(std::exchange(stream.line, {}));
            return;
        }
        for (const char byte : std::string_view(bytes.data(), static_cast<std::size_t>(size))) {
            if (byte != '\n' && stream.line.size() < kMost) {
                stream.line += byte;
            } else {
                take(std::exchange(stream.line, byte == '\n' ? "" : std::string(1, byte)));
            }
        }
    }
}

void StarterWords::take(const std::string& line) {
    if (const auto notice = DeathNotice::from_line(line)) return on_death_(*notice);
    if (local_) {
        std::fputs((sys::printable(line) + "\n").c_str(), stderr);
    } else if (kept_.size() < kMost) {
        kept_ += line + "\n";
    }
}

// Omits srun's warning about SLURM_CPU_BIND=none on clusters without binding.
void StarterWords::say() {
    std::istringstream lines(std::exchange(kept_, {}));
    for (std::string line; std::getline(lines, line);) {
        if (line.find("lacks support for cpu binding") == std::string::npos) {
            std::fputs((sys::printable(line) + "\n").c_str(), stderr);
        }
    }
}

}  // namespace batchai::launcher
