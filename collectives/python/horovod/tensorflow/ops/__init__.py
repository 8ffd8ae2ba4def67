# SPDX-License-Identifier: Apache-2.0
"""Collective operations on TensorFlow's tensors."""
