// Sequences of the key-value cache in files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "generate/engine.h"

namespace quern {

// Names what cached rows belong to: the model's graph (operations, attributes, cache types), its
// weights and those of its adapters (names, types, shapes, and bytes sampled from each), and the
// numerics. Device, instruction set and threads are left out: they do not change a bit.
uint64_t model_fingerprint(const Engine& engine);

// Writes the sequence with the tokens it stands for. The file replaces an older one only when it
// is whole. Errors: kInvalidArgument when the token count is not the sequence's length.
Result<void> save_sequence(Engine& engine, int32_t sequence, std::span<const int32_t> tokens,
                           const std::string& path);

// What load_sequence() made: the engine owns the sequence, the caller keeps its id.
struct LoadedSequence {
  // Of the engine's store.
  int32_t sequence = 0;
  std::vector<int32_t> tokens;
};

// A new sequence with the rows of the file. Errors: kNotFound (no file), kDataLoss (damaged),
// kInvalidArgument (made by another model or with other settings), kOutOfRange (longer than the
// context).
Result<LoadedSequence> load_sequence(Engine& engine, const std::string& path);

}  // namespace quern
