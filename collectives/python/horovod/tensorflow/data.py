# SPDX-License-Identifier: Apache-2.0
"""Says what to do without horovod.tensorflow.data."""
raise ImportError("horovod.tensorflow.data does not exist in Batch AI's Horovod: use "
                  "tf.data.experimental.service, with a dispatcher that rank 0 starts")
