# SPDX-License-Identifier: Apache-2.0
"""The error of every collective operation that fails on the way."""


class HorovodInternalError(RuntimeError):
    """A collective operation failed: ranks disagree on it, a rank died, or the system refused.

    Where ranks disagreed on a named operation (its shape, type, reduction or root), every rank gets
    this error and the job may go on. After any other failure all later operations fail likewise
    until ``shutdown()``.
    """
