// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/regions.hpp"

#include <algorithm>

namespace batchai::coll {

void Regions::add(std::vector<Segment> parts) {
    regions_.push_back({++last_, std::move(parts)});
}

void Regions::remove(std::uint32_t number) {
    std::erase_if(regions_, [&](const Region& region) { return region.number == number; });
}

std::uint32_t Regions::number_of(const void* memory) const {
    for (const Region& region : regions_) {
        if (region.parts[local_rank_].data() == memory) return region.number;
    }
    return 0;
}

Regions::Location Regions::find(const void* data, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    for (const Region& region : regions_) {
        const Segment& own = region.parts[local_rank_];
        // An address below the region's start wraps to an offset far beyond its end.
        const std::uint64_t offset = begin - reinterpret_cast<std::uintptr_t>(own.data());
        if (offset <= own.size() && bytes <= own.size() - offset) return {region.number, offset};
    }
    return {};
}

std::byte* Regions::at(int local_rank, Location location) const {
    const auto found = std::find_if(regions_.begin(), regions_.end(), [&](const Region& region) {
        return region.number == location.region;
    });
    return found == regions_.end() ? nullptr : found->parts[local_rank].data() + location.offset;
}

}  // namespace batchai::coll
