# SPDX-License-Identifier: Apache-2.0
"""Says what to do without horovod.spark."""
raise ImportError("horovod.spark does not exist in Batch AI's Horovod: "
                  "read the data in the ranks that batchai-launch starts; horovod.run(func) calls "
                  "a function in them")
