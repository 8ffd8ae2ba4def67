// SPDX-License-Identifier: Apache-2.0
//
// CudaDevice's many copies in one order beside as many copies of CUDA's: of all alignments and
// lengths, zero bytes included, 1 to 128 of them; and nothing beside them changes.
#include <cstring>
#include <random>

#include "collectives/device/cuda.hpp"
#include "harness.hpp"
#include "memory.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;

namespace {

// Bytes at a place of the memory that is read, and, where they go, of the one that is written.
struct Piece {
    std::size_t from, to, bytes;
};

class Copier {
  public:
    static constexpr std::size_t kMemory = std::size_t{32} << 20;

    Copier()
        : device_(value_of(CudaDevice::create(0))),
          from_(value_of(device_->allocate(kMemory))),
          to_(value_of(device_->allocate(kMemory))),
          wanted_(value_of(device_->allocate(kMemory))),
          host_(value_of(device_->allocate_pinned(2 * kMemory))),
          stream_(value_of(device_->make_stream())),
          end_(value_of(device_->make_event())) {
        std::mt19937_64 random(kMemory);
        for (std::size_t at = 0; at < kMemory; at += sizeof(std::uint64_t)) {
            const std::uint64_t bits = random();
            std::memcpy(host_ + at, &bits, sizeof bits);
        }
        value_of(device_->copy(from_, host_, kMemory, stream_));
        // What is written over.
        value_of(device_->copy(to_, from_ + kMemory / 2, kMemory / 2, stream_));
        value_of(device_->copy(wanted_, from_ + kMemory / 2, kMemory / 2, stream_));
        wait();
    }

    // The pieces do not overlap where they go, which is within the first half.
    void compare(const std::vector<Piece>& pieces, const std::string& what) {
        Device::Copies copies;
        std::size_t end = 0;
        for (const Piece& piece : pieces) {
            copies.add(to_ + piece.to, from_ + piece.from, piece.bytes);
            value_of(device_->copy(wanted_ + piece.to, from_ + piece.from, piece.bytes, stream_));
            end = std::max(end, piece.to + piece.bytes);
        }
        value_of(device_->copy_all(copies, stream_));
        const std::size_t looked_at = std::min(end + 4096, kMemory / 2);
        value_of(device_->copy(host_, to_, looked_at, stream_));
        value_of(device_->copy(host_ + kMemory, wanted_, looked_at, stream_));
        wait();
        for (std::size_t at = 0; at < looked_at; ++at) {
            if (host_[at] == host_[kMemory + at]) continue;
            throw std::runtime_error(what + ": byte " + std::to_string(at) + " is wrong");
        }
    }

  private:
    void wait() {
        value_of(device_->record(end_, stream_));
        while (!value_of(device_->query(end_))) {
        }
    }

    std::shared_ptr<Device> device_;
    std::byte *from_, *to_, *wanted_, *host_;
    Device::Stream stream_;
    Device::Event end_;
};

// As many copies as one order takes, of all pairs of places and these lengths.
void try_alignments(Copier& copier, const std::vector<std::size_t>& places,
                    const std::vector<std::size_t>& lengths) {
    constexpr std::size_t kSlot = 2048;
    std::vector<Piece> pieces;
    const auto flush = [&] {
        copier.compare(pieces, "alignments");
        pieces.clear();
    };
    for (const std::size_t from : places) {
        for (const std::size_t to : places) {
            for (const std::size_t bytes : lengths) {
                const std::size_t slot = pieces.size() * kSlot;
                pieces.push_back({slot + from, slot + to, bytes});
                if (pieces.size() == Device::Copies::kMost) flush();
            }
        }
    }
    flush();  // what is left, or none
}

// So many copies, of random lengths up to `longest` at random places; one of 7 has no bytes.
void try_random(Copier& copier, std::size_t count, std::size_t longest, std::mt19937& random) {
    std::vector<Piece> pieces;
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t bytes = random() % 7 == 0 ? 0 : random() % (longest + 1);
        at += random() % 40;
        pieces.push_back({random() % (Copier::kMemory - longest), at, bytes});
        at += bytes;
    }
    copier.compare(
        pieces, std::to_string(count) + " copies of up to " + std::to_string(longest) + " bytes");
}

const Registered kCopies{
    "copies", true, [] {
        run_ranks({1}, [](int, Board&) {
            Copier copier;
            std::mt19937 random(1);
            if (machine().brief) {
                try_alignments(copier, {0, 1, 2, 4, 8}, {0, 1, 17, 1001});
                for (const std::size_t count : {1, 2, 128}) try_random(copier, count, 999, random);
                try_random(copier, 3, 300'000, random);
                return;
            }
            std::vector<std::size_t> places(17);
            std::iota(places.begin(), places.end(), 0);
            try_alignments(copier, places, {0, 1, 2, 3, 15, 16, 17, 64, 1001});
            for (std::size_t count = 0; count <= Device::Copies::kMost; ++count) {
                try_random(copier, count, 999, random);
                try_random(copier, count, 100'000, random);
            }
            // One that is much longer than the others, of each kind of word.
            for (const std::size_t place : {0, 1, 2, 4}) {
                constexpr std::size_t kLong = (std::size_t{5} << 20) + 13;
                copier.compare({{place, place, kLong}}, "a long one");
                copier.compare({{7, 0, 5}, {place, 64 + place, kLong}, {3, kLong + 100, 1000}},
                               "a long one and others");
                copier.compare({{place, 0, kLong}, {0, kLong + 3, kLong}}, "two long ones");
            }
        });
    }};

}  // namespace
