# SPDX-License-Identifier: Apache-2.0
"""Parts of Horovod's launcher that scripts import."""
