// Tests of the host as a device: threads, instruction sets, memory, foreign artifacts.
#include "backends/cpu/device.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/backend.h"
#include "base/thread_pool.h"

namespace quern::cpu {
namespace {

TEST(CpuDevice, DefaultsAreTheMachine) {
  const auto device = make_device({});
  ASSERT_TRUE(device) << device.error().message;
  const Capabilities& caps = (*device)->capabilities();
  EXPECT_EQ(caps.num_threads, available_cpus());
  EXPECT_EQ(caps.arch, available_isas().back());
  EXPECT_EQ(caps.correctness, CorrectnessClass::kBitExact);
  EXPECT_TRUE(caps.has_f64);
  EXPECT_TRUE(caps.keeps_denormals);
  EXPECT_FALSE(caps.is_fma_fused);
  EXPECT_EQ((*device)->description().name, "cpu");
  EXPECT_GT((*device)->capacity().total_bytes, 0);
  EXPECT_EQ(probe_capabilities().arch, caps.arch);
}

// The list is in rising order: wider vectors never come before narrower ones.
TEST(CpuDevice, EveryInstructionSetOfTheMachineOpens) {
  const auto isas = available_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), "scalar");
  int widest = 0;
  for (const std::string_view isa : isas) {
    const auto device = make_device({.num_threads = 1, .isa = std::string(isa)});
    ASSERT_TRUE(device) << isa;
    EXPECT_EQ((*device)->capabilities().arch, isa);
    EXPECT_GE((*device)->capabilities().max_vector_bits, widest) << isa;
    widest = (*device)->capabilities().max_vector_bits;
  }
}

// Names are exact: "AVX2" is not "avx2".
TEST(CpuDevice, WhatTheMachineDoesNotHaveIsRefused) {
  for (const std::string_view isa : {"sse2", "avx2", "avx-vnni", "avx512", "avx512-vnni",
                                     "avx512-bf16", "neon", "neon-dotprod", "neon-i8mm"}) {
    const bool has_it = std::ranges::count(available_isas(), isa) > 0;
    const auto device = make_device({.num_threads = 1, .isa = std::string(isa)});
    EXPECT_EQ(device.has_value(), has_it) << isa;
  }
  const auto unknown = make_device({.num_threads = 1, .isa = "AVX2"});
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().message.starts_with(
      "There is no instruction set 'AVX2'; this machine can use scalar"))
      << unknown.error().message;
}

// One above kMaxThreads and one below 0; 0 itself means "all of the machine".
TEST(CpuDevice, ThreadCountsAreBounded) {
  EXPECT_EQ(make_device({.num_threads = 1025}).error().message,
            "1025 threads are asked for; the limit is 1024.");
  EXPECT_EQ(make_device({.num_threads = -1}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(make_device({.num_threads = 5}).value()->capabilities().num_threads, 5);
  EXPECT_EQ(make_device({.num_threads = 1}).value()->description().description.find("threads"),
            std::string::npos);
}

TEST(CpuDevice, AllocatesHostMemory) {
  const auto device = make_device({.num_threads = 1}).value();
  EXPECT_EQ(device->allocate(100)->size_bytes(), 100);
  EXPECT_FALSE(device->allocate(-1));
}

// An artifact of another backend must not be cast to one of ours.
TEST(CpuDevice, ForeignArtifactsAreRefused) {
  struct Foreign final : Artifact {
    const Graph& graph() const { return own; }
    Graph own;
  };
  const auto device = make_device({.num_threads = 1}).value();
  EXPECT_EQ(device->load(Foreign(), nullptr, {}).error().message,
            "The artifact was not compiled by the backend cpu.");
  EXPECT_FALSE(make_cpu_backend()->validate(Foreign()));
}

}  // namespace
}  // namespace quern::cpu
