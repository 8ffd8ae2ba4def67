# SPDX-License-Identifier: Apache-2.0
"""The parts that depend on no framework: the library, the job's ranks, errors, negotiation."""
