// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/identity.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace batchai::coll {
namespace {

struct Place {
    int rank = 0;
    int size = 0;

    bool operator==(const Place&) const = default;
};

std::optional<int> number_in(const std::string& text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

// nullopt: the variables are not set, or are something else than a rank and a size.
std::optional<Place> place_in(const Variables& variable, const char* rank, const char* size) {
    const auto own = number_in(variable(rank)), all = number_in(variable(size));
    if (!own || !all || *own >= *all) return std::nullopt;
    return Place{*own, *all};
}

struct Launcher {
    const char* name;
    const char* rank;  // the variables that it sets
    const char* size;
    // Without this one, batchai-launch leaves the others as they are. A user may have removed it so
    // that programs do not use Slurm.
    const char* job;
};
constexpr Launcher kOthers[] = {
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID"},
    {"mpiexec", "PMI_RANK", "PMI_SIZE", "PMI_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"}};

std::optional<Place> place_by(const Launcher& launcher, const Variables& variable) {
    if (variable(launcher.job).empty()) return std::nullopt;
    return place_in(variable, launcher.rank, launcher.size);
}

// batchai-launch also sets the variables of the others. Only Horovod's are left alone by all of
// them, so they tell whether a number is still batchai-launch's.
std::optional<Place> place_of_batchai(const Variables& variable) {
    return place_in(variable, "HOROVOD_RANK", "HOROVOD_SIZE");
}

// The launcher whose PMIx server this process belongs to.
struct Known {
    std::string name;
    std::optional<Place> place;
};

Known known_by(const Variables& variable) {
    const std::string job = variable("PMIX_NAMESPACE");
    if (job.starts_with(kNamespaceOfBatchai)) return {"batchai-launch", place_of_batchai(variable)};
    if (job.starts_with("slurm.")) {
        return {"srun", place_in(variable, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")};
    }
    return {"the PMIx launcher",
            place_in(variable, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")};
}

sys::Error two_launchers(const std::string& name, const Place& other, const Known& known,
                         const Variables& variable) {
    const std::string rank = known.place
                                 ? fmt::format("{} of {}", known.place->rank, known.place->size)
                                 : variable("PMIX_RANK");
    return sys::Error{
        fmt::format("{} made this process {} of {}; {} knows rank {}: use one of them", name,
                    other.rank, other.size, known.name, rank)};
}

}  // namespace

sys::Result<void> check_identity(const Variables& variable) {
    const auto of_batchai = place_of_batchai(variable);
    const auto torch = place_in(variable, "RANK", "WORLD_SIZE");
    const bool is_torchrun = !variable("TORCHELASTIC_RUN_ID").empty();
    const std::string torch_name =
        is_torchrun ? "torchrun" : "another launcher (which set RANK and WORLD_SIZE)";
    const bool is_others = torch && torch->size > 1 && (is_torchrun || torch != of_batchai);
    const std::string job = variable("PMIX_NAMESPACE");
    if (job.empty()) {
        if (!is_others) return {};
        return sys::Error{fmt::format(
            "{} made this process {} of {}; without batchai-launch it is rank 0 of 1: start the "
            "program with batchai-launch alone",
            torch_name, torch->rank, torch->size)};
    }
    const Known known = known_by(variable);
    if (is_others) {
        // A torchrun with one process in each rank does not matter.
        const int local = is_torchrun ? number_in(variable("LOCAL_WORLD_SIZE")).value_or(1) : 1;
        if (local > 1 || (known.place && torch->size > known.place->size)) {
            return two_launchers(torch_name, *torch, known, variable);
        }
    }
    // For ranks of other launchers these variables may describe the launcher's own daemons.
    if (known.name != "batchai-launch" || !known.place) return {};
    for (const Launcher& launcher : kOthers) {
        const auto other = place_by(launcher, variable);
        if (!other || other->size == 1 || other == known.place) continue;
        return two_launchers(launcher.name, *other, known, variable);
    }
    return {};
}

std::string remark_of_lone_process(const Variables& variable) {
    const auto of_batchai = place_of_batchai(variable);
    for (const Launcher& launcher : kOthers) {
        const auto place = place_by(launcher, variable);
        if (!place || place->size == 1 || place->rank != 0 || place == of_batchai) continue;
        return fmt::format(
            "{} started {} processes, and each of them is a job of its own, rank 0 of 1. If they "
            "are to be one job, start them with batchai-launch, or with srun --mpi=pmix",
            launcher.name, place->size);
    }
    return {};
}

}  // namespace batchai::coll
