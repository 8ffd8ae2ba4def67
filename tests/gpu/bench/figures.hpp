// SPDX-License-Identifier: Apache-2.0
//
// Figures: what the bench measures, row by row, in memory that its processes share; and the table
// and the JSON that come of it. What was not measured says so.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace batchai::coll::gpu {

struct Row {
    std::string what;
    std::size_t bytes;
    const char* unit;  // "GB/s": more is better; "ms": less is; "x" and "%": neither has a bound
    double goal = 0;   // of the part of the bound that is reached; 0: none
    const char* note = "";  // what the bound is
};

class Figures {
  public:
    explicit Figures(std::vector<Row> rows);
    Figures(const Figures&) = delete;
    Figures& operator=(const Figures&) = delete;
    ~Figures();

    // By any process. bound: in the same unit; 0: none. Throws where there is no such row.
    void set(const std::string& what, std::size_t bytes, double value, double bound = 0);
    // Throws where it was not measured.
    double get(const std::string& what, std::size_t bytes) const;

    std::string table() const;
    std::string json() const;
    // Whether every row has been measured.
    bool complete() const;

  private:
    struct Figure {
        bool measured;
        double value, bound;
    };
    Figure& figure(const std::string& what, std::size_t bytes) const;
    double reached(std::size_t row) const;

    std::vector<Row> rows_;
    Figure* figures_;
};

}  // namespace batchai::coll::gpu
