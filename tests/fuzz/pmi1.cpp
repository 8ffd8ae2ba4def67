// SPDX-License-Identifier: Apache-2.0
//
// What a rank may say over PMI-1.
#include "launcher/pmi1/protocol.hpp"

#include <algorithm>

#include "tests/fuzz/fuzz.hpp"

namespace pmi1 = batchai::launcher::pmi1;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    const pmi1::Job job{"space", 4, "(vector,(0,2,2))"};
    pmi1::Store here, there;
    pmi1::Session session(job, here), other(job, there);
    (void)other.on_line("cmd=init pmi_version=1");
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto [event, answer, code, why] = session.on_line(line);
        const std::string_view said = answer;
        const auto lines = std::count(said.begin(), said.end(), '\n');
        fuzz::must(said.empty() ? lines == 0 : said.ends_with('\n'), "an answer ends its line",
                   answer);
        fuzz::must(lines <= (said.starts_with("cmd=initack") ? 4 : 1),
                   "an answer is one line, or the four of the greeting", answer);
        fuzz::must(said.size() <= pmi1::kMaxLine, "an answer is a line that may be said", answer);
        fuzz::must(!session.in_barrier() || answer.empty(), "a barrier is answered at its end",
                   answer);
        if (event == pmi1::Reaction::Event::broken) {
            fuzz::must_be_one_line(why);
            return 0;
        }
        if (event != pmi1::Reaction::Event::barrier) continue;
        there.merge(here.take_new());
        fuzz::must(here.take_new().empty(), "a key is carried once", {});
        (void)session.end_barrier(true);
        for (const std::string key : {"a", "b", "PMI_process_mapping"}) {
            const std::string question = "cmd=get kvsname=space key=" + key;
            const std::string found = other.on_line(question).answer;
            const auto* value = here.get(key);
            fuzz::must(value == nullptr || found.ends_with("value=" + *value + "\n"),
                       "what is put here is got there after a barrier", key);
        }
    }
    return 0;
}
