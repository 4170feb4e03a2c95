# Completion scripts of the shells, written by the programs themselves when they are built.
include(GNUInstallDirs)

find_package(CLI11 REQUIRED CONFIG)
file(GLOB trellis_completion_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/completion/*.cc)
add_library(trellis_completion STATIC ${trellis_completion_sources})
target_compile_options(trellis_completion PRIVATE ${TRELLIS_QUICK_WITH_SANITIZERS})
target_include_directories(trellis_completion PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(trellis_completion PUBLIC CLI11::CLI11 absl::strings)

# Where each shell looks by itself, for a program that is installed.
function(trellis_install_completion target)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    return()  # a program that does not run here writes nothing here
  endif()
  get_target_property(program ${target} OUTPUT_NAME)
  set(folder ${PROJECT_BINARY_DIR}/completion)
  file(MAKE_DIRECTORY ${folder})
  set(scripts)
  foreach(shell bash zsh fish)
    add_custom_command(OUTPUT ${folder}/${program}.${shell}
      COMMAND ${target} --completion ${shell} > ${folder}/${program}.${shell}
      DEPENDS ${target} VERBATIM)
    list(APPEND scripts ${folder}/${program}.${shell})
  endforeach()
  add_custom_target(${target}_completion ALL DEPENDS ${scripts})
  install(FILES ${folder}/${program}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
  install(FILES ${folder}/${program}.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _${program})
  install(FILES ${folder}/${program}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endfunction()
