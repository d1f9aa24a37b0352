# plant(NAME SCENARIO FILE FROM TO [FILE FROM TO]...): a copy of the gate's headers in which FROM
# stands as TO, the explorer built with it, and a test that SCENARIO shows it.
#
# Where FROM no longer stands in FILE the copy is sound, nothing is found, and the test fails.
function(plant name scenario)
  set(root ${CMAKE_CURRENT_BINARY_DIR}/faults/${name})
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src/gate/*.h
       ${PROJECT_SOURCE_DIR}/include/loadline/*.h ${PROJECT_SOURCE_DIR}/include/loadline/gate/*.h)
  foreach(header IN LISTS headers)
    file(READ ${PROJECT_SOURCE_DIR}/${header} text)
    set(i 2)
    while(i LESS ARGC)
      if(header STREQUAL "${ARGV${i}}")
        math(EXPR from "${i} + 1")
        math(EXPR to "${i} + 2")
        string(FIND "${text}" "${ARGV${from}}" place)
        if(place EQUAL -1)
          message(WARNING "The planted fault ${name} no longer fits ${header}")
        endif()
        string(REPLACE "${ARGV${from}}" "${ARGV${to}}" text "${text}")
      endif()
      math(EXPR i "${i} + 3")
    endwhile()
    write_if_other(${root}/${header} "${text}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
  endforeach()
  explorer_program(gate_explorer_${name} ${root})
  # What a fault leaves out may leave something unused.
  target_compile_options(gate_explorer_${name} PRIVATE -w)
  add_test(NAME gate_explorer.finds_${name} COMMAND gate_explorer_${name} --find ${scenario})
  set_tests_properties(gate_explorer.finds_${name} PROPERTIES TIMEOUT 120)
endfunction()

# So that what did not change is not compiled again.
function(write_if_other path text)
  if(EXISTS ${path})
    file(READ ${path} present)
    if(present STREQUAL text)
      return()
    endif()
  endif()
  file(WRITE ${path} "${text}")
endfunction()
