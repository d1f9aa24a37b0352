# cmake --install: the libraries with their headers, for find_package(Loadline) and for pkg-config.
#
#   Loadline::loadline   loadline.pc           the gate itself (loadline/gate.h); static
#   Loadline::threads    loadline-threads.pc   for programs with threads (loadline/threads.h); static
#   Loadline::client     loadline-client.pc    for programs that call others (loadline/client/caller.h); static
#   Loadline::c          loadline-c.pc         the C interface (loadline/loadline.h); shared
#   Loadline::curl       loadline-curl.pc      the client half with libcurl (loadline/curl.h); static
#   Loadline::grpc       loadline-grpc.pc      the client half with gRPC C++ (loadline/grpc.h); static
#
# The last two only if they were built. Each is there for whoever has what it adapts, and asks nothing of
# others.
#
# What is installed can be moved as a whole: nothing in it says where it was installed to.
include(CMakePackageConfigHelpers)

set_target_properties(loadline_threads PROPERTIES EXPORT_NAME threads)
set_target_properties(loadline_client PROPERTIES EXPORT_NAME client)
set_target_properties(loadline_c PROPERTIES EXPORT_NAME c)
add_library(Loadline::loadline ALIAS loadline)
add_library(Loadline::threads ALIAS loadline_threads)
add_library(Loadline::client ALIAS loadline_client)
add_library(Loadline::c ALIAS loadline_c)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Loadline)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS loadline loadline_threads loadline_client loadline_c EXPORT Loadline COMPONENT library
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/loadline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT library FILES_MATCHING PATTERN *.h PATTERN curl.h EXCLUDE PATTERN grpc.h EXCLUDE)
install(EXPORT Loadline NAMESPACE Loadline:: DESTINATION ${package_dir} COMPONENT library
  FILE LoadlineTargets.cmake)

# loadline_install_adapter(NAME FILE): what hosts/NAME built, as a target that is defined where FILE's
# conditions in LoadlineConfig.cmake hold.
function(loadline_install_adapter name file)
  set_target_properties(loadline_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(Loadline::${name} ALIAS loadline_${name})
  install(TARGETS loadline_${name} EXPORT ${file}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
  install(FILES ${PROJECT_SOURCE_DIR}/include/loadline/${name}.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/loadline COMPONENT library)
  install(EXPORT ${file} NAMESPACE Loadline:: DESTINATION ${package_dir} COMPONENT library
    FILE ${file}.cmake)
endfunction()

if(TARGET loadline_curl)
  loadline_install_adapter(curl LoadlineCurlTargets)
endif()
if(TARGET loadline_grpc)
  loadline_install_adapter(grpc LoadlineGrpcTargets)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/LoadlineConfig.cmake.in
  ${PROJECT_BINARY_DIR}/LoadlineConfig.cmake INSTALL_DESTINATION ${package_dir})
# Until 1.0 a minor version may change anything.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LoadlineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/LoadlineConfig.cmake ${PROJECT_BINARY_DIR}/LoadlineConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT library)

cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir}
  OUTPUT_VARIABLE up)

# loadline_pkgconfig(NAME DESCRIPTION REQUIRES LIBS)
function(loadline_pkgconfig name description requires libs)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.pc @ONLY CONTENT [[
prefix=${pcfiledir}/@up@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: @name@
Description: @description@
Version: @PROJECT_VERSION@
Requires: @requires@
Cflags: -I${includedir}
Libs: -L${libdir} @libs@
]])
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pkgconfig_dir} COMPONENT library)
endfunction()

loadline_pkgconfig(loadline "Admission control: the gate" "" "-lloadline -pthread")
loadline_pkgconfig(loadline-threads "Admission control for programs with threads (C++20)" "loadline" "-lloadline_threads")
loadline_pkgconfig(loadline-client "The client half of admission control: retries, budgets, breakers (C++20)" "" "-lloadline_client")
loadline_pkgconfig(loadline-c "Admission control for C" "" "-lloadline_c")
if(TARGET loadline_curl)
  loadline_pkgconfig(loadline-curl "The client half of admission control with libcurl (C++20)" "loadline-client libcurl" "-lloadline_curl")
endif()
if(TARGET loadline_grpc)
  loadline_pkgconfig(loadline-grpc "The client half of admission control with gRPC (C++20)" "loadline-client grpc++" "-lloadline_grpc")
endif()
