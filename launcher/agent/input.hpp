// SPDX-License-Identifier: Apache-2.0
//
// InputPipe: standard input of rank 0. It writes one message at a time and reports when the rank
// has read it. A rank that does not read delays only its own input.
#pragma once

#include <uv.h>

#include <functional>
#include <string>

#include "launcher/common/event_loop.hpp"

namespace batchai::launcher {

class InputPipe {
  public:
    InputPipe(Loop& loop, sys::UniqueFd fd, std::function<void()> on_taken);
    ~InputPipe() { close(); }
    InputPipe(const InputPipe&) = delete;
    InputPipe& operator=(const InputPipe&) = delete;

    // Empty bytes: the end of input.
    void write(std::string bytes);

  private:
    void close();

    uv_pipe_t* pipe_;
    std::function<void()> on_taken_;
};

}  // namespace batchai::launcher
