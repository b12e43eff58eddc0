# quern_add_layer(NAME SOURCES ... [DEPS ...] [PRIVATE_LIBS ...]): the static library of one folder.
# quern_add_test(NAME [LABELS ...] [LIBS ...] [SOURCES ...]): one GoogleTest program.
# A layer may depend only on layers that come before it in QUERN_LAYERS; configuring fails otherwise.

set(QUERN_LAYERS base hw tensor ir ops tile passes codegen kernels runtime
    backends_reference backends_cpu_kernels backends_cpu backends_null backends conformance
    formats text models train generate serve cli)

string(REGEX MATCH "^(aarch64|arm64)$" QUERN_IS_ARM64 "${CMAKE_SYSTEM_PROCESSOR}")

add_library(quern_options INTERFACE)
target_compile_features(quern_options INTERFACE cxx_std_20)
# Strict numerics: no contraction of a*b+c, no reassociation, in every file of the engine.
target_compile_options(quern_options INTERFACE
  -Wall -Wextra $<$<BOOL:${QUERN_WERROR}>:-Werror> -ffp-contract=off -fno-math-errno
  # GCC 12 reports restrict violations in std::string's own code (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # Compiling for Arm, its flow analysis takes a string just moved from a Result for uninitialised.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${QUERN_IS_ARM64}>>:-Wno-maybe-uninitialized>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-warning-option -Wno-pass-failed>)
if(QUERN_SANITIZE)
  target_compile_options(quern_options INTERFACE -fsanitize=${QUERN_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all
    # GCC documents that its flow analysis reports falsely in instrumented code.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(quern_options INTERFACE -fsanitize=${QUERN_SANITIZE})
endif()
if(QUERN_FUZZ)
  target_compile_options(quern_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_include_directories(quern_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)

function(quern_add_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_LIBS" ${ARGN})
  list(FIND QUERN_LAYERS ${name} own_rank)
  if(own_rank EQUAL -1)
    message(FATAL_ERROR "Layer '${name}' is not in QUERN_LAYERS.")
  endif()
  set(libs "")
  foreach(dep IN LISTS ARG_DEPS)
    list(FIND QUERN_LAYERS ${dep} dep_rank)
    if(dep_rank EQUAL -1 OR NOT dep_rank LESS own_rank)
      message(FATAL_ERROR "Layer '${name}' may not depend on '${dep}': it comes later in the list.")
    endif()
    list(APPEND libs quern_${dep})
  endforeach()
  add_library(quern_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(quern_${name} PUBLIC ${libs} tl::expected Threads::Threads
    PRIVATE $<BUILD_INTERFACE:quern_options> fmt::fmt ${ARG_PRIVATE_LIBS})
  set_target_properties(quern_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY QUERN_INSTALL_TARGETS quern_${name})
endfunction()

# Real models are too large for the repository; tests that find none skip, saying so. This is the
# folder that scripts/fetch_model fills, found by the same rule.
set(model_cache "$ENV{HOME}/.cache/quern")
if(DEFINED ENV{XDG_CACHE_HOME})
  set(model_cache "$ENV{XDG_CACHE_HOME}/quern")
endif()
if(DEFINED ENV{QUERN_CACHE})
  set(model_cache "$ENV{QUERN_CACHE}")
endif()
set(QUERN_MODELS_DIR "${model_cache}" CACHE PATH "Folder of model files for tests")

# Most of a test's compilation is headers and optimisation. All tests share the headers of the
# standard library and GoogleTest, compiled once, and a release build optimises them lightly: what
# takes time when they run is in the libraries. So no test can have flags of its own.
# The preset dev compiles without the shared headers: it shows missing includes, and clang's tools
# cannot read what GCC compiled.
function(quern_compile_test_quickly name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>
    # At -O1 GCC 12 takes strings joined with + for too short (GCC bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-error=invalid-pch>)
  if(NOT TARGET quern_test_headers)
    add_library(quern_test_headers OBJECT ${PROJECT_SOURCE_DIR}/tests/support/test_headers.cc)
    target_include_directories(quern_test_headers PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(quern_test_headers PRIVATE quern_options fmt::fmt GTest::gtest_main tl::expected)
    quern_compile_test_quickly(quern_test_headers)
    target_precompile_headers(quern_test_headers PRIVATE
      ${PROJECT_SOURCE_DIR}/tests/support/test_headers.h)
  endif()
  if(NOT name STREQUAL quern_test_headers)
    target_precompile_headers(${name} REUSE_FROM quern_test_headers)
  endif()
endfunction()

function(quern_add_test name)
  if(NOT QUERN_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LABELS;LIBS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(QUERN_SANITIZE)
    # ThreadSanitizer makes some tests twenty times slower.
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 8")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE quern_options fmt::fmt GTest::gtest_main ${ARG_LIBS})
  target_compile_definitions(${name} PRIVATE
    QUERN_SUITES_DIR="${PROJECT_SOURCE_DIR}/../shared/suites"
    QUERN_MODELS_DIR="${QUERN_MODELS_DIR}"
    QUERN_TEST_DATA_DIR="${PROJECT_SOURCE_DIR}/tests/data")
  quern_compile_test_quickly(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

function(quern_add_fuzzer name)
  if(NOT QUERN_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE quern_options fmt::fmt ${ARG_LIBS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
