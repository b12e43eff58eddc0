// Remembers which models passed the parity gate, so that the next load need not prove it again.
#pragma once

#include <string>

#include "generate/parity_gate.h"

namespace quern {

// The file whose presence says that this very device passed with this very model. Its name is made
// of everything that the result hangs on: the program and the machine (GateSubject::program_stamp),
// the stamp of the model's files, the graph, the device, its instruction set and threads, numerics,
// passes, and the state of the files of packed weights. Empty, so that the gate runs, where there
// is no cache folder, or program or model have no stamp.
std::string passed_path(const GateSubject& subject);

// Whether the file is there and holds what remember_pass() wrote.
bool has_passed(const std::string& path);

// Writes the file, whose folder exists or is made. A file that cannot be written costs time later
// and nothing else; an empty path does nothing.
void remember_pass(const std::string& path);

}  // namespace quern
