// SPDX-License-Identifier: Apache-2.0
#include "job/reader.hpp"

#include <cmath>

#include "job/names.hpp"
#include "sys/text.hpp"

namespace batchai::job {

namespace {

std::string found_a(const Json& value) {
    if (value.is_number_float()) return "found a fraction";
    return std::string("found ") + (value.is_object() || value.is_array() ? "an " : "a ") +
           value.type_name();
}

// The service's variables were named AZ_LEARNING_* before September 2017.
std::string with_todays_variables(std::string text) {
    constexpr std::string_view kOld = "AZ_LEARNING_";
    for (std::size_t at = 0; (at = text.find(kOld, at)) != text.npos; ++at) {
        const std::string_view before = std::string_view(text).substr(0, at);
        if (before.ends_with("$") || before.ends_with("${"))
            text.replace(at, kOld.size(), "AZ_BATCHAI_");
    }
    return text;
}

}  // namespace

bool is_comment(const std::string& key) {
    return key.rfind("comment", 0) == 0 || key.rfind("$comment", 0) == 0;
}

const Json* Reader::find(const std::string& key) {
    known_.insert(key);
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
}

bool Reader::has(const std::string& key) const {
    const auto it = object_.find(key);
    return it != object_.end() && !it->is_null();
}

void Reader::error(const std::string& key, const std::string& message) {
    findings_.push_back(document_.finding(Finding::Severity::error, path(key), message));
}

void Reader::warning(const std::string& key, const std::string& message) {
    findings_.push_back(document_.finding(Finding::Severity::warning, path(key), message));
}

void Reader::missing(const std::string& key) {
    error(key, "required, but missing");
}

std::string Reader::string(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) {
        error(key, "expected a string, " + found_a(*value));
        return {};
    }
    const auto text = value->get<std::string>();
    if (text.find('\0') != text.npos) {
        error(key, "holds a null character");
        return {};
    }
    return with_todays_variables(text);
}

std::string Reader::required_string(const std::string& key) {
    if (find(key) == nullptr) {
        missing(key);
        return {};
    }
    std::string text = string(key);
    if (text.empty() && object_.at(key).is_string()) error(key, "is empty");
    return text;
}

std::optional<bool> Reader::boolean(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    error(key, "expected true or false, " + found_a(*value));
    return std::nullopt;
}

std::optional<int> Reader::integer(const std::string& key, int least, int most) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    const double number = value->is_number() ? value->get<double>() : 0.5;
    const bool in_range = number >= least && number <= most;
    if (!value->is_number_integer() && (in_range || std::trunc(number) != number)) {
        error(key, "expected an integer, " + found_a(*value));
        return std::nullopt;
    }
    if (!in_range) {
        error(key, "must be from " + std::to_string(least) + " to " + std::to_string(most) +
                       ", is " + value->dump());
        return std::nullopt;
    }
    return value->get<int>();
}

std::optional<Reader> Reader::object(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_object()) {
        error(key, "expected an object, " + found_a(*value));
        return std::nullopt;
    }
    return Reader(document_, *value, path(key), findings_);
}

std::optional<Reader> Reader::required_object(const std::string& key) {
    if (find(key) == nullptr) missing(key);
    return object(key);
}

std::vector<Reader> Reader::objects(const std::string& key) {
    std::vector<Reader> readers;
    const Json* value = find(key);
    if (value == nullptr) return readers;
    if (!value->is_array()) {
        error(key, "expected an array, " + found_a(*value));
        return readers;
    }
    for (std::size_t i = 0; i < value->size(); ++i) {
        const std::string element = key + "[" + std::to_string(i) + "]";
        if (!(*value)[i].is_object())
            error(element, "expected an object, " + found_a((*value)[i]));
        else
            readers.emplace_back(document_, (*value)[i], path(element), findings_);
    }
    return readers;
}

void Reader::ignore(std::initializer_list<const char*> keys) {
    known_.insert(keys.begin(), keys.end());
}

void Reader::note_ignored(const std::string& key, const std::string& why) {
    known_.insert(key);
    if (has(key))
        findings_.push_back(
            document_.finding(Finding::Severity::note, path(key), "ignored: " + why));
}

void Reader::finish() {
    for (const auto& [key, value] : object_.items()) {
        if (known_.count(key) != 0 || is_comment(key)) continue;
        const std::string near = sys::closest(key, known_);
        warning(key, near.empty() ? "unknown key, ignored"
                                  : "unknown key, ignored; did you mean '" + near + "'?");
    }
}

std::optional<SecretReference> read_secret_reference(Reader& reader, const std::string& key) {
    auto object = reader.object(key);
    if (!object) return std::nullopt;
    SecretReference reference;
    if (auto vault = object->required_object("sourceVault")) {
        const std::string id = vault->required_string("id");
        reference.vault = id.substr(id.rfind('/') + 1);
        if (!id.empty() && !is_object_name(reference.vault))
            vault->error("id", "'" + id + "' does not end in the name of a key vault");
        vault->finish();
    }
    reference.url = object->required_string("secretUrl");
    if (has_control(reference.url))
        object->error("secretUrl", "has a control character in it, such as the end of a line");
    object->finish();
    return reference;
}

std::string describe(const SecretReference& reference) {
    return "secret '" + reference.url + "' of key vault '" + reference.vault + "'";
}

}  // namespace batchai::job
