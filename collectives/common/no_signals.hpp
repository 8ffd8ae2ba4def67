// SPDX-License-Identifier: Apache-2.0
//
// NoSignals: while it exists, threads that this thread starts block all signals, because they
// inherit its signal mask. The program's own threads handle signals.
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
