# SPDX-License-Identifier: Apache-2.0
"""Helpers of horovod.runner that scripts import."""
