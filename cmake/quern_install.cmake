# Install rules and the CMake package: find_package(quern) gives the target quern::quern.
include(CMakePackageConfigHelpers)
