// SPDX-License-Identifier: Apache-2.0
#include "job/document.hpp"

#include <algorithm>
#include <charconv>

namespace batchai::job {

namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxKeys = 1024;    // of one object: Json searches them one by one
constexpr std::size_t kMaxMessage = 200;  // nlohmann quotes the whole token at which it stopped

// Scans a text that is valid JSON, and records where each value begins.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    // False at the first repeated key, at a number that is too large, and if the nesting is too
    // deep or an object has too many keys: see complaint.
    bool value(Place& place, int depth) {
        const char first = text_[begin_of_next()];
        place.offset = at_;
        if (depth > kMaxDepth)
            return complain("more than " + std::to_string(kMaxDepth) + " levels of nesting");
        if (first == '{') return object(place, depth);
        if (first == '[') return array(place, depth);
        if (first == '"') {
            skip_string();
            return true;
        }
        const std::size_t end = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
        // nlohmann gives neither place nor text of a number that no type can hold.
        if (!Json::accept(text_.substr(at_, end - at_)))
            return complain("a number that is too large");
        at_ = end;
        return true;
    }

    std::string complaint;
    std::string complaint_path;
    std::size_t complaint_offset = 0;

  private:
    bool complain(const std::string& message) {
        complaint = message;
        complaint_offset = at_;
        return false;
    }
    bool complain_inside(const std::string& part) {
        const bool dot = !complaint_path.empty() && complaint_path[0] != '[';
        complaint_path = part + (dot ? "." : "") + complaint_path;
        return false;
    }

    // Skips the text between tokens, also commas and colons, which are known to be right.
    std::size_t begin_of_next() {
        at_ = std::min(text_.find_first_not_of(" \t\r\n,:", at_), text_.size() - 1);
        return at_;
    }

    std::string_view skip_string() {
        const std::size_t begin = at_++;
        while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
        return text_.substr(begin, ++at_ - begin);
    }

    bool object(Place& place, int depth) {
        ++at_;
        while (text_[begin_of_next()] != '}') {
            const std::size_t key_at = at_;
            const std::string key = Json::parse(skip_string()).get<std::string>();
            const auto [member, is_new] = place.members.try_emplace(key);
            if (!is_new) {
                at_ = key_at;
                complain("duplicate key");
                return complain_inside(key);
            }
            if (place.members.size() > kMaxKeys) {
                at_ = key_at;
                return complain("more than " + std::to_string(kMaxKeys) + " keys in one object");
            }
            if (!value(member->second, depth + 1)) return complain_inside(key);
        }
        ++at_;
        return true;
    }

    bool array(Place& place, int depth) {
        ++at_;
        while (text_[begin_of_next()] != ']')
            if (!value(place.elements.emplace_back(), depth + 1))
                return complain_inside("[" + std::to_string(place.elements.size() - 1) + "]");
        ++at_;
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

// A mistake in the text, and its place.
struct Mistake {
    std::size_t offset = 0;
    std::string message;
};

bool is_utf16(std::string_view text) {
    return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
           (text.size() >= 2 && (text[0] == '\0') != (text[1] == '\0'));
}

// The last character before a place that is not a space; npos: none.
std::size_t before(std::string_view text, std::size_t offset) {
    return offset == 0 ? text.npos : text.find_last_not_of(" \t\r\n", offset - 1);
}

// Recognises common mistakes by the place at which nlohmann stopped.
std::optional<Mistake> known_mistake(std::string_view text, std::size_t offset) {
    const std::string_view rest = text.substr(std::min(offset, text.size()));
    if (rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#'))
        return Mistake{offset,
                       "a comment: JSON has no comments; a key named \"comment\" is ignored here"};
    // For a character of several bytes, nlohmann names the first or a later byte.
    for (std::size_t back = 0; back <= 2 && back <= offset; ++back)
        for (const char* quote : {"\u201c", "\u201d", "\u201e", "\u2018", "\u2019"})
            if (text.substr(offset - back).starts_with(quote))
                return Mistake{offset - back,
                               std::string(quote) + " is not a quotation mark of JSON: write \""};
    if (rest.starts_with('\''))
        return Mistake{offset, "' is not a quotation mark of JSON: write \""};
    const std::size_t comma = before(text, offset);
    if (comma != text.npos && text[comma] == ',' &&
        (rest.empty() || rest[0] == '}' || rest[0] == ']'))
        return Mistake{comma, "a comma with nothing after it: remove it"};
    return std::nullopt;
}

// nlohmann's message is "[json.exception.parse_error.101] parse error at line 4, column 3: syntax
// error while parsing object - unexpected ...". The text after the place is useful, except the
// bytes that were read last: the place already identifies them.
std::string syntax_message(const std::string& what) {
    const std::size_t place = what.find("column ");
    const std::size_t colon = place == what.npos ? what.npos : what.find(": ", place);
    std::string message = colon == what.npos ? what : what.substr(colon + 2);
    if (const std::size_t read = message.find("; last read: '"); read != message.npos) {
        const std::size_t end = message.find("'; expected", read);
        message.erase(read, end == message.npos ? end : end + 1 - read);
    }
    return message.size() <= kMaxMessage ? message : message.substr(0, kMaxMessage) + " ...";
}

}  // namespace

std::optional<Document> Document::parse(std::string_view text, const std::string& file_name,
                                        std::vector<Finding>& findings) {
    Document document(text, file_name);
    const auto refuse = [&](std::size_t offset, const std::string& path,
                            const std::string& message) {
        findings.push_back(document.at(offset));
        findings.back().path = path;
        findings.back().message = message;
        return std::nullopt;
    };
    if (text.size() > kMaxJobBytes) return refuse(0, "", "larger than 1 MiB");
    if (text.substr(0, 3) == "\xEF\xBB\xBF")
        return refuse(0, "", "starts with a byte order mark: save it without one");
    if (is_utf16(text)) return refuse(0, "", "is UTF-16: save it as UTF-8");
    try {
        const auto checked = nlohmann::json::parse(text);  // fast with any number of keys
    } catch (const nlohmann::json::parse_error& error) {
        const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
        const auto mistake =
            known_mistake(text, offset).value_or(Mistake{offset, syntax_message(error.what())});
        return refuse(mistake.offset, "", mistake.message);
    } catch (const nlohmann::json::out_of_range&) {
        // A number that no type can hold. The scanner finds its place.
    }
    Scanner scanner(text);
    if (!scanner.value(document.place_, 0))
        return refuse(scanner.complaint_offset, scanner.complaint_path, scanner.complaint);
    document.root_ = Json::parse(text);
    return document;
}

Document::Document(std::string_view text, std::string file_name)
    : file_name_(std::move(file_name)) {
    line_starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n') line_starts_.push_back(i + 1);
}

Document::Document(Json root) : root_(std::move(root)) {}

Finding Document::at(std::optional<std::size_t> offset) const {
    Finding finding;
    finding.file = file_name_;
    if (!offset || line_starts_.empty()) return finding;
    const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), *offset);
    finding.line = static_cast<int>(next - line_starts_.begin());
    finding.column = static_cast<int>(*offset - *std::prev(next)) + 1;
    return finding;
}

std::optional<std::size_t> Document::offset_of(std::string_view path) const {
    const Place* place = &place_;
    const Json* json = &root_;
    while (!path.empty()) {
        const Place* inner_place = nullptr;
        const Json* inner = nullptr;
        if (path[0] == '[') {
            std::size_t index = 0;
            std::from_chars(path.data() + 1, path.data() + path.size(), index);
            if (index < place->elements.size()) inner_place = &place->elements[index];
            if (json->is_array() && index < json->size()) inner = &json->at(index);
            path.remove_prefix(std::min(path.find(']'), path.size() - 1) + 1);
        } else {
            if (path[0] == '.') path.remove_prefix(1);
            const std::string key(path.substr(0, path.find_first_of(".[")));
            const auto member = place->members.find(key);
            if (member != place->members.end()) inner_place = &member->second;
            if (json->is_object() && json->contains(key)) inner = &json->at(key);
            path.remove_prefix(key.size());
        }
        if (inner != nullptr && inner_place == nullptr) return std::nullopt;  // it was added
        if (inner == nullptr) break;
        place = inner_place;
        json = inner;
    }
    return place->offset;
}

Finding Document::finding(Finding::Severity severity, const std::string& path,
                          const std::string& message) const {
    Finding finding = at(offset_of(path));
    finding.severity = severity;
    finding.path = path;
    finding.message = message;
    return finding;
}

}  // namespace batchai::job
