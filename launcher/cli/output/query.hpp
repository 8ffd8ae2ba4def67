// SPDX-License-Identifier: Apache-2.0
//
// --query: evaluates JMESPath with jp (github.com/jmespath/jp, Debian's package jp) or jp.py (from
// PyPI's package jmespath), the first one on the PATH.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sys/result.hpp"

namespace batchai::cli {

// Whether one of them is on the PATH.
bool query_available();

// Requires query_available(). Null: the expression matches nothing.
sys::Result<nlohmann::json> run_query(const std::string& expression,
                                      const nlohmann::json& document);

}  // namespace batchai::cli
