#include "generate/prompt_cache.h"

#include <algorithm>

#include "generate/sequence_file.h"

namespace quern {

// The file is read even where nothing of it fits: its rows are dropped then.
Result<CachedPrompt> open_prompt_cache(Engine& engine, const std::string& path,
                                       std::span<const int32_t> prompt) {
  CachedPrompt cached;
  const auto loaded = path.empty() ? Result<LoadedSequence>() : load_sequence(engine, path);
  if (path.empty() || (!loaded && loaded.error().code == ErrorCode::kNotFound)) {
    QUERN_ASSIGN_OR_RETURN(cached.sequence, engine.kv().create_sequence());
    return cached;
  }
  if (!loaded) return tl::unexpected(loaded.error());
  const auto length = static_cast<int64_t>(loaded->tokens.size());
  // -1 for an empty prompt, which reuses nothing.
  const auto usable = static_cast<int64_t>(prompt.size()) - 1;
  while (cached.num_reused < std::min(length, usable) &&
         loaded->tokens[static_cast<size_t>(cached.num_reused)] ==
             prompt[static_cast<size_t>(cached.num_reused)]) {
    ++cached.num_reused;
  }
  cached.sequence = loaded->sequence;
  // To the end of the sequence: possible with every model.
  QUERN_TRY(engine.evict(cached.sequence, cached.num_reused, length - cached.num_reused));
  return cached;
}

}  // namespace quern
