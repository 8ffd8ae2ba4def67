// SPDX-License-Identifier: Apache-2.0
#include "spank/plugin.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/state.hpp"

namespace batchai::spank {
namespace {

// Only root can write to the directory, so its names are safe to follow.
struct NotePath {
    explicit NotePath(uint32_t job) {
        snprintf(text, sizeof text, "%s/%s", kAskedDirectory, JobName(slurm::cluster(), job).text);
    }
    char text[192];
};

// Slurm shows a prolog the options that salloc and sbatch have set, with SPANK_ before their names.
bool submitted_with_options() {
    for (const OptionRow& option : kOptions) {
        const char* text = find_variable(environ, option.variable + strlen("SLURM_"));
        if (text && *text) return true;
    }
    return false;
}

bool make_directory(const char* path, mode_t mode) {
    return mkdir(path, mode) == 0 || errno == EEXIST;
}

// The note is an empty file, because even a full /run has room for one.
bool make_note(const NotePath& path, uid_t uid) {
    if (!make_directory(kBaseDirectory, 0711) || !make_directory(kAskedDirectory, 0700))
        return false;
    const Descriptor note(open(path.text, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    return note && fchown(note.get(), uid, static_cast<gid_t>(-1)) == 0;
}

}  // namespace

void note_options(slurm::Handle spank) {
    const uint32_t job = slurm::job_number(spank);
    const NotePath path(job);
    unlink(path.text);  // removes the note of an earlier job with this number
    if (job == 0 || !submitted_with_options() || make_note(path, slurm::job_user(spank))) return;
    char line[320];
    snprintf(line, sizeof line,
             "batchai: %s: %s: a step of this job from another shell would run unprepared",
             path.text, strerror(errno));
    slurm::say(line);
}

bool asked(const slurm::Task& task) {
    struct stat note = {};
    return lstat(NotePath(task.job).text, &note) == 0 && note.st_uid == task.uid;
}

void forget_options(uint32_t job) {
    unlink(NotePath(job).text);
}

}  // namespace batchai::spank
