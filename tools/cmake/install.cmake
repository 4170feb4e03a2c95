# `cmake --install`: headers, library, command, and what finds them: CMake package and pkg-config file.
# Both stay right when the installed tree is moved, or `cmake --install --prefix` names another place.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(trellis_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/trellis)
install(TARGETS trellis EXPORT trellisTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/trellis DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT trellisTargets NAMESPACE trellis:: DESTINATION ${trellis_package_dir})
if(TARGET trellis_c)
  install(TARGETS trellis_c EXPORT trellisTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
foreach(program trellis_cli trellis_gateway trellis_server)
  if(TARGET ${program})
    install(TARGETS ${program})
    trellis_install_completion(${program})
  endif()
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/trellisConfig.cmake.in
  ${PROJECT_BINARY_DIR}/installed/trellisConfig.cmake INSTALL_DESTINATION ${trellis_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/installed/trellisConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/installed/trellisConfig.cmake
  ${PROJECT_BINARY_DIR}/installed/trellisConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindRe2.cmake DESTINATION ${trellis_package_dir})

# An absolute CMAKE_INSTALL_LIBDIR or CMAKE_INSTALL_INCLUDEDIR replaces "${prefix}".
file(RELATIVE_PATH trellis_pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
cmake_path(APPEND trellis_pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND trellis_pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/trellis.pc.in ${PROJECT_BINARY_DIR}/installed/trellis.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/installed/trellis.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET trellis_c)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/trellis_c.pc.in ${PROJECT_BINARY_DIR}/installed/trellis_c.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/installed/trellis_c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
