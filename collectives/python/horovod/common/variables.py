# SPDX-License-Identifier: Apache-2.0
"""The environment variables of Horovod that work here, and messages about the others."""
import difflib
import os
import sys

_READ = """AUTOTUNE CACHE_CAPACITY CYCLE_TIME FUSION_THRESHOLD STALL_CHECK_DISABLE
STALL_CHECK_TIME_SECONDS STALL_SHUTDOWN_TIME_SECONDS TIMELINE TIMELINE_MARK_CYCLES
DYNAMIC_PROCESS_SETS"""

# Set by launchers, or of the time when Horovod was built: they change nothing, and mean no choice.
_OF_OTHERS = """RANK SIZE LOCAL_RANK LOCAL_SIZE CROSS_RANK CROSS_SIZE HOSTNAME CONTROLLER
CPU_OPERATIONS GLOO_RENDEZVOUS_ADDR GLOO_RENDEZVOUS_PORT GLOO_IFACE GLOO_TIMEOUT_SECONDS ELASTIC
ELASTIC_TIMEOUT SECRET_KEY START_TIMEOUT GPU GPU_OPERATIONS GPU_ALLREDUCE GPU_ALLGATHER
GPU_BROADCAST GPU_ALLTOALL GPU_REDUCESCATTER CUDA_HOME ROCM_HOME NCCL_HOME NCCL_INCLUDE NCCL_LIB
NCCL_LINK BUILD_CUDA_CC_LIST BUILD_ARCH_FLAGS CMAKE DEBUG ALLOW_MIXED_GPU_IMPL"""
_OF_BUILDING = ("HOROVOD_WITH_", "HOROVOD_WITHOUT_")

_WITHOUT_EFFECT = """HIERARCHICAL_ALLREDUCE HIERARCHICAL_ALLGATHER TORUS_ALLREDUCE NUM_NCCL_STREAMS
THREAD_AFFINITY MPI_THREADS_DISABLE ADASUM_MPI_CHUNK_SIZE AUTOTUNE_LOG AUTOTUNE_WARMUP_SAMPLES
AUTOTUNE_STEPS_PER_SAMPLE AUTOTUNE_BAYES_OPT_MAX_SAMPLES AUTOTUNE_GAUSSIAN_PROCESS_NOISE
BATCH_D2D_MEMCOPIES CCL_CACHE DISABLE_GROUP_FUSION DISABLE_NVTX_RANGES ENABLE_ASYNC_COMPLETION
ENABLE_XLA_OPS LOG_LEVEL LOG_HIDE_TIME"""


def _names(words):
    return ["HOROVOD_" + word for word in words.split()]


def remarks(environment):
    """A sentence for each variable that does not do what its user may expect."""
    known = _names(_READ + " " + _OF_OTHERS)
    without_effect = _names(_WITHOUT_EFFECT)
    sentences = []
    for name in sorted(environment):
        if not name.startswith("HOROVOD_") or name in known or name.startswith(_OF_BUILDING):
            continue
        if name in without_effect:
            sentences.append("%s has no effect: the library chooses this itself" % name)
            continue
        words = (_READ + " " + _WITHOUT_EFFECT).split()
        like = difflib.get_close_matches(name[len("HOROVOD_"):], words, 1, 0.75)
        sentences.append("%s is not one of Horovod's variables%s"
                         % (name, ": is HOROVOD_%s meant?" % like[0] if like else ""))
    return sentences


_said = False


def apply(rank):
    """Call before the job begins, on every rank. Rank 0 names variables without effect, once."""
    global _said
    shutdown = os.environ.get("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "").strip()
    if shutdown not in ("", "0"):  # the library's own variable for it
        os.environ.setdefault("BATCHAI_COLL_TIMEOUT", shutdown)
    if rank == 0 and not _said:
        for sentence in remarks(os.environ):
            sys.stderr.write("horovod: %s\n" % sentence)
    _said = True
