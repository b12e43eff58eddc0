# Install rules and the CMake package: find_package(quern) gives the target quern::quern.
include(CMakePackageConfigHelpers)

# The public face: everything a program needs to build, compile and run graphs.
add_library(quern_quern INTERFACE)
set_target_properties(quern_quern PROPERTIES EXPORT_NAME quern)
target_link_libraries(quern_quern INTERFACE quern_generate quern_backends)
target_include_directories(quern_quern INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(quern_quern INTERFACE cxx_std_20)
add_library(quern::quern ALIAS quern_quern)

get_property(quern_layer_targets GLOBAL PROPERTY QUERN_INSTALL_TARGETS)
install(TARGETS ${quern_layer_targets} quern_quern EXPORT quern_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/quern)
install(DIRECTORY include/quern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT quern_targets NAMESPACE quern:: FILE quern-targets.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quern)
configure_package_config_file(cmake/quern-config.cmake.in quern-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quern)
write_basic_package_version_file(quern-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quern-config.cmake
  ${PROJECT_BINARY_DIR}/quern-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quern)
