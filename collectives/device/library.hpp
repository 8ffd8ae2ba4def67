// SPDX-License-Identifier: Apache-2.0
//
// Library: a shared library, and its functions by name. It is loaded on first use, so that the
// process also runs without it. It is never unloaded, because it may have threads of its own.
#pragma once

#include <dlfcn.h>

#include <string>

#include "sys/result.hpp"

namespace batchai::coll {

class Library {
  public:
    static sys::Result<Library> open(const char* name) {
        void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) return sys::Error{::dlerror()};
        return Library(name, handle);
    }

    template <class Function>
    sys::Result<void> find(const char* name, Function*& function) const {
        function = reinterpret_cast<Function*>(::dlsym(handle_, name));
        if (function == nullptr) return sys::Error{std::string(name_) + " has no function " + name};
        return {};
    }

  private:
    Library(const char* name, void* handle) : name_(name), handle_(handle) {}

    const char* name_;
    void* handle_;
};

}  // namespace batchai::coll
