# SPDX-License-Identifier: Apache-2.0
# Read by cpack before it makes packages: their names, what each is and what it depends on.

# The same sources give the same bytes: files are as old as the last commit.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND git -C ${CPACK_BATCHAI_SOURCE} log -1 --format=%ct
                  OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT epoch) # sources without their history
    file(TIMESTAMP ${CPACK_BATCHAI_SOURCE}/CHANGELOG.md epoch "%s" UTC)
  endif()
  set(ENV{SOURCE_DATE_EPOCH} ${epoch})
endif()

if(CPACK_GENERATOR STREQUAL RPM) # CPack's Debian packages strip by themselves, and keep the symbols
  set(CPACK_STRIP_FILES ON)
endif()

set(own ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(own_rpm ${CPACK_PACKAGE_VERSION}-${CPACK_RPM_PACKAGE_RELEASE})
string(REGEX MATCH "^[0-9]+" soversion "${CPACK_PACKAGE_VERSION}")

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own

# package(COMPONENT NAME SUMMARY DESCRIPTION): what both kinds of packages say.
macro(package component name summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_RPM_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${description}")
  set(CPACK_RPM_${upper}_PACKAGE_SUMMARY "${summary}")
  set(CPACK_RPM_${upper}_PACKAGE_DESCRIPTION "${description}")
endmacro()

package(plugin batchai-slurm-plugin "Slurm plugin that runs Azure Batch AI jobs"
  "Gives a Slurm job private mounts, runs its preparation on each node and\nsets the variables of Batch AI. It is for login and compute nodes, and does\nnothing before an admin adds its line to plugstack.conf. It is built for\nSlurm ${CPACK_BATCHAI_SLURM}.")
# Debian's own packages, or those of Slurm's makers.
foreach(relation ">= ${CPACK_BATCHAI_SLURM}" "<< ${CPACK_BATCHAI_NEXT_SLURM}~")
  list(APPEND slurm "slurm-wlm-basic-plugins (${relation}) | slurm-smd (${relation})")
endforeach()
list(JOIN slurm ", " slurm)
set(CPACK_DEBIAN_PLUGIN_PACKAGE_DEPENDS "batchai-node (= ${own}), ${slurm}")
set(CPACK_RPM_PLUGIN_PACKAGE_REQUIRES
    "batchai-node = ${own_rpm}, slurm >= ${CPACK_BATCHAI_SLURM}, slurm < ${CPACK_BATCHAI_NEXT_SLURM}")

package(node batchai-node "Programs that mount and prepare for Azure Batch AI jobs"
  "The helpers of the Slurm plugin and of batchai-launch, and the site policy\nas an example.")
set(CPACK_DEBIAN_NODE_PACKAGE_SUGGESTS "fuse3, sshfs, rclone, squashfuse, s3fs")

package(launcher batchai "Commands for Azure Batch AI jobs on Slurm"
  "batchai, with the words of az batchai, and batchai-launch, which starts\nHorovod, MPI and PyTorch programs on the nodes of a Slurm job or on one\nmachine.")
set(CPACK_DEBIAN_LAUNCHER_PACKAGE_DEPENDS "batchai-node (= ${own})")
set(CPACK_DEBIAN_LAUNCHER_PACKAGE_RECOMMENDS "batchai-horovod, python3-jmespath, slurm-client")
set(CPACK_RPM_LAUNCHER_PACKAGE_REQUIRES "batchai-node = ${own_rpm}")

package(library libbatchai-collectives${soversion} "Collective operations between the ranks of a job"
  "Allreduce and other operations over shared memory and UCX.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)

package(development libbatchai-collectives-dev "Collective operations between the ranks of a job - development files"
  "The C header of libbatchai_collectives, with files for pkg-config and CMake.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libbatchai-collectives${soversion} (= ${own})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_RPM_DEVELOPMENT_PACKAGE_REQUIRES "libbatchai-collectives${soversion} = ${own_rpm}")

package(python batchai-horovod "Horovod for PyTorch, TensorFlow and Keras over libbatchai_collectives"
  "The Python package horovod that batchai-launch gives its ranks, and\nhorovodrun. It takes no other Horovod's place outside of jobs.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libbatchai-collectives${soversion} (= ${own}), python3, python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-torch")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_RPM_PYTHON_PACKAGE_REQUIRES "libbatchai-collectives${soversion} = ${own_rpm}, python3, python3-numpy")
