// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz.hpp"

namespace fuzz {

const batchai::job::SitePolicy& site() {
    static const batchai::job::SitePolicy policy = [] {
        std::ifstream in(BATCHAI_SOURCE_DIR "/contrib/examples/tutorial/batchai.toml.in");
        std::string text{std::istreambuf_iterator<char>(in), {}};
        for (std::size_t at; (at = text.find("@SHARE@")) != text.npos;)
            text.replace(at, 7, "/srv/myshare");
        text += "[[allow]]\ntype = \"bind\"\nsource = \"/scratch\"\n";
        text += "[[allow]]\ntype = \"overlay\"\nsource = \"/sw\"\n";
        text += "[[allow]]\ntype = \"tmpfs\"\nmax_size = \"64M\"\n";
        text += "[[allow]]\ntype = \"squashfs\"\nsource = \"/images\"\n";
        text += "[[allow]]\ntype = \"nfs\"\nname = \"archive\"\nsource = \"nfs:/archive\"\n";
        text += "[program.squashfuse]\ncommand = [\"/usr/bin/squashfuse\"]\n";
        text += "[[allow]]\ntype = \"fuse\"\nprogram = \"squashfuse\"\nsource = \"/home\"\n";
        text += "[container.charliecloud]\ncommand = [\"/usr/bin/ch-run\", \"{image}\", \"--\"]\n";
        text += "[[image]]\nname = \"*\"\nrun_on = \"charliecloud\"\nimage = \"/images/any\"\n";
        return batchai::job::parse_policy(text, "batchai.toml").policy.value();
    }();
    return policy;
}

}  // namespace fuzz
