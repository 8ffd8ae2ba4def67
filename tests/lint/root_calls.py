#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""root_calls.py [--list] - compares the calls on paths of the plugin and of the root helper with two lists.

docs/security.md has a table of these calls, with the reason why each is safe. This check fails if the code makes a call
that no row of the table names, or if a row names a call that the code does not make.

root_calls.txt has the number of calls of each kind in each file. A new call changes it, so its author reads the table:
update docs/security.md first, then run "root_calls.py --list >tests/lint/root_calls.txt".
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).with_suffix(".txt")
DOCUMENT = "docs/security.md"
HEADING = "## The helper's calls on paths"
WITH_ROOTS_RIGHTS = ("spank/*.cpp", "spank/helper/*.cpp", "spank/helper/root/*.cpp")
WITH_USERS_RIGHTS = ("spank/helper/user/*.cpp",)  # the table has rows about them too

CALLS = """access acct chdir chmod chown chroot creat dlopen eaccess execl execle execlp execv execve execvp
    execvpe faccessat fchmodat fchownat fopen freopen fspick fstatat ftw getaddrinfo getgrgid getgrnam getgrouplist
    getpwnam getpwuid getxattr glob initgroups inotify_add_watch lchown lgetxattr link linkat listxattr llistxattr
    lremovexattr lsetxattr lstat mkdir mkdirat mkdtemp mkfifo mknod mknodat mkostemp mkstemp mount
    move_mount name_to_handle_at nftw open open_tree openat openat2 opendir pivot_root popen posix_spawn posix_spawnp
    readlink readlinkat realpath removexattr rename renameat renameat2 rmdir scandir setxattr stat statfs statvfs statx
    swapon symlink symlinkat system truncate umount umount2 unlink unlinkat utimensat utimes""".split()
BY_DESCRIPTOR = "fchmod fchown fsetxattr pwrite write".split()  # the table names them; any number is allowed
# Functions that take a path, and the call that the table names for them.
FUNCTIONS = {
    "std::ifstream": "open", "std::ofstream": "open", "std::fstream": "open",
    "sys::append_file": "open", "sys::is_missing": "stat", "sys::is_regular_file": "stat",
    "sys::make_directories": "mkdir", "sys::make_shared_directories": "mkdir", "sys::names_of": "getpwuid",
    "sys::find_user_path": "openat", "sys::open_own_credentials": "open", "sys::open_regular": "open",
    "sys::open_trusted": "openat", "sys::open_user_directory": "openat", "sys::open_user_file": "openat",
    "sys::read_file": "open", "sys::walk": "openat",
    "sys::read_own_secret": "open", "sys::write_file": "open", "sys::FileLock::take": "open",
    "sys::Subprocess::start": "execve", "job::append_event": "open", "job::append_execution_log": "open",
    "job::check_container": "access", "job::leave_outputs": "open", "job::write_number": "open",
    "read_or_empty": "openat", "read_text": "openat",
}  # fmt: skip

# A call: not of a member, and not the definition of a function of a class.
CALL = re.compile(r"(?<![\w.>])(?<!\w::)(?:::)?(%s)\((\s*AT_FDCWD\b)?" % "|".join(CALLS + ["read_or_empty", "read_text"]))
FUNCTION = re.compile(r"\b(std::filesystem::\w+|%s)\b(?=\s+\w+\(|\()" % "|".join(f for f in FUNCTIONS if "::" in f))
DEFINITION = re.compile(r"^[\w:<>*& ]+\b(%s)\([^;]*\{$" % "|".join(FUNCTIONS), re.M)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])+'", re.S)


def calls_of(text):
    """The calls in a source, and how often it makes each. A call by name from the current directory counts by itself."""
    code = DEFINITION.sub("", NOT_CODE.sub(lambda found: '""' if found[0][0] in "\"'" else "", text))
    found = collections.Counter(name + ("(AT_FDCWD)" if here else "") for name, here in CALL.findall(code))
    found.update(FUNCTION.findall(code))
    return found


def named(call):
    """The name that the table has for a call."""
    name = call.replace("(AT_FDCWD)", "")
    return "stat" if name.startswith("std::filesystem::") else FUNCTIONS.get(name, name)


def sources(patterns):
    return {path.relative_to(ROOT).as_posix(): calls_of(path.read_text()) for pattern in patterns for path in sorted(ROOT.glob(pattern))}


def rows_of(document):
    """The calls of each row of the table."""
    section = document.partition(HEADING)[2].partition("\n## ")[0]
    for line in section.splitlines():
        if line.startswith("| ") and not line.startswith("| calls"):
            first = line.split(" | ")[0]
            yield first[2:], set(re.findall(r"`(\w+)`", first)) & set(CALLS + BY_DESCRIPTOR)


def main():
    code = sources(WITH_ROOTS_RIGHTS)
    lines = ["%s: %s" % (file, ", ".join("%s %d" % call for call in sorted(calls.items()))) for file, calls in code.items() if calls]
    if sys.argv[1:] == ["--list"]:
        print("\n".join(lines))
        return 0
    bad = []
    listed = LIST.read_text().splitlines()
    for line in sorted(set(lines) ^ set(listed)):
        bad.append("%s %s" % ("now:   " if line in lines else "listed:", line))
    if bad:
        bad.append("root's calls on paths have changed: see %s, '%s', then tests/lint/root_calls.py --list" % (DOCUMENT, HEADING[3:]))
    rows = list(rows_of((ROOT / DOCUMENT).read_text()))
    in_table = set().union(*(calls for _, calls in rows)) if rows else set()
    for file, calls in code.items():
        bad += ["%s: %s: no row of %s names it" % (file, call, DOCUMENT) for call in sorted(calls) if named(call) not in in_table]
    made = {named(call) for calls in [*code.values(), *sources(WITH_USERS_RIGHTS).values()] for call in calls}
    for row, calls in rows:
        if not calls:
            bad.append("%s: row '%s': names no call" % (DOCUMENT, row))
        bad += ["%s: row '%s': no code calls %s" % (DOCUMENT, row, call) for call in sorted(calls - made - set(BY_DESCRIPTOR))]
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


sys.exit(main())
