# SPDX-License-Identifier: Apache-2.0
"""Says what to do without horovod.ray."""
raise ImportError("horovod.ray does not exist in Batch AI's Horovod: "
                  "batchai-launch starts the ranks; horovod.run(func) calls a function in them")
