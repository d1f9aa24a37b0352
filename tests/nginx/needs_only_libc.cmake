# The module goes into a C program: it may need libc and nginx itself, and no symbol of C++. A stray
# std::string would bring libstdc++ into every worker, or fail to load where that is missing.
execute_process(COMMAND ${READELF} --dynamic --wide ${MODULE}
                OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*\\[[^]]*\\]" needed "${dynamic}")
foreach(line ${needed})
  if(NOT line MATCHES "\\[libc\\.so\\.6\\]")
    message(SEND_ERROR "${MODULE} needs more than libc: ${line}")
  endif()
endforeach()
if(NOT needed)
  message(SEND_ERROR "${MODULE} needs nothing at all, which cannot be: ${dynamic}")
endif()

execute_process(COMMAND ${READELF} --dyn-syms --wide ${MODULE}
                OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " UND (_Z|__cxa_[^f]|__gxx)[^\n]*" foreign "${symbols}")
if(foreign)
  message(SEND_ERROR "${MODULE} has undefined symbols of C++: ${foreign}")
endif()
foreach(name ngx_modules ngx_module_names ngx_module_order)
  if(NOT symbols MATCHES " ${name}\n")
    message(SEND_ERROR "${MODULE} does not show ${name} to nginx")
  endif()
endforeach()
