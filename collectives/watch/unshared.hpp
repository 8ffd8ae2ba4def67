// SPDX-License-Identifier: Apache-2.0
//
// Unshared: for as long as it lives, children of fork() do not keep a copy of a descriptor. A
// connection with a copy in a child outlives its process, and the other side would not see it end.
#pragma once

namespace batchai::coll {

class Unshared {
  public:
    explicit Unshared(int fd);
    Unshared(const Unshared&) = delete;
    Unshared& operator=(const Unshared&) = delete;
    ~Unshared();

  private:
    int fd_;
};

}  // namespace batchai::coll
