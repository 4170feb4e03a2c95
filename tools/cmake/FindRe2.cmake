# Target re2::re2. RE2's own CMake package where the distribution has it; Debian 12's has only headers and library.
# Installed beside trellisConfig.cmake, which needs it for the static library.
find_package(re2 CONFIG QUIET)
if(NOT TARGET re2::re2)
  find_path(Re2_INCLUDE_DIR re2/re2.h)
  find_library(Re2_LIBRARY re2)
  mark_as_advanced(Re2_INCLUDE_DIR Re2_LIBRARY)
  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(Re2 REQUIRED_VARS Re2_LIBRARY Re2_INCLUDE_DIR)
  if(Re2_FOUND)
    add_library(re2::re2 UNKNOWN IMPORTED GLOBAL)
    set_target_properties(re2::re2 PROPERTIES IMPORTED_LOCATION "${Re2_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${Re2_INCLUDE_DIR}")
  endif()
else()
  set(Re2_FOUND TRUE)
endif()
