# SPDX-License-Identifier: Apache-2.0
"""Starting jobs, in Horovod's words, by batchai-launch."""
