# Run with -DNM=... -DOBJECTS=a;b: fails if an object shares a function or variable with others.
# Kernels compiled for one instruction set must not give the linker a copy of an inline function
# that code for older machines calls too.
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} --defined-only ${object} OUTPUT_VARIABLE symbols RESULT_VARIABLE rc)
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "${NM} cannot read ${object}.")
  endif()
  string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" weak "${symbols}")
  if(weak)
    message(FATAL_ERROR "${object} has weak symbols: ${weak}")
  endif()
endforeach()
