// SPDX-License-Identifier: Apache-2.0
//
// NoSignals: while it exists, threads that this thread starts take no signals, because they inherit
// its blocked signals. Signals are for the program's own threads.
#pragma once

#include <pthread.h>

#include <csignal>

namespace batchai::coll {

class NoSignals {
  public:
    NoSignals() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    NoSignals(const NoSignals&) = delete;
    NoSignals& operator=(const NoSignals&) = delete;
    ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_{};
};

}  // namespace batchai::coll
