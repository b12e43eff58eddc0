# Each public header compiles alone, twice over, without warnings, and pulls in no header of src/.
# Run with -DCXX=compiler -DROOT=source folder.
file(GLOB headers RELATIVE ${ROOT}/include ${ROOT}/include/quern/*.h)
list(LENGTH headers count)
if(count LESS 10)
  message(FATAL_ERROR "Only ${count} headers are in ${ROOT}/include/quern.")
endif()
foreach(header IN LISTS headers)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/public_header.cc
    "#include \"${header}\"\n#include \"${header}\"\n")
  execute_process(COMMAND ${CXX} -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I${ROOT}/include
      ${CMAKE_CURRENT_BINARY_DIR}/public_header.cc
    RESULT_VARIABLE code ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${header} does not compile alone:\n${text}")
  endif()
endforeach()
message(STATUS "${count} headers compile alone.")
