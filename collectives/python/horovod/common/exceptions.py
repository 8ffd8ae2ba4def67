# SPDX-License-Identifier: Apache-2.0
"""What collective operations and elastic jobs raise."""


class HorovodInternalError(RuntimeError):
    """A collective operation failed: ranks disagree on it, a rank died, or the system refused.

    Where ranks disagreed on a named operation (its shape, type, reduction or root), every rank gets
    this error and the job may go on. After any other failure all later operations fail likewise
    until ``shutdown()``.
    """


class HostsUpdatedInterrupt(RuntimeError):
    """Never raised: nodes change between attempts only. Scripts that catch it need the name."""

    def __init__(self, skip_sync=False):
        super(HostsUpdatedInterrupt, self).__init__()
        self.skip_sync = skip_sync


class HorovodVersionMismatchError(ImportError):
    """Never raised: this package is not built for one version. Scripts may need the name."""

    def __init__(self, name, version, installed_version):
        super(HorovodVersionMismatchError, self).__init__(
            "horovod: %s %s is installed, but this Horovod was built for %s: install Horovod again"
            % (name, version, installed_version))
        self.name = name
        self.version = version
        self.installed_version = installed_version
