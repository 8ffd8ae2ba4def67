// SPDX-License-Identifier: Apache-2.0
//
// A SPANK plugin with the options of Pyxis that name an image and its mounts (pyxis.bats). It makes
// no container: at the two moments when Pyxis makes one and enters it, it appends to the file
// $PYXIS_LOG what it was told, and whether it sees the job's mounts.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(pyxis_options, 1)

enum { kImage, kMounts, kWorkdir, kOptions };
static char values[kOptions][1000];

static int remember(int option, const char* value, int remote) {
    (void)remote;
    snprintf(values[option], sizeof values[option], "%s", value);
    return ESPANK_SUCCESS;
}

struct spank_option spank_options[] = {
    {"container-image", "IMAGE", "the image", 1, kImage, remember},
    {"container-mounts", "SRC:DST", "bind mounts", 1, kMounts, remember},
    {"container-workdir", "PATH", "working directory", 1, kWorkdir, remember},
    SPANK_OPTIONS_TABLE_END};

static int note(spank_t spank, const char* moment) {
    char path[1000], line[4000];
    if (values[kImage][0] == '\0' ||
        spank_getenv(spank, "PYXIS_LOG", path, sizeof path) != ESPANK_SUCCESS)
        return ESPANK_SUCCESS;
    const int length =
        snprintf(line, sizeof line, "%s %s %s %s %s\n", moment, values[kImage], values[kMounts],
                 values[kWorkdir],
                 access("/run/batchai/mnt/myshare", F_OK) == 0 ? "mounted" : "not mounted");
    const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    const int written = file >= 0 && write(file, line, (size_t)length) == length;
    if (file >= 0) close(file);
    return written ? ESPANK_SUCCESS : ESPANK_ERROR;
}

int slurm_spank_user_init(spank_t spank, int ac, char** av) {
    (void)ac, (void)av;
    return note(spank, "made");
}

int slurm_spank_task_init(spank_t spank, int ac, char** av) {
    (void)ac, (void)av;
    return note(spank, "entered");
}
