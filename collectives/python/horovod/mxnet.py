# SPDX-License-Identifier: Apache-2.0
"""Says what to do without horovod.mxnet."""
raise ImportError("horovod.mxnet does not exist in Batch AI's Horovod: "
                  "use horovod.torch or horovod.tensorflow, or batchai-launch "
                  "--horovod=system with a Horovod that is built for MXNet")
