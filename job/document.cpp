// SPDX-License-Identifier: Apache-2.0
#include "job/document.hpp"

#include <algorithm>

namespace batchai::job {

namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr int kMaxDepth = 64;

// Walks over text that is known to be JSON and notes where each value begins.
class Scanner {
  public:
    Scanner(std::string_view text, std::map<std::string, std::size_t>& offsets)
        : text_(text), offsets_(offsets) {}

    // Returns false at the first duplicate key or when the nesting is too deep; see complaint.
    bool scan() { return value("", 0); }

    std::string complaint;
    std::string complaint_path;
    std::size_t complaint_offset = 0;

  private:
    char peek() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos)
            ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    bool complain(const std::string& message, const std::string& path, std::size_t offset) {
        complaint = message;
        complaint_path = path;
        complaint_offset = offset;
        return false;
    }

    // The raw text of a string; at_ is behind its closing quote afterwards.
    std::string string() {
        const std::size_t begin = ++at_;
        while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
        return std::string(text_.substr(begin, at_++ - begin));
    }

    bool value(const std::string& path, int depth) {
        const char c = peek();
        offsets_.emplace(path, at_);
        if (depth > kMaxDepth) return complain("more than 64 levels", path, at_);
        if (c == '{') return object(path, depth);
        if (c == '[') return array(path, depth);
        if (c == '"')
            string();
        else
            at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
        return true;
    }

    bool object(const std::string& path, int depth) {
        ++at_;
        while (peek() != '}') {
            if (peek() == ',') ++at_;
            peek();
            const std::size_t key_at = at_;
            const std::string key = string();
            const std::string inner = path.empty() ? key : path + "." + key;
            peek();
            ++at_;  // ':'
            if (offsets_.count(inner) != 0)
                return complain("the key stands here a second time", inner, key_at);
            if (!value(inner, depth + 1)) return false;
        }
        ++at_;
        return true;
    }

    bool array(const std::string& path, int depth) {
        ++at_;
        for (std::size_t i = 0; peek() != ']'; ++i) {
            if (peek() == ',') ++at_;
            if (!value(path + "[" + std::to_string(i) + "]", depth + 1)) return false;
        }
        ++at_;
        return true;
    }

    std::string_view text_;
    std::map<std::string, std::size_t>& offsets_;
    std::size_t at_ = 0;
};

// nlohmann: "[json.exception.parse_error.101] parse error at line 4, column 3: syntax error while
// parsing object - unexpected ..."; what follows the place is worth showing.
std::string syntax_message(const std::string& what) {
    const std::size_t place = what.find("column ");
    const std::size_t colon = place == what.npos ? what.npos : what.find(": ", place);
    return colon == what.npos ? what : what.substr(colon + 2);
}

}  // namespace

std::optional<Document> Document::parse(std::string_view text, const std::string& file_name,
                                        std::vector<Finding>& findings) {
    Document document;
    document.file_name_ = file_name;
    document.line_starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n') document.line_starts_.push_back(i + 1);
    if (text.size() > kMaxBytes) {
        findings.push_back({Finding::Severity::error, file_name, 0, 0, "", "larger than 1 MiB"});
        return std::nullopt;
    }
    if (text.substr(0, 3) == "\xEF\xBB\xBF") {
        findings.push_back(document.at(0));
        findings.back().message = "starts with a byte order mark: save it without one";
        return std::nullopt;
    }
    try {
        document.root_ = Json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        Finding finding = document.at(error.byte == 0 ? 0 : error.byte - 1);
        finding.message = syntax_message(error.what());
        findings.push_back(finding);
        return std::nullopt;
    } catch (const nlohmann::json::exception& error) {  // a number that no type can hold
        findings.push_back(document.at(0));
        findings.back().message = syntax_message(error.what());
        return std::nullopt;
    }
    Scanner scanner(text, document.offsets_);
    if (scanner.scan()) return document;
    Finding finding = document.at(scanner.complaint_offset);
    finding.path = scanner.complaint_path;
    finding.message = scanner.complaint;
    findings.push_back(finding);
    return std::nullopt;
}

Finding Document::at(std::size_t offset) const {
    const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
    Finding finding;
    finding.file = file_name_;
    finding.line = static_cast<int>(next - line_starts_.begin());
    finding.column = static_cast<int>(offset - *std::prev(next)) + 1;
    return finding;
}

Finding Document::finding(Finding::Severity severity, const std::string& path,
                          const std::string& message) const {
    std::string around = path;
    while (!around.empty() && offsets_.count(around) == 0) {
        const std::size_t end = around.find_last_of(".[");
        around.resize(end == around.npos ? 0 : end);
    }
    const auto found = offsets_.find(around);
    Finding finding = at(found == offsets_.end() ? 0 : found->second);
    finding.severity = severity;
    finding.path = path;
    finding.message = message;
    return finding;
}

}  // namespace batchai::job
