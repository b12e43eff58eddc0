# Installs the build into a scratch prefix, builds the consumer against it and checks its output.
# Variables: BUILD_DIR, SOURCE_DIR, SCRATCH_DIR, CXX.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "Failed: ${ARGV}\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH_DIR}")
run(${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${SCRATCH_DIR}/prefix")
run(${CMAKE_COMMAND} -S "${SOURCE_DIR}" -B "${SCRATCH_DIR}/build" -G Ninja
  -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=${CXX}"
  "-DCMAKE_PREFIX_PATH=${SCRATCH_DIR}/prefix")
run(${CMAKE_COMMAND} --build "${SCRATCH_DIR}/build")
foreach(backend cpu reference)
  execute_process(COMMAND "${SCRATCH_DIR}/build/consumer" ${backend}
    RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code EQUAL 0 OR NOT out STREQUAL "0.015876 0.117310 0.866813\n")
    message(FATAL_ERROR "The consumer printed '${out}${err}' on ${backend}.")
  endif()
endforeach()
execute_process(COMMAND "${SCRATCH_DIR}/build/consumer" none RESULT_VARIABLE code ERROR_VARIABLE err)
if(code EQUAL 0 OR NOT err MATCHES "There is no backend 'none'")
  message(FATAL_ERROR "An unknown backend gave '${err}'.")
endif()
