# One layout for `cmake --install` and for the wheel, whose prefix is the package's folder:
#
#   include/ouroboros   headers
#   lib                 libouroboros_replay.so, libouroboros.so, libouroboros-live.so,
#                       libouroboros-no-driver.so
#   lib/cmake/ouroboros the CMake package
#   libexec/ouroboros   the helper programs
#
# Libraries find each other and their programs by relative paths, so a tree may be moved.
include(CMakePackageConfigHelpers)

if(SKBUILD)
  set(CMAKE_INSTALL_LIBDIR lib)
  set(CMAKE_INSTALL_LIBEXECDIR libexec)
endif()
set(ouroboros_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ouroboros)

install(DIRECTORY include/ouroboros DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp")
install(TARGETS ouroboros-sandbox ouroboros-executor ouroboros-cuda-executor
        ouroboros-cuda-compiler
        RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/ouroboros)

install(TARGETS ouroboros-live ouroboros-no-driver
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# Two export sets, so that the replay component can be used on a machine without PyTorch.
set_target_properties(ouroboros_replay PROPERTIES EXPORT_NAME replay INSTALL_RPATH "$ORIGIN")
install(TARGETS ouroboros_replay EXPORT ouroboros-replay DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT ouroboros-replay NAMESPACE ouroboros:: FILE ouroboros-replay.cmake
        DESTINATION ${ouroboros_cmake_dir})
if(OUROBOROS_WITH_TORCH)
  # A wheel finds PyTorch beside itself; any other tree where it was at build time.
  if(SKBUILD)
    set(ouroboros_torch_rpath "$ORIGIN/../../torch/lib")
  else()
    set(ouroboros_torch_rpath "${OUROBOROS_TORCH_ROOT}/lib")
  endif()
  set_target_properties(ouroboros PROPERTIES INSTALL_RPATH "$ORIGIN;${ouroboros_torch_rpath}")
  install(TARGETS ouroboros EXPORT ouroboros-referee DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ouroboros-referee NAMESPACE ouroboros:: FILE ouroboros-referee.cmake
          DESTINATION ${ouroboros_cmake_dir})
  install(FILES cmake/OuroborosTorch.cmake DESTINATION ${ouroboros_cmake_dir})
endif()

configure_package_config_file(cmake/ouroborosConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ouroborosConfig.cmake INSTALL_DESTINATION ${ouroboros_cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ouroborosConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ouroborosConfig.cmake
              ${PROJECT_BINARY_DIR}/ouroborosConfigVersion.cmake
        DESTINATION ${ouroboros_cmake_dir})

# Package data of the wheel: what `ouroboros selftest` and the demo judge.
if(SKBUILD)
  foreach(folder tests/attacks examples/kernels)
    cmake_path(GET folder FILENAME name)
    install(DIRECTORY ${folder}/ DESTINATION ${name}
            FILES_MATCHING PATTERN "*.cpp" PATTERN "*.hpp" PATTERN "*.json" PATTERN "*.toml"
            PATTERN "__pycache__" EXCLUDE)
  endforeach()
  install(DIRECTORY tests/gpu/attacks tests/gpu/kernels DESTINATION gpu
          FILES_MATCHING PATTERN "*.py" PATTERN "*.cu" PATTERN "*.ptx" PATTERN "*.toml"
          PATTERN "__pycache__" EXCLUDE)
endif()
