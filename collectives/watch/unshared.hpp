// SPDX-License-Identifier: Apache-2.0
//
// Unshared: while it exists, children of fork() do not keep a copy of a descriptor. With a copy in
// a child, a connection would outlive its process, and the other side would not see it end.
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
