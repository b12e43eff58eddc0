# Toolchain file of the preset `arm64`: Debian's cross compiler, the sysroot of
# scripts/sysroot_arm64, and qemu-user for everything that the build or the tests run.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++ CACHE STRING "Compiler for 64-bit Arm")

set(QUERN_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot" CACHE PATH
  "Folder that scripts/sysroot_arm64 filled")
set(QUERN_QEMU_CPU max CACHE STRING
  "Processor that qemu-user shows: max, or an older one such as cortex-a72 or neoverse-n1")
# Test compilations of CMake see these, too.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QUERN_SYSROOT QUERN_QEMU_CPU)
get_filename_component(CMAKE_SYSROOT "${QUERN_SYSROOT}" ABSOLUTE)
if(NOT EXISTS "${CMAKE_SYSROOT}/usr/include")
  message(FATAL_ERROR "There is no sysroot in '${CMAKE_SYSROOT}'; scripts/setup --arm64 makes it.")
endif()

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR}
  "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT} -cpu ${QUERN_QEMU_CPU})
