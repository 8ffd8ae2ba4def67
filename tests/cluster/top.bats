#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml
# needs: torch
#
# batchai top: what the ranks of a running job do. The ranks run until the file "go" is there, so no test depends on how
# long a step takes.

load cli

setup_file() {
    make_site
    cat >"$share/code/slow.py" <<'SCRIPT'
import os, sys, time
import horovod.torch as hvd
import torch

hvd.init()
step = 0
while True:
    if hvd.rank() == 2:
        time.sleep(0.3)  # the slow one
    over = hvd.allreduce(torch.tensor([float(os.path.exists(sys.argv[1]))]), op=hvd.Max, name="grad")
    step += 1
    print("\033[1mstep\033[0m %d" % step, flush=True)
    if over.item() > 0:
        break
SCRIPT
}

setup() {
    [ -x "$BATCHAI_BUILD/bin/batchai" ] || skip "batchai is not built"
    enter_work
    deadline=200 # four Pythons that import PyTorch on a busy machine
}

# start_slow NAME: a job of four ranks on two nodes, of which rank 2 is slow. Returns once all of them take steps.
start_slow() {
    write_job base.json 2
    jq --arg go "$work/go" '.properties.horovodSettings += {
        pythonScriptFilePath: "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code/slow.py", commandLineArgs: $go,
        pythonInterpreterPath: "/usr/bin/python3", processCount: 4}' base.json >"$1.json"
    chmod 644 "$1.json"
    batchai job create "${scope[@]}" -n "$1" -f "$1.json" >/dev/null
    eventually takes_steps "$1"
}

takes_steps() {
    top "$1" && jq -e '.jobs[0].view.ranks | length == 4 and all(.[]; (.line | contains("step")) and .waiting != null)' seen
}

top() { batchai top "${scope[@]}" -n "$1" --once -o json >seen; }

names_rank_2() {
    top "$1" && jq -e '.jobs[0].view | .awaited.ranks == [2] and all(.ranks[]; .operationsPerSecond > 0)' seen
}
tells_of_rank_2() { batchai top "${scope[@]}" -n "$1" --once >text && grep -q '^rank 2 (n2) makes the others wait [0-9]* %$' text; }

end() {
    touch "$work/go"
    run -0 batchai job wait "${scope[@]}" -n "$1"
}

# The process of this command line that runs as alice's.
viewers() { pgrep -u alice -f 'batchai-launch --attach '; }
no_viewers() { ! viewers; }

@test "batchai top names the rank that makes the others wait, and says what each rank does" {
    start_slow slow
    eventually names_rank_2 slow
    jq -e '.jobs[0] | .name == "slow" and .executionState == "running" and .secondsLeft != 0
        and ([.phases[] | .node + " " + .phase] == ["n1 run", "n2 run"])' seen
    jq -e '.jobs[0].view | .version == 1 and ([.ranks[].node] == ["n1", "n1", "n2", "n2"])
        and all(.ranks[]; .inLibrary and .memory > 1e6 and .operationsPerSecond > 0 and .cores != null)
        and .awaited.share > 0.2 and all(.nodes[]; .memoryLimit > .memory)' seen
    # The same for a person, at any width, without what controls a terminal.
    eventually tells_of_rank_2 slow
    cat text
    grep -q '^slow: running, job [0-9]*, 0:[0-9:]*' text
    grep -q '^run n\[1-2\] ([0-9]*[sm])$' text
    grep -Eq '^ *2  n2  +[RSD] .* step [0-9]+$' text
    run ! grep -q $'\033' text
    # It is one of the jobs of the user, and another user's job cannot be seen.
    batchai top --once -o json | jq -e '.jobs | length == 1 and .[0].view.ranks[3].rank == 3'
    view=$(record)/view
    [ "$(stat -c '%a %U' "$view")" = "600 $(stat -c %U "$(record)")" ]
    [ "$(stat -c %a "$(record)")" = 700 ]
    # A process that has the port and not the key is sent away.
    sed -E 's/[0-9a-f]{64}/'"$(printf '0%.0s' {1..64})"'/' "$view" >wrong
    run ! cmp -s "$view" wrong
    run -125 timeout 60 "$BATCHAI_BUILD/bin/batchai-launch" --attach wrong
    [[ $output == "batchai-launch: the job's batchai-launch: "* ]]
    end slow
    [ ! -e "$view" ]
    eventually no_viewers
}

@test "who looks at a job sees its end, and a viewer that is stopped holds nothing up" {
    start_slow ends
    as_alice "$BATCHAI_BUILD/bin/batchai-launch" --attach "$(record)/view" >stopped 2>&1 3>&- &
    eventually test -s stopped
    kill -STOP "$(viewers)"
    batchai job show "${scope[@]}" -n ends --watch -o json >watched 3>&- &
    watch=$!
    eventually grep -q '"awaited"' watched
    end ends
    wait "$watch"
    tail -n 1 watched | jq -e '.jobs[0] | .executionState == "succeeded" and .exitCode == 0 and .view == null'
    kill -CONT "$(viewers)"
    eventually no_viewers
    batchai top "${scope[@]}" -n ends --once | grep -q '^ends: succeeded, .*, exit code 0$'
}

@test "a job that waits is shown with Slurm's reason, and top without a job says so" {
    run -0 batchai top --once
    [ "$output" = "batchai: no job is queued or running" ]
    write_command held.json 1 true
    batchai job create "${scope[@]}" -n held -f held.json --storage-account-name a -- --hold >/dev/null
    batchai top --once | grep -q '^held: queued, job [0-9]* (JobHeldUser)$'
    batchai top --once -o json | jq -e '.jobs[0] | .view == null and .phases == []'
    run -2 batchai top -n nothing --once
    [[ $output == "batchai: job nothing: not found "* ]]
    batchai job terminate "${scope[@]}" -n held --yes
}

@test "top ends when its job is deleted" {
    write_command gone.json 1 true
    batchai job create "${scope[@]}" -n gone -f gone.json --storage-account-name a -- --hold >/dev/null
    batchai top "${scope[@]}" -n gone >shown 2>&1 3>&- &
    top=$!
    eventually grep -q '^gone: queued' shown
    batchai job delete "${scope[@]}" -n gone --yes
    eventually has_ended "$top"
    wait "$top"
}

has_ended() { ! kill -0 "$1" 2>/dev/null; }

@test "on a terminal, the error about a job that does not exist stays on the user's screen" {
    run -2 as_alice env TERM=xterm /usr/bin/python3 -c \
        'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' \
        "$BATCHAI_BUILD/bin/batchai" top -n nothing </dev/null
    [[ ${output##*$'\033'} == *"batchai: job nothing: not found "* ]]
    [[ $output != *$'\033[?1049h'* ]]
}

@test "top ends when its terminal is gone, without a signal" {
    write_command waits.json 1 true
    batchai job create "${scope[@]}" -n waits -f waits.json --storage-account-name a -- --hold >/dev/null
    as_alice /usr/bin/python3 - "$BATCHAI_BUILD/bin/batchai" "${scope[@]}" <<'PY'
import os, pty, subprocess, sys

ours, terminal = pty.openpty()  # no process has it as the controlling one
command = [sys.argv[1], "top", "-n", "waits", *sys.argv[2:]]
top = subprocess.Popen(command, stdin=terminal, stdout=terminal, start_new_session=True, env={**os.environ, "TERM": "xterm"})
os.close(terminal)
shown = b""
while b"waits: queued" not in shown:
    shown += os.read(ours, 65536)
os.close(ours)
top.wait(timeout=100)
PY
    batchai job terminate "${scope[@]}" -n waits --yes
}

@test "on a terminal it fits the screen, leaves at q and gives the terminal back" {
    start_slow seen
    as_alice /usr/bin/python3 - "$BATCHAI_BUILD/bin/batchai" "${scope[@]}" <<'PY'
import fcntl, os, pty, re, struct, sys, termios, time

pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], [sys.argv[1], "top", "-n", "seen", *sys.argv[2:]])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 60, 0, 0))
shown = ""
asked = False
while True:
    try:
        piece = os.read(terminal, 65536).decode()
    except OSError:
        break
    shown += piece
    if not asked and shown.count("makes the others wait") > 1:
        os.write(terminal, b"q")
        asked = True
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
screen, after = shown.split("\033[?1049l")
assert screen.startswith("\033[?1049h") and "\033[?25h" in screen, repr(shown)
frames = screen.split("\033[H")[2:]  # the size may have come after the first one
assert all(len(frame.split("\r\n")) <= 12 for frame in frames), repr(screen)
lines = re.sub("\033\\[[?0-9]*[A-Za-z]", "", "\r\n".join(frames)).split("\r\n")
assert all(len(line) <= 60 for line in lines), repr(lines)
assert "seen: running" in after, repr(after)
PY
    end seen
}
