// SPDX-License-Identifier: Apache-2.0
//
// --query: JMESPath, evaluated by jp (github.com/jmespath/jp, Debian's package jp) or jp.py (of
// PyPI's package jmespath), whichever is on the PATH.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sys/result.hpp"

namespace batchai::cli {

// One of them is there.
bool query_available();

// Called where query_available(). null where the expression finds nothing.
sys::Result<nlohmann::json> run_query(const std::string& expression,
                                      const nlohmann::json& document);

}  // namespace batchai::cli
