#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# batchai admin check and doctor find what is wrong with a machine: each test breaks one thing of a good set-up, and
# names the lines that must appear. No others may.
# minislurm: none
# needs: root

load lib

# A machine of its own for all tests: an installation that only root can change, and a Slurm that only answers questions.
setup_file() {
    good=$(mktemp -d /run/batchai-doctor.XXXXXX)
    export good
    chmod 755 "$good"
    mkdir -p "$good"/{bin,libexec,lib/batchai/python,etc,slurm,policy}
    cp "$BATCHAI_BUILD"/bin/batchai{,-launch} "$good/bin"
    cp "$BATCHAI_BUILD"/bin/batchai-{helper,prep,check,fusermount} "$good/libexec"
    cp "$BATCHAI_BUILD"/lib/spank_batchai.so "$good/lib"
    strip "$good"/{bin,libexec}/* # copied for each test
    printf '[[allow]]\ntype = "tmpfs"\n[cluster.nc6]\npartition = "gpu"\n' >"$good/policy/batchai.toml"
    cat >"$good/slurm/scontrol" <<'SH'
#!/bin/sh
exec cat "${0%/*}/configuration"
SH
    printf '#!/bin/sh\necho gpu\necho cpu\n' >"$good/slurm/sinfo"
    printf '#!/bin/sh\n' >"$good/slurm/squeue" # no job
    cat >"$good/slurm/configuration" <<TEXT
ClusterName             = mini
PlugStackConfig         = /nowhere
PluginDir               = /nowhere
ProctrackType           = proctrack/cgroup
PrologFlags             = Alloc,Contain
SLURM_VERSION           = $("$BATCHAI_BUILD/bin/batchai" --version | sed -n 's/.*for Slurm \(.*\))/\1/p')
TEXT
    chmod -R go=rX,u=rwX "$good"
    chmod 755 "$good"/{bin,libexec,slurm}/*
}
teardown_file() { rm -rf "$good"; }

setup() {
    place=$(mktemp -d /run/batchai-doctor.XXXXXX)
    chmod 755 "$place"
    cp -a "$good/." "$place"
    cd "$place" || return
    echo "required $place/lib/spank_batchai.so libexec=$place/libexec policy=$place/policy/batchai.toml" >etc/plugstack.conf
    verb=check options=()
    version=$(bin/batchai-launch --version)
    version=${version##* }
}
teardown() { cd / && rm -rf "$place"; }

# look [COMMAND]: what batchai says of the machine once the command has changed it. In it may be mounts.
look() {
    unshare --mount bash -c '
        eval "$1" || exit 99
        shift
        export PATH=$PWD/slurm:/usr/sbin:/usr/bin:/sbin:/bin
        exec timeout 60 bin/batchai admin "$@"' - "${1-}" "$verb" --plugstack "$place/etc/plugstack.conf" "${options[@]}"
}

# broken COMMAND LINE...: what is not in order then are these lines and no others. In them, @ is the machine's directory.
broken() {
    local wanted want=1
    wanted=$(printf '%s\n' "${@:2}" | sed "s,@,$place,g; /^$/d" | sort)
    [[ $wanted = *"error  "* ]] || want=0
    run look "$1"
    diff <(grep -v '^ok ' <<<"$output" | sort) - < <(printf '%s' "${wanted:+$wanted$'\n'}")
    [ "$status" = "$want" ]
}
policy() { printf '%s\n' "$@" >>policy/batchai.toml; }

@test "a good machine has no finding" {
    run look
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -vc '^ok ' <<<"$output")" = 0 ]
    verb=doctor
    run -0 look
    [ "$(grep -vc '^ok ' <<<"$output")" = 0 ]
}

# ---- Slurm -----------------------------------------------------------------------------------------

@test "another Slurm than the one that batchai was built for is found" {
    local version
    version=$(sed -n 's/SLURM_VERSION *= //p' slurm/configuration)
    broken "sed -i 's/^SLURM_VERSION.*/SLURM_VERSION           = 20.11.9/' slurm/configuration" \
        "error    slurm      is 20.11.9, batchai was built for $version: build it against this release's headers" \
        "error    plugin     @/lib/spank_batchai.so: was built for Slurm $version, and this is 20.11.9: every srun, sbatch and slurmd refuses it. Install the plugin of this batchai, built for this Slurm"
}

@test "a plugin that was built for another Slurm is found, for which every srun fails" {
    local version
    version=$(sed -n 's/SLURM_VERSION *= //p' slurm/configuration)
    broken "sed -i 's/for Slurm $version/for Slurm ${version/#2/1}/' lib/spank_batchai.so" \
        "error    plugin     @/lib/spank_batchai.so: was built for Slurm ${version/#2/1}, and this is $version: every srun, sbatch and slurmd refuses it. Install the plugin of this batchai, built for this Slurm"
}

@test "a slurmctld that does not answer is found" {
    broken "printf '#!/bin/sh\nexit 1\n' >slurm/scontrol" "warning  slurm      scontrol: exit 1"
}

@test "a Slurm without cgroups is found, where mounts may outlive a job" {
    broken "sed -i s,proctrack/cgroup,proctrack/linuxproc, slurm/configuration" \
        "warning  processes  ProctrackType is proctrack/linuxproc: a process that hides can outlive its job and keep the job's mounts. Set proctrack/cgroup in slurm.conf"
}

@test "a Slurm without PrologFlags=Contain is found" {
    broken "sed -i 's/Alloc,Contain/(null)/' slurm/configuration" \
        "warning  prolog     PrologFlags lacks Contain: a step from a shell that does not know its job's options (srun --jobid) can run without the job's mounts. Set PrologFlags=Contain in slurm.conf"
}

@test "a PrologEpilogTimeout that is too short is found" {
    broken "echo 'PrologEpilogTimeout     = 5' >>slurm/configuration" \
        "warning  epilog     PrologEpilogTimeout is 5: on a busy node an epilog can take longer, and Slurm drains the node. Take it out of slurm.conf, or set it to 90 or more"
    broken "printf '[program.p]\ncommand = [\"/bin/true\"]\n[[allow]]\ntype = \"fuse\"\nprogram = \"p\"\nsource = \"/\"\n' >>policy/batchai.toml; echo 'EpilogTimeout           = 60' >>slurm/configuration" \
        "warning  epilog     EpilogTimeout is 60: a job is over after 20 s of waiting for its FUSE programs, which may still be writing its data then. Take it out of slurm.conf, or set it to 90 or more"
}

@test "a partition of the policy that Slurm does not have is found" {
    broken "sed -i 's/\"gpu\"/\"gpus\"/' policy/batchai.toml" \
        "error    partition  @/policy/batchai.toml: [cluster.nc6]: Slurm has no partition gpus, only gpu, cpu. Correct the policy, or make the partition in slurm.conf"
}

# without PROGRAM: a /usr/bin that lacks it.
without='without() { mkdir hole && mknod "hole/$1" c 0 0 && mount -t overlay -o lowerdir=hole:/usr/bin overlay /usr/bin; };'

@test "a missing srun is found" {
    broken "$without without srun" \
        "error    srun       srun: not on the PATH, and not in /usr/bin: load Slurm's module, or install its client commands: no job of several nodes can start"
}

@test "a missing squeue is found, which root's helper asks" {
    broken "$without without squeue; rm slurm/squeue" \
        "error    srun       squeue: not on the PATH, and not in /usr/bin: load Slurm's module, or install its client commands: no job of several nodes can start"
}

# ---- plugstack.conf --------------------------------------------------------------------------------

@test "an 'optional' line is found, with what it means" {
    broken "sed -i s/required/optional/ etc/plugstack.conf" \
        "warning  plugstack  @/etc/plugstack.conf:1: 'optional': where the plugin cannot be loaded, jobs run without their mounts and preparation, without a message. Write 'required'"
}

@test "an unknown word in the plugin's line is found" {
    broken "sed -i 's/\$/ polcy=x/' etc/plugstack.conf" \
        "error    plugstack  @/etc/plugstack.conf:1: 'polcy=x': the plugin does not know this word, and ignores it. Write policy=FILE, libexec=DIRECTORY or counters=DIRECTORY"
}

@test "a second line for the plugin is found" {
    broken "echo include more.conf >>etc/plugstack.conf; head -n 1 etc/plugstack.conf >etc/more.conf" \
        "error    plugstack  @/etc/plugstack.conf:1 and @/etc/more.conf:1 both load spank_batchai.so: keep one"
}

@test "a missing line, also one that is a comment, is found" {
    broken "sed -i 's/^/# /; s,libexec=[^ ]*,,' etc/plugstack.conf; mkdir -p /usr/libexec; mount --bind libexec /usr/libexec; mkdir /usr/libexec/batchai; cp libexec/batchai-* /usr/libexec/batchai; mkdir -p /etc/batchai; mount --bind policy /etc/batchai" \
        "error    plugstack  @/etc/plugstack.conf: no line loads spank_batchai.so (spank_batchai(8))"
}

@test "a plugstack.conf that every user can write to is found" {
    broken "chmod o+w etc/plugstack.conf" \
        "error    plugstack  @/etc/plugstack.conf: every user can write to it, and so make root load any plugin. Run chmod o-w on it"
}

@test "a directory above plugstack.conf that every user can write to is found" {
    broken "chmod o+w etc" \
        "error    plugstack  @/etc: every user can write to it, and so make root load any plugin. Run chmod o-w on it"
}

@test "a line that Slurm reads otherwise than it looks is found" {
    broken "printf '\r\n' >>etc/plugstack.conf; mkdir -p /etc/batchai; mount --bind policy /etc/batchai; mkdir -p /usr/libexec; mount --bind libexec /usr/libexec; mkdir /usr/libexec/batchai; cp libexec/batchai-* /usr/libexec/batchai" \
        "error    plugstack  @/etc/plugstack.conf:2: has a carriage return, which Slurm takes for part of a word: write lines as Unix does"
}

# ---- plugin and programs ---------------------------------------------------------------------------

@test "a plugin that is not there is found" {
    broken "rm lib/spank_batchai.so" "error    plugin     @/lib/spank_batchai.so: No such file or directory"
}

@test "a plugin that belongs to a user is found" {
    broken "chown 2001 lib/spank_batchai.so" \
        "error    plugin     @/lib/spank_batchai.so: belongs to another user than root: chown root"
}

@test "a plugin of another release of batchai is found" {
    broken "sed -i 's/batchai plugin 0/batchai plugin 9/' lib/spank_batchai.so" \
        "error    plugin     @/lib/spank_batchai.so: is of batchai $(batchai --version | sed 's/^batchai 0\([^ ]*\).*/9\1/'), and this command of $(batchai --version | cut -d ' ' -f 2). Install the plugin of this batchai, built for this Slurm"
}

@test "a file in the plugin's place is found" {
    broken "cp /bin/true lib/spank_batchai.so" \
        "error    plugin     @/lib/spank_batchai.so: names no Slurm release: it is not a plugin of batchai, or an old one. Install the plugin of this batchai, built for this Slurm"
}

@test "a library that the plugin lacks is found" {
    broken "sed -i 's/libc\.so\.6/libz.so.9/' lib/spank_batchai.so" \
        "error    libraries  @/lib/spank_batchai.so: lacks libz.so.9. Install the packages that have them, or build batchai on this machine"
}

@test "a library that a helper lacks is found" {
    broken "sed -i 's/libc\.so\.6/libz.so.9/' libexec/batchai-fusermount" \
        "error    libraries  @/libexec/batchai-fusermount: lacks libz.so.9. Install the packages that have them, or build batchai on this machine" \
        "error    version    @/libexec/batchai-fusermount: cannot be run: $place/libexec/batchai-fusermount: error while loading shared libraries: libz.so.9: cannot open shared object file: No such file or directory. Install all of batchai's packages from one release"
}

@test "a helper of another version is found" {
    local other=${version//[0-9]/9} # as long as it
    broken "sed -i 's/${version//./\\.}/$other/g' libexec/batchai-prep" \
        "error    version    @/libexec/batchai-prep: is of batchai $other, and this command of $version. Install all of batchai's packages from one release"
}

@test "a damaged helper is found" {
    broken "truncate -s 64 libexec/batchai-check" \
        "error    libraries  @/libexec/batchai-check: cannot run on this machine: it is damaged, or built for another architecture. Install the packages that have them, or build batchai on this machine"
}

@test "a missing helper is found" {
    broken "rm libexec/batchai-prep" "error    program    @/libexec/batchai-prep: No such file or directory"
}

@test "a program that jobs need and that is not installed is found" {
    broken "$without without flock" \
        "error    packages   flock: not installed, and tasks of one node wait with it for the preparation: package util-linux. Install it"
}

@test "a missing batchai-launch is found" {
    broken "rm bin/batchai-launch" \
        "error    packages   batchai-launch: not installed, and job files run with it: package batchai. Install it"
}

@test "a missing horovod package is found" {
    broken "rmdir lib/batchai/python" \
        "warning  packages   horovod: not installed, and ranks that import it find another one or none: package batchai-horovod. Install it"
}

# ---- the site policy -------------------------------------------------------------------------------

@test "a policy that is not there is found" {
    broken "rm policy/batchai.toml" "error    policy     site policy: @/policy/batchai.toml: No such file or directory"
}

@test "a word of the policy that batchai does not know is found, with its place" {
    policy 'vmsize = "x"'
    broken true \
        "error    policy     @/policy/batchai.toml:5:10: cluster.nc6.vmsize: unknown key; did you mean 'vm_size'?"
}

@test "a policy that others can write to is found, and one in a directory with a sticky bit" {
    broken "chmod o+w policy/batchai.toml" "error    policy     @/policy/batchai.toml: others can write to it: chmod go-w"
    broken "chmod o-w policy/batchai.toml; chmod 1777 policy" \
        "error    policy     @/policy: others can write to it: chmod go-w, or use another directory"
}

@test "a login_path that is not there is found" {
    policy '[[share]]' 'share = "s"' 'source = "/usr"' 'login_path = "/nowhere"'
    broken true "warning  storage    share s: login_path /nowhere is not a directory here. Mount it, or leave login_path out on a machine where nothing is submitted"
}

@test "a mount program that is not there is found" {
    policy '[program.sshfs]' 'command = ["/nowhere/sshfs"]'
    broken true "error    program    sshfs: /nowhere/sshfs: No such file or directory. Install it, or take what names it out of the policy"
}

fuse=('[program.t]' 'command = ["/bin/true"]' '[[allow]]' 'name = "t"' 'type = "fuse"' 'source = "x"' 'program = "t"')
@test "a missing /dev/fuse is found where the policy has a FUSE program, and only there" {
    local no_device='mount -t tmpfs tmpfs /dev; mknod /dev/null c 1 3;'
    run -0 look "$no_device"
    policy "${fuse[@]}"
    broken "$no_device" "error    fuse       /dev/fuse: No such file or directory: no [program.NAME] can mount. Load the kernel's module: modprobe fuse"
    broken "$no_device touch /dev/fuse" "error    fuse       /dev/fuse: is not the device 10:229: no [program.NAME] can mount. Load the kernel's module: modprobe fuse"
}

@test "a FUSE program that may run commands of a user is named, and one with the store's credentials is not" {
    policy '[program.s]' 'command = ["/bin/true"]' '[program.none]' 'command = ["/bin/true"]' "${fuse[@]}" 'credentials = "user:key"' \
        '[[allow]]' 'name = "s"' 'type = "fuse"' 'source = "x"' 'program = "s"' 'credentials = "store:key"'
    run look
    echo "$output"
    [ "$(grep -c 'may run commands' <<<"$output")" = 1 ]
    [[ $output = *"ok       program    t: runs without credentials of the store: it may run commands of the job's user, with the user's rights, in the job's cgroup"* ]]
}

@test "a kernel before Linux 5.12 is named where a mount is tried" {
    policy '[[allow]]' 'type = "bind"' 'source = "/usr"'
    local injected=(strace -f -o /dev/null -e trace=mount_setattr -e inject=mount_setattr:error=ENOSYS)
    "${injected[@]}" true 2>/dev/null || skip "needs strace, and its being permitted"
    run "${injected[@]}" unshare --mount libexec/batchai-helper try --policy "$PWD/policy/batchai.toml"
    echo "$output"
    [[ $output = *"failed "*": mount_setattr: the node's kernel is older than Linux 5.12"* ]]
}

@test "a kernel that lacks a file system of the policy is found" {
    policy '[[allow]]' 'type = "overlay"' 'source = "/usr"'
    local old='printf "nodev\ttmpfs\n" >old && mount --bind old /proc/filesystems; mkdir -p modules/$(uname -r);'
    broken "$old mkdir -p /lib/modules; mount --bind modules /lib/modules" \
        "warning  kernel     /proc/filesystems: has no overlay, which the policy's type \"overlay\" needs, and its module is not known. Install the kernel's modules (linux-modules-extra), or take the type out of the policy"
    rm -r modules
    broken "$old mount --bind modules /lib/modules; touch modules/\$(uname -r)/modules.alias" \
        "error    kernel     /lib/modules/$(uname -r)/modules.alias: neither the kernel nor its modules have overlay, which the policy's type \"overlay\" needs. Install the kernel's modules (linux-modules-extra), or take the type out of the policy"
    rm -r modules
    run -0 look "$old mount --bind modules /lib/modules; echo 'alias fs-overlay overlay' >modules/\$(uname -r)/modules.alias"
}

@test "a container's runtime and an image that are not there are found" {
    policy '[container.c]' 'command = ["/nowhere/run", "{image}"]' '[[image]]' 'name = "i:*"' 'run_on = "c"' 'image = "/nowhere/i"'
    broken true "error    container  c: /nowhere/run: No such file or directory. Install it, or take what names it out of the policy" \
        "error    image      i:*: /nowhere/i: No such file or directory"
}

@test "a job_temp in which users could exchange each other's directories is found" {
    mkdir -m 777 temp
    policy '[paths]' "job_temp = \"$place/temp\""
    broken true "warning  job temp   @/temp: users can exchange each other's directories in it: chown root, chmod 1777"
}

@test "a stored password that others can read is found, and a program for it that a user can change" {
    install -m 644 /dev/null policy/key
    cp /bin/true prog
    policy '[paths]' "credentials = \"$place/policy\"" '[program.t]' "command = [\"$place/prog\"]" '[[allow]]' 'name = "t"' 'type = "fuse"' \
        'source = "x"' 'program = "t"' 'credentials = "store:key"'
    broken "chown 2001 prog" "error    program    @/prog: belongs to another user than root: chown root" \
        "error    credentials @/policy/key: must be a file of root that only root can read (chmod 600)"
}

@test "a home directory that is not there, and one that is another than elsewhere, are found" {
    mkdir homes
    options=(--home "$place/homes")
    run -0 look
    broken "rmdir homes" "error    homes      @/homes: No such file or directory: jobs of this user cannot keep their record (~/.local/share/batchai). Mount the users' home directories on login and compute nodes, with file locks"
    mkdir homes
    options=(--home "$place/homes=served:1:2.3")
    broken true "error    homes      @/homes: is not the directory of the machine that runs the doctor: jobs keep their record there (~/.local/share/batchai). Mount the users' home directories on login and compute nodes, with file locks"
    options=(--home "$place/homes=served:$(stat -c %i homes):2.3") # a server's time of change may be late
    run -0 look
}

# ---- what the doctor tries -------------------------------------------------------------------------

@test "the doctor finds a directory of the policy that is not there" {
    verb=doctor
    policy '[[allow]]' 'source = "/nowhere"'
    broken true "error    mount      allow, bind /nowhere: /nowhere: No such file or directory"
}

@test "the doctor finds a share that users cannot read, or cannot come to" {
    verb=doctor
    mkdir -p data/sub
    policy '[[share]]' 'share = "s"' "source = \"$place/data/sub\""
    broken "chmod 750 data/sub" "error    mount      share s, bind @/data/sub: @/data/sub: users cannot read it, its mode is 0750: chmod o+rx"
    broken "chmod 755 data/sub; chmod 700 data" "error    mount      share s, bind @/data/sub: @/data: users cannot read it, its mode is 0700: chmod o+rx"
    broken "chmod 711 data" ""
}

@test "the doctor warns of a share that only one group or one user can read" {
    verb=doctor
    mkdir data
    policy '[[share]]' 'share = "s"' "source = \"$place/data\""
    broken "chmod 750 data; chgrp 2002 data" "warning  mount      share s, bind @/data: @/data: only group 2002 can read it: jobs of other users fail"
    broken "chown 2001:0 data" "warning  mount      share s, bind @/data: @/data: only user 2001 can read it: jobs of other users fail"
}

@test "the doctor finds an image that users cannot read" {
    verb=doctor
    install -m 600 /dev/null image
    policy '[[allow]]' 'type = "squashfs"' "source = \"$place/image\""
    broken true "error    mount      allow, squashfs @/image: @/image: users cannot read it, its mode is 0600: chmod o+r"
}

@test "the doctor looks at a directory of images as a user would" {
    verb=doctor
    mkdir -m 700 images
    policy '[[allow]]' 'type = "squashfs"' "source = \"$place/images\""
    broken true "error    mount      allow, squashfs @/images: @/images: users cannot read it, its mode is 0700: chmod o+rx"
}

@test "the doctor opens as root nothing to which a user's link leads" {
    verb=doctor
    mkdir -m 700 closed && mkdir closed/root
    install -d -o 2001 -m 755 alices && ln -s ../closed/root alices/link
    policy '[[allow]]' "source = \"$place/alices/link\""
    # Root could open it. User nobody cannot.
    run look
    [ "$status" -eq 0 ] || [ "$status" -eq 1 ]
    [[ $output = *" mount      allow, bind $place/alices/link: $place/alices/link: "* ]]
    [ "$(grep -c '^ok       mount      allow, bind' <<<"$output")" = 0 ]
}

@test "the doctor finds a mount_root that others can write to" {
    verb=doctor
    policy '[paths]' 'mount_root = "/tmp/mnt"'
    broken true "error    mount      mount root /tmp/mnt: site policy: paths.mount_root: /tmp: others can write to it: chmod go-w, or use another directory"
}

@test "the doctor finds ranks that do not start" {
    verb=doctor
    run -1 look "mount --bind /bin/false bin/batchai-launch"
    [[ $output = *"error    ranks      "* ]]
}

@test "admin check runs no helper that a user can change" {
    printf '#!/bin/sh\ntouch %s/was-run\necho %s\n' "$place" "$version" >libexec/batchai-prep
    chown 2001 libexec/batchai-prep
    verb=doctor
    broken true "error    program    @/libexec/batchai-prep: belongs to another user than root: chown root"
    [ ! -e was-run ]
}

@test "admin check --list names each check, and the manual has it" {
    run look
    verb=check options=(--list)
    run -0 look
    [ "$(grep -c '^check ' <<<"$output")" -gt 20 ]
    diff <(awk '$1 == "check" || $1 == "doctor" { print substr($0, 10, 11) }' <<<"$output" | sed 's/ *$//' | sort -u) \
        <(sed -n '/^.Ss Checks/,/^.Ss/s/^\.It Li //p' "$BATCHAI_SOURCE/docs/man/batchai.1" | sort -u)
}

@test "admin check --json says where a policy is wrong" {
    echo "[[share]" >policy/batchai.toml
    options=(--json)
    run -1 --separate-stderr look
    [[ $(jq -r '.[] | select(.state == "error") | .check + " " + .message' <<<"$output") = "policy $place/policy/batchai.toml:1:"* ]]
}
