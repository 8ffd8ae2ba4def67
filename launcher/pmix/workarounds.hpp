// SPDX-License-Identifier: Apache-2.0
//
// Workarounds for libpmix, in one place. Each exists only because the library does not do something
// itself. Releases 4.2.2 to 6.1.0 were read, 4.2.2 and 5.0.7 also run; "all" means these. Numbers
// are of github.com/openpmix/openpmix.
//
//   workaround             | needed by      | upstream report    | it goes when
//   -----------------------+----------------+--------------------+--------------------------------
//   accept()               | all            | 4259 (no release)  | the oldest release has 4259
//   connections_of()       | all            | none found         | a host can refuse a client
//   groups: time limit     | all            | 2874 (in 4.2.3)    | the host alone has the limit
//   groups: GROUP_INFO     | all            | none found         | the library checks its type
//   groups: wildcard       | 4.2            | none found         | 4.2 is no longer supported
//   groups: newer clients  | 4.2            | none found         | 4.2 is no longer supported
//   Groups                 | all            | 3946 (no release)  | the oldest release has 3946
//   LastWords              | all            | none: by design    | never: the library has a thread
//   StandIns               | all            | 3931, 4113         | a host can end a rank's counting
//   Server does not end    | 4.2.2 to 5.0.6 | none found         | 5.0.6 is no longer supported
//   the library (server.hpp)
//   on_group (fence.cpp)   | 5.0            | none found         | 5.0 is no longer supported
//
// 4124, which closes 4113, says that a rank that has left PMIx and ended keeps its peers waiting on
// purpose. 2874 has ended the crash, but not the two meanings of a limit (see below).
#pragma once

#include <pmix.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/message.hpp"
#include "launcher/common/processes.hpp"

namespace batchai::launcher::pmix {

// ---- connections (connections.cpp) --------------------------------------------------------------
//
// A guard before the port of the PMIx server. The library reads a new connection's first message in
// its only progress thread, and waits for it. So a process of any user that connects and sends
// nothing would stop all PMIx calls of the node's ranks. The library has no Unix socket and no
// check before that read.
//
// Therefore this program defines accept(2). The dynamic linker binds libpmix's calls to this
// definition. It closes a connection at once unless a process of this user holds the other end.
// Only libpmix calls accept() in this program: our code and libuv call accept4().
//
// It remembers the accepted connections, so that the agent can find out whether the library has
// read everything that an ended rank had sent. In the same way this program defines read(2), which
// passes their bytes through ClientMessages, recv(2), by which libpmix reads the first message of a
// connection, and writev(2), by which it answers. All functions are thread-safe.

// Whether libraries' calls of accept(), read(), recv() and writev() arrive here. False if the
// program's linker did not export the definitions.
bool accept_is_guarded();

// Connections that the client has closed and the library has not, by the kernel's number of the
// socket (SO_COOKIE). The library closes one when it has read all of it and made its upcalls.
std::vector<std::uint64_t> unheard_connections();

// The connection whose first message this thread has read last is the rank's. Call it in the upcall
// about a connected client, which the library makes in the same function.
void name_connection(std::uint32_t rank);

// The clients' ends of the rank's open connections.
std::vector<OpenSocket> connections_of(std::uint32_t rank);

// ---- requests for groups (group_guard.cpp) ------------------------------------------------------
//
// The library's code for groups reads a rank's request before it calls its host (the agent). Some
// requests crash the agent there, or get a false success:
//
// - PMIX_TIMEOUT: in 4.2.2 the timer uses the group as if it were a request, and crashes. Later
//   versions leave the limit to the host unless all members are local: it would have two meanings.
// - PMIX_GROUP_INFO that is not an array of infos: 4.2 to 6.1 follow it as a pointer.
// - Members by PMIX_RANK_WILDCARD, with no context id: 4.2 takes a group over several nodes for a
//   local one, and makes it before the other nodes have asked.
//
// A rank that asks for one of these gets PMIX_ERR_NOT_SUPPORTED, as srun's PMIx answers each
// request for a group. The library gives this answer to an unknown command, so the guard replaces
// the request's command by an unknown one.
//
// It also tells the host about each rank that asks to make or end a group. The library tells the
// host only when the node's last member has asked.
//
// A client of PMIx 5 or 6 (Open MPI 5) expects another answer about a new group than PMIx 4 gives,
// and names the members when it ends the group. The guard translates both for the library of PMIx
// 4. A library of PMIx 5 and a client of PMIx 4 do not understand each other.

// Asks the library which numbers the commands for groups have: PMIx_Data_print() gives a command's
// name. Call it once, after the library has started and before a rank connects. If the library does
// not name them, the agent refuses all groups (PMIX_ERR_NOT_SUPPORTED).
void find_group_commands();
bool groups_are_guarded();

// Parses what the library reads from one client: messages of a header and a body. Their form is the
// same from PMIx 4.2 to 6.1; clients and servers of different versions may be mixed.
class ClientMessages {
  public:
    // Call it with bytes of the first message, which names the client's version.
    void on_greeting(const char* bytes, std::size_t size);
    // Call it with bytes that the library has read into its memory, on the library's thread. It may
    // use libpmix to unpack them.
    void on_read(char* bytes, std::size_t size);
    // The message to send instead of the library's; empty: the client can read the library's.
    std::string instead_of(std::string_view header, std::string_view body);

  private:
    int client() const;  // the client's major version; 0: not known

    std::string greeting_;
    // The members of the groups about which the library's answer is to be translated, by its tag.
    std::map<std::uint32_t, std::vector<pmix_proc_t>> awaited_;
    // pindex, tag, size: 32 bits each in network order, padded to a size_t's alignment.
    std::array<char, sizeof(std::size_t) == 8 ? 16 : 12> header_;
    std::size_t header_size_ = 0;
    char* body_ = nullptr;  // in the library's memory, while the body arrives
    std::size_t body_size_ = 0, body_read_ = 0;
};

// ---- ranks that have ended (ended_ranks.cpp) ----------------------------------------------------

// The PMIx groups of a node's ranks that some members have asked to make or to end, while others
// have not yet. The library tells its host only when all have asked. Without this class, a member
// that ends before that leaves the others waiting for ever.
//
// It counts requests in the same way as the library (4.2). The library knows a group by its name
// alone and does not check the caller. So a request of another rank, or for other members under the
// same name, counts as a member's.
class Groups {
  public:
    // One more rank asks to make the group of these members; without members, to end the group.
    // Returns a member on this node that has ended; -1: none.
    int asked(const std::string& name, const RankSet& members, const std::vector<int>& ranks_here);
    // A rank of the node has ended.
    void end(int rank) { ended_.insert(rank); }
    // Whether ranks of an unfinished group wait for this rank.
    bool any_needs(int rank) const;

  private:
    struct Group {
        RankSet members;
        std::ptrdiff_t asked = 0;  // ranks that wait; 0: no request is pending
    };
    std::map<std::string, Group> groups_;  // by name
    std::set<int> ended_;
};

// Delays the judgement of a rank's end until the library has read everything that the rank had
// sent. Only then the agent knows whether the rank has left PMIx: PMIx_Finalize may still be in a
// socket, or in the queue of the event loop.
//
// PMI-1 does not need this class, because the agent reads that socket itself.
class LastWords {
  public:
    class Host {
      public:
        virtual std::vector<std::uint64_t> unheard() const = 0;  // unheard_connections()
        // Handles the library's requests. The end is not judged yet, so the node is not done before
        // the root knows the end.
        virtual void hear() = 0;
        virtual void judge(RankEnd end) = 0;

      protected:
        ~Host() = default;
    };
    LastWords(Loop& loop, Host& host);

    // Judges the ends in order; at once if no connection has unread data.
    void add(RankEnd end);
    bool empty() const { return waiting_.empty(); }

  private:
    struct Waiting {
        RankEnd end;
        std::vector<std::uint64_t> unheard;  // when the rank ended; any of them may be the rank's
        std::chrono::steady_clock::time_point deadline;
    };
    void judge_heard();

    Host& host_;
    std::list<Waiting> waiting_;
    Timer again_;
};

// Takes ranks that have left PMIx and ended out of the library's count of a node's processes, so
// that no fence of the node waits for them.
//
// After PMIx_Finalize the library still counts a rank, because the rank's next program may call
// PMIx_Init. No call of a host removes the rank. The library removes a process when its connection
// is lost. So a stand-in (`batchai-launch --stand-in`) connects as the rank and exits without
// leaving PMIx. It runs only if other ranks of the node still use PMIx half a second later, because
// usually all leave together. Then the library can forget the rank.
//
// At most kMost stand-ins run at once. A stand-in that exceeds its limit is killed, which ends its
// connection too. A stand-in that fails is started again, at most twice.
class StandIns {
  public:
    static constexpr int kMost = 8;
    static constexpr std::chrono::seconds kLimit{10};

    class Host {
      public:
        // A rank of the node and of this rank's job uses PMIx.
        virtual bool any_joined(int rank) const = 0;
        virtual pid_t start_stand_in(int rank) = 0;  // 0: it cannot be started
        virtual void kill_stand_in(pid_t pid) = 0;
        virtual std::vector<std::uint64_t> unheard() const = 0;  // unheard_connections()
        virtual void forget(int rank) = 0;

      protected:
        ~Host() = default;
    };
    StandIns(Loop& loop, Host& host, std::chrono::milliseconds limit = kLimit);

    // The rank's process has ended, and the rank has left PMIx (after using it, not only PMI-1).
    void add(int rank);
    // A child of the agent has ended. failed: its exit code is not 0.
    void reap(pid_t pid, bool failed);
    // Whether a client that connects as the rank is the rank's stand-in.
    bool stands_for(int rank) const { return states_.contains(rank); }
    // Starts no more stand-ins.
    void stop() { again_.stop(); }

  private:
    enum class State { waiting, running, ended, forgotten };
    struct StandIn {
        State state = State::waiting;
        pid_t pid = 0;
        int failures = 0;
        std::chrono::steady_clock::time_point deadline;
    };
    void look();
    void start(int rank, StandIn& one);

    Host& host_;
    const std::chrono::milliseconds limit_;
    std::map<int, StandIn> states_;  // by rank
    Timer again_;
};

// `batchai-launch --stand-in`: connects with the environment of a rank, and exits.
int stand_in_main();

}  // namespace batchai::launcher::pmix
