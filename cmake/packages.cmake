# SPDX-License-Identifier: Apache-2.0
# Packages: `cpack -G DEB` and `cpack -G RPM` in a build tree, one package for each component of the install rules.
# What depends on the packages' version is computed when they are made (packages/config.cmake).
set(BATCHAI_PACKAGE_CONTACT "batchai-slurm <root@localhost>" CACHE STRING "Maintainer that the packages name")

set(CPACK_PACKAGE_NAME batchai-slurm)
set(CPACK_PACKAGE_VENDOR batchai-slurm)
set(CPACK_PACKAGE_CONTACT "${BATCHAI_PACKAGE_CONTACT}")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX}) # programs know where the others are
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL plugin node launcher library development python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/packages/config.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/packages/documents.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/packages/symbols.cmake)
set(CPACK_BATCHAI_SOURCE ${PROJECT_SOURCE_DIR})
# Whatever the umask of the build.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)

# Slurm loads a plugin only if it was built for its own release: 22.05 with any third number.
string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" CPACK_BATCHAI_SLURM "${SLURM_VERSION}")
math(EXPR next "${CMAKE_MATCH_1} * 100 + ${CMAKE_MATCH_2} + 1") # 2206
string(REGEX REPLACE "(..)$" ".\\1" CPACK_BATCHAI_NEXT_SLURM ${next})

set(plugin ${CMAKE_INSTALL_FULL_LIBDIR}/slurm/spank_batchai.so)
configure_file(cmake/packages/prerm.in packages.d/plugin/prerm @ONLY
               FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
file(CONFIGURE OUTPUT packages.d/library/shlibs
     CONTENT "libbatchai_collectives @PROJECT_VERSION_MAJOR@ libbatchai-collectives@PROJECT_VERSION_MAJOR@\n" @ONLY)
file(CONFIGURE OUTPUT packages.d/library/triggers CONTENT "activate-noawait ldconfig\n")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
# The collective library, and the empty one of TensorFlow's name: neither is of an installed package.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib ${PROJECT_BINARY_DIR}/collectives/tensorflow)
set(CPACK_DEBIAN_PLUGIN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/packages.d/plugin/prerm)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/packages.d/library/shlibs
                                               ${PROJECT_BINARY_DIR}/packages.d/library/triggers)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_INSTALL_WITH_EXEC ON) # dependencies are found in programs only
set(CPACK_RPM_PLUGIN_PRE_UNINSTALL_SCRIPT_FILE ${PROJECT_BINARY_DIR}/packages.d/plugin/prerm)
set(CPACK_RPM_REQUIRES_EXCLUDE_FROM "libbatchai_tensorflow.so$") # its TensorFlow is the user's own
# The same sources give the same bytes.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _buildhost localhost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1")
# Directories that are the distribution's.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_LIBEXECDIR}
    ${CMAKE_INSTALL_FULL_LIBDIR}/cmake ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/slurm
    ${CMAKE_INSTALL_FULL_INCLUDEDIR} ${CMAKE_INSTALL_FULL_DATADIR} ${CMAKE_INSTALL_FULL_DATADIR}/doc
    ${CMAKE_INSTALL_FULL_DATADIR}/bash-completion ${CMAKE_INSTALL_FULL_DATADIR}/bash-completion/completions
    ${CMAKE_INSTALL_FULL_MANDIR} ${CMAKE_INSTALL_FULL_MANDIR}/man1 ${CMAKE_INSTALL_FULL_MANDIR}/man5
    ${CMAKE_INSTALL_FULL_MANDIR}/man8)

include(CPack)
