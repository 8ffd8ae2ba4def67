! SPDX-License-Identifier: Apache-2.0
!
! A rank that traps floating-point errors, also those of the libraries that it calls.
program traps_check
    use mpi
    implicit none
    integer :: error, rank, ranks, total
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, rank, error)
    call mpi_comm_size(mpi_comm_world, ranks, error)
    call mpi_allreduce(rank, total, 1, mpi_integer, mpi_sum, mpi_comm_world, error)
    if (total /= ranks * (ranks - 1) / 2) error stop
    print '(a, i0, a, i0, a)', 'rank ', rank, ' of ', ranks, ' is fine'
    call mpi_finalize(error)
    stop ! prints a note of each error that a library has raised
end program
