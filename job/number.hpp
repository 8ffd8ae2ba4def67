// SPDX-License-Identifier: Apache-2.0
//
// The number by which Slurm knows a job. A task of a job array and a component of a heterogeneous
// job have two: a number of their own, and that of the whole with an index. The last task of an
// array and the first component have the number of the whole as their own. So a command of Slurm
// that gets this number acts on the whole, and one that gets text() acts on this job alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace batchai::job {

class Number {
  public:
    enum class Kind { none, job, task, component };

    Number() = default;  // none: a local job, or one that is not submitted yet
    static Number of_job(std::int64_t number);
    // own: 0 if it is unknown, because Slurm gives a task of an array its own number at its start.
    static Number of_task(std::int64_t array, std::int64_t index, std::int64_t own = 0);
    static Number of_component(std::int64_t first, std::int64_t index, std::int64_t own = 0);

    Kind kind() const { return kind_; }
    bool is_task() const { return kind_ == Kind::task; }
    bool is_component() const { return kind_ == Kind::component; }
    explicit operator bool() const { return kind_ != Kind::none; }

    std::int64_t own() const { return own_; }      // as SLURM_JOB_ID of a task; 0: unknown
    std::int64_t whole() const { return whole_; }  // of the array or heterogeneous job, else own()
    std::int64_t index() const { return index_; }  // of the task or component

    // "26", "26_3", "27+1", in the form that Slurm's commands take and print; empty: no number.
    std::string text() const;
    // The number of the whole, in the same form.
    std::string whole_text() const { return of_job(whole_).text(); }
    std::string own_text() const { return of_job(own_).text(); }

    bool operator==(const Number&) const = default;

  private:
    Kind kind_ = Kind::none;
    std::int64_t own_ = 0;
    std::int64_t whole_ = 0;
    std::int64_t index_ = 0;
};

// Parses what text() prints. Nothing: not a number of a job.
std::optional<Number> parse_number(std::string_view text);
// Parses the index of a task or component.
std::optional<std::int64_t> parse_index(std::string_view text);

}  // namespace batchai::job
