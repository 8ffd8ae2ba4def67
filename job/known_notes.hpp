// SPDX-License-Identifier: Apache-2.0
//
// Notes about job files that a user has read already. A note is the same at each submission, so a
// submission prints it once. `batchai job check` prints all of them, and does not call this.
#pragma once

#include <vector>

#include "job/spec.hpp"

namespace batchai::job {

// Removes the notes that an earlier call has left, and remembers those that it leaves, in <data
// directory>/notes. If that file cannot be read or written, a note is printed again: there is no
// error. Call as the user, just before the findings are printed.
void leave_out_known_notes(std::vector<Finding>&);

}  // namespace batchai::job
