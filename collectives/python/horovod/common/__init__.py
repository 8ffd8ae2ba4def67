# SPDX-License-Identifier: Apache-2.0
"""What does not depend on a framework: the library, the job's ranks, errors, negotiation."""
