// The merge loop of BPE: joins neighbours, earliest merge first, leftmost first among equals.
// A heap over a linked list keeps it at O(n log n), whatever the text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "text/merge_table.h"

namespace quern {

// A piece of the text. Symbols are kept in text order; one that was joined into its left neighbour
// has size 0.
struct Symbol {
  int32_t id;      // of the vocabulary or of a merge; -1 when unknown
  uint32_t begin;  // byte offset in the text
  uint32_t size;   // bytes
  // Indices of the neighbours that are left; none at an end.
  int32_t previous;
  int32_t next;  // -1 at the ends
};

// Buffers of one encoding, reused from word to word. One thread only.
struct MergeScratch {
  // A pair that may merge, as it was when it was found; it is stale once one of its symbols
  // changed.
  struct Candidate {
    uint64_t key;   // priority, then the index of the left symbol
    uint32_t size;  // bytes of both symbols when the candidate was found
    // What the two become.
    int32_t merged;
    bool operator<(const Candidate& other) const { return key > other.key; }  // the least on top
  };
  // Of one word, kept between calls so that encoding allocates nothing.
  std::vector<Symbol> symbols;
  // Candidates with the best in front: lowest priority number, then leftmost.
  std::vector<Candidate> heap;

  // Appends a symbol behind the last one.
  void push(int32_t id, uint32_t size) {
    const auto index = static_cast<int32_t>(symbols.size());
    const uint32_t begin = index == 0 ? 0 : symbols.back().begin + symbols.back().size;
    if (index > 0) symbols.back().next = index;
    symbols.push_back({id, begin, size, index - 1, -1});
  }
};

// `find(left, right)` returns a pointer to the Merge of two neighbouring symbols, or null; it is
// called with `const Symbol&` and the pointer is used at once.
template <class Find>
void merge_symbols(MergeScratch& scratch, const Find& find) {
  std::vector<Symbol>& symbols = scratch.symbols;
  std::vector<MergeScratch::Candidate>& heap = scratch.heap;
  const auto candidate = [&](int32_t left, int32_t right, auto&& use) {
    if (left < 0 || right < 0) return;
    const Symbol& a = symbols[static_cast<size_t>(left)];
    const Symbol& b = symbols[static_cast<size_t>(right)];
    if (const Merge* merge = find(a, b)) {
      // One comparison orders by priority and then by place: indices follow the order of the text.
      const uint64_t key = uint64_t{merge->priority} << 32 | static_cast<uint32_t>(left);
      use(MergeScratch::Candidate{key, a.size + b.size, merge->merged});
    }
  };
  heap.clear();
  for (int32_t i = 1; i < static_cast<int32_t>(symbols.size()); ++i) {
    candidate(i - 1, i, [&](const auto& c) { heap.push_back(c); });
  }
  std::make_heap(heap.begin(), heap.end());
  const auto push = [&](const MergeScratch::Candidate& c) {
    heap.push_back(c);
    std::push_heap(heap.begin(), heap.end());
  };
  while (!heap.empty()) {
    const MergeScratch::Candidate best = heap.front();
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    const auto left = static_cast<int32_t>(best.key & 0xFFFFFFFF);
    Symbol& a = symbols[static_cast<size_t>(left)];
    // Stale: the left symbol was joined into another, or has lost its neighbour to the end.
    if (a.size == 0 || a.next < 0) continue;
    Symbol& b = symbols[static_cast<size_t>(a.next)];
    // Symbols only grow, so equal total sizes mean the pair that was found.
    if (a.size + b.size != best.size) continue;
    a.id = best.merged;
    a.size = best.size;
    // b stays in the list of symbols, unlinked, so that indices of other candidates stay right.
    b.size = 0;
    a.next = b.next;
    if (a.next >= 0) symbols[static_cast<size_t>(a.next)].previous = left;
    candidate(a.previous, left, push);
    candidate(left, a.next, push);
  }
}

}  // namespace quern
