// SPDX-License-Identifier: Apache-2.0
//
// top, and job show --watch. A job's launcher says what the ranks do, and Slurm and the record say
// the rest. `batchai-launch --attach` speaks with the launcher: the connection is encrypted, and
// that program knows how. On a terminal the view is repainted with the sequences of ECMA-48.
#include "cli/job/top.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/job/top_view.hpp"
#include "cli/output/result_text.hpp"
#include "cli/verbs.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/paths.hpp"
#include "sys/pipe.hpp"
#include "sys/subprocess.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kRefused =
    "the job's launcher shows nothing: the job ends, or 16 others look at it already";
constexpr const char* kNoLauncher =
    "no batchai-launch of the job can be asked: it has not started, or has ended";
constexpr milliseconds kRepaint{1000};
constexpr milliseconds kAskSlurm{5000};
constexpr milliseconds kFirstViews{5000};  // how long --once waits for the launchers

// What a job's launcher says about it, line by line.
class LauncherView {
  public:
    // mask: the signals that the program blocks.
    static sys::Result<LauncherView> open(const std::string& file, const sigset_t& mask) {
        const std::string launcher = sys::sibling_program("batchai-launch");
        if (launcher.empty()) return sys::Error{"batchai-launch: not found beside batchai"};
        auto pipe = sys::make_pipe();
        if (!pipe) return pipe.error();
        sys::Program program{{launcher, "--attach", file}};
        program.out = program.err = pipe->write.get();
        program.death_signal = SIGTERM;
        program.mask = &mask;
        auto started = sys::Subprocess::start(program);
        if (!started) return started.error();
        ::fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK);
        return LauncherView(*std::move(started), std::move(pipe->read));
    }

    int fd() const { return output_.get(); }
    const json& last() const { return last_; }
    const std::string& trouble() const { return trouble_; }
    int count() const { return count_; }  // of the documents so far
    // Reads what is there. False: the launcher, or the program, has ended.
    bool read() {
        std::array<char, 1 << 16> bytes;
        ssize_t size = 0;
        while ((size = ::read(fd(), bytes.data(), bytes.size())) > 0)
            text_.append(bytes.data(), static_cast<std::size_t>(size));
        for (std::size_t end; (end = text_.find('\n')) != text_.npos; text_.erase(0, end + 1))
            take(text_.substr(0, end));
        return size != 0;
    }

  private:
    LauncherView(sys::Subprocess program, sys::UniqueFd output)
        : program_(std::move(program)), output_(std::move(output)) {}

    void take(const std::string& line) {
        auto document = json::parse(line, nullptr, false);
        if (!document.is_object()) {
            trouble_ = line;  // what the program says on its standard error
            return;
        }
        if (document.value("version", json()) != 1) {
            trouble_ = kOtherRelease;
            return;
        }
        trouble_.clear();
        last_ = std::move(document);
        ++count_;
    }

    sys::Subprocess program_;
    sys::UniqueFd output_;
    std::string text_;
    json last_;
    std::string trouble_;
    int count_ = 0;
};

// The terminal as the view needs it: another screen, without a cursor, and keys at once. Signals
// that would end this program are read from fd(), so that the terminal is restored first.
class Screen {
  public:
    Screen() {
        ::sigemptyset(&signals_);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH})
            ::sigaddset(&signals_, signal);
        ::sigprocmask(SIG_BLOCK, &signals_, &mask_);
        fd_.reset(::signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
        ::tcgetattr(STDIN_FILENO, &before_);
        termios keys = before_;
        keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        keys.c_cc[VSUSP] = _POSIX_VDISABLE;  // the shell would get this screen
        keys.c_cc[VMIN] = 0;
        keys.c_cc[VTIME] = 0;
        ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
        write("\033[?1049h\033[?25l");
    }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    ~Screen() {
        write("\033[?25h\033[?1049l");
        ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
        ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
    }

    static bool is_possible() {
        const char* kind = std::getenv("TERM");
        return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0 && kind != nullptr &&
               std::string(kind) != "dumb";
    }

    int fd() const { return fd_.get(); }
    const sigset_t& mask() const { return mask_; }
    // Whether the user has asked for the end, by a key or a signal.
    bool is_left() const {
        bool left = false;
        signalfd_siginfo signal{};
        while (::read(fd(), &signal, sizeof signal) == sizeof signal)
            left = left || signal.ssi_signo != SIGWINCH;
        std::array<char, 64> keys{};
        const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
        return left || std::any_of(keys.begin(), keys.begin() + std::max<ssize_t>(count, 0),
                                   [](char key) { return key == 'q' || key == 'Q'; });
    }
    // False: the terminal is gone.
    bool show(const std::vector<json>& documents) const {
        winsize size{};
        ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        std::string text = "\033[H";
        const char* separator = "";
        for (const std::string& line : top_lines(documents, size.ws_col, size.ws_row)) {
            text += separator + line + "\033[K";
            separator = "\r\n";
        }
        return write(text + "\033[J");
    }

  private:
    static bool write(const std::string& text) {
        return static_cast<bool>(sys::write_all(STDOUT_FILENO, text));
    }

    sigset_t signals_{}, mask_{};
    sys::UniqueFd fd_;
    termios before_{};
};

struct Watched {
    JobRow row;
    Execution execution;
    std::vector<job::Event> events;
    std::optional<LauncherView> launcher;
    std::string trouble;  // why the launcher could not be asked
};

class Watch {
  public:
    Watch(const Session& session, Store store, JobName name, bool once)
        : session_(session), store_(std::move(store)), name_(std::move(name)), once_(once) {}

    int run() {
        if (const auto asked = ask(); !asked)
            return fail(name_.name.empty() ? kEnvironment : kBadInput, asked.error());
        const bool may_repaint = !once_ && session_.query.empty() && session_.output.empty();
        if (may_repaint && !jobs_.empty() && Screen::is_possible()) {
            silence_notes();  // they would be written across the view
            screen_.emplace();
        }
        const auto begin = steady_clock::now();
        auto repaint = begin;
        for (;;) {
            if (steady_clock::now() >= asked_ + kAskSlurm) {
                const auto asked = ask();
                stale_ = asked ? "" : asked.error().message;
                if (!asked && are_deleted()) return end(show());
            }
            const auto now = steady_clock::now();
            const bool complete = is_complete() || now >= begin + kFirstViews;
            if (now >= repaint && (!once_ || complete)) {
                if (const int code = show(); code != kOk || once_ || all_over()) return end(code);
                repaint = std::max(repaint + kRepaint, now);
            }
            const auto until = once_ ? begin + kFirstViews : repaint;
            if (wait(std::min(until, asked_ + kAskSlurm))) return end(kOk);
        }
    }

  private:
    // Asks Slurm about the jobs, and connects to launchers that are there.
    sys::Result<void> ask() {
        asked_ = steady_clock::now();
        auto rows = find_rows();
        if (!rows) return rows.error();
        if (rows->empty() && !jobs_.empty()) return sys::Error{"the jobs have been deleted"};
        const auto executions = executions_of(store_, *rows);
        if (!executions) return executions.error();
        std::vector<Watched> before = std::move(jobs_);
        jobs_.clear();
        for (std::size_t i = 0; i < rows->size(); ++i) {
            auto& row = (*rows)[i];
            const auto known = std::find_if(before.begin(), before.end(), [&](const Watched& job) {
                return job.row.identity.uuid == row.identity.uuid;
            });
            if (known == before.end() && name_.name.empty() && (*executions)[i].over()) continue;
            Watched job = known == before.end() ? Watched{} : std::move(*known);
            job.row = std::move(row);
            job.execution = (*executions)[i];
            job.events = job::read_events(store_.record(job.row.identity.uuid));
            connect(job);
            jobs_.push_back(std::move(job));
        }
        return {};
    }

    // The named jobs, or those that have not ended and those that are shown already.
    sys::Result<std::vector<JobRow>> find_rows() {
        if (!name_.name.empty()) {
            auto found = find_named(store_, name_.scope, name_.name);
            if (!found) return found.error();
            return std::move(found->rows);
        }
        auto rows = find_jobs(store_, {});
        if (!rows) return rows;
        std::erase_if(*rows, [this](const JobRow& row) {
            return row.outcome && std::none_of(jobs_.begin(), jobs_.end(), [&](const Watched& job) {
                       return job.row.identity.uuid == row.identity.uuid;
                   });
        });
        return rows;
    }

    // Whether the history has none of the jobs any more.
    bool are_deleted() {
        const auto known = store_.history.uuids();
        return known && std::none_of(jobs_.begin(), jobs_.end(), [&known](const Watched& job) {
                   return known->count(job.row.identity.uuid) > 0;
               });
    }

    void connect(Watched& job) {
        if (job.launcher) return;
        job.trouble.clear();
        if (job.execution.over() || job.execution.state == Execution::State::queued) return;
        const std::string file = store_.record(job.row.identity.uuid) + "/view";
        if (!sys::is_regular_file(file)) {
            job.trouble = kNoLauncher;
            return;
        }
        sigset_t mask;
        ::sigprocmask(SIG_BLOCK, nullptr, &mask);
        auto opened = LauncherView::open(file, screen_ ? screen_->mask() : mask);
        if (!opened)
            job.trouble = opened.error().message;
        else
            job.launcher.emplace(*std::move(opened));
    }

    // Whether each launcher has said how its job goes. The first time it knows no rates.
    bool is_complete() const {
        return std::all_of(jobs_.begin(), jobs_.end(), [](const Watched& job) {
            return !job.launcher || job.launcher->count() > 1;
        });
    }
    bool all_over() const {
        return std::all_of(jobs_.begin(), jobs_.end(),
                           [](const Watched& job) { return job.execution.over(); });
    }

    std::vector<json> documents() const {
        std::vector<json> documents;
        for (const Watched& job : jobs_) {
            const std::string& trouble = job.launcher ? job.launcher->trouble() : job.trouble;
            documents.push_back(top_document(job.row, job.execution, job.events,
                                             job.launcher ? job.launcher->last() : json(),
                                             stale_.empty() ? trouble : stale_, sys::wall_clock()));
        }
        return documents;
    }

    int show() {
        const auto all = documents();
        if (screen_) return screen_->show(all) ? kOk : kFailed;
        if (all.empty()) {
            note("no job is queued or running");
            if (session_.output.empty() && session_.query.empty()) return kOk;
        }
        const json document{{"time", sys::wall_clock()}, {"jobs", all}};
        if (session_.wants_json() && !session_.output.empty()) {
            std::cout << sys::printable_lines(json_text(document)) << std::endl;
        } else if (session_.query.empty() && (session_.output.empty() || session_.wants_table())) {
            for (const std::string& line : top_lines(all, terminal_width(STDOUT_FILENO), 0))
                std::cout << line << '\n';
            if (!once_) std::cout << '\n';
            std::cout << std::flush;
        } else {
            return session_.print(document);
        }
        return std::cout ? kOk : fail(kFailed, "standard output: cannot be written");
    }

    // Until a launcher says something, a key is pressed, or that time. True: the user has left.
    bool wait(steady_clock::time_point until) {
        std::vector<pollfd> waits;
        if (screen_) waits = {{screen_->fd(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        for (const Watched& job : jobs_)
            if (job.launcher) waits.push_back({job.launcher->fd(), POLLIN, 0});
        const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
        ::poll(waits.data(), waits.size(), static_cast<int>(std::max<long>(left, 0)));
        for (Watched& job : jobs_) {
            if (!job.launcher || job.launcher->read()) continue;
            job.trouble = job.launcher->trouble();
            if (job.trouble.empty() && job.launcher->count() == 0) job.trouble = kRefused;
            job.launcher.reset();
            asked_ = steady_clock::now() - kAskSlurm + kRepaint;  // the job may have ended
        }
        const bool hung_up =
            screen_ && (waits[1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;  // no terminal
        return hung_up || (screen_ && screen_->is_left());
    }

    // The last view stays on the user's own screen.
    int end(int code) {
        if (!screen_) return code;
        screen_.reset();
        return code == kOk ? show() : code;
    }

    const Session& session_;
    Store store_;
    const JobName name_;  // an empty one: all jobs
    const bool once_;
    std::optional<Screen> screen_;
    std::vector<Watched> jobs_;
    steady_clock::time_point asked_{};
    std::string stale_;  // why the last ask() failed; empty: it did not
};

struct TopArgs {
    JobName name;
    bool once = false;
};

}  // namespace

int watch_jobs(const Session& session, const JobName& name, bool once) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    return Watch(session, *std::move(store), name, once).run();
}

void add_top(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "top", "what your running jobs do, rank by rank",
                              "batchai top -n train");
    const auto args = std::make_shared<TopArgs>();
    add_job_name(*verb, args->name);
    verb->get_option("--name")->required(false);
    verb->add_flag("--once", args->once, "print it once, and end");
    set_action(*verb, session, args, [](const Session& own, const TopArgs& given) {
        return watch_jobs(own, given.name, given.once);
    });
}

}  // namespace batchai::cli
