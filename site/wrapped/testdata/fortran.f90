! Exchanges by "use mpi", or by "use mpi_f08" (-DF08), with large counts (-DLARGE), by persistent calls (-DINIT), each checked;
! rank 0 prints ok.
program exchange
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  integer, parameter :: n = 1000
  integer :: rank, ranks, err, i
  integer, allocatable :: out(:), in(:), counts(:), at(:), bytes(:)
#ifdef F08
  type(MPI_Datatype), allocatable :: types(:)
  type(MPI_Request) :: request
#else
  integer, allocatable :: types(:)
  integer :: request
#endif
  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, err)
  allocate (out(n*ranks), in(n*ranks), counts(ranks), at(ranks), bytes(ranks), types(ranks))
  out = [(value(rank, (i - 1)/n, mod(i - 1, n)), i=1, n*ranks)]
  counts = n
  at = [((i - 1)*n, i=1, ranks)]
  bytes = at*storage_size(n)/8
  do i = 1, ranks
    types(i) = MPI_INTEGER
  end do
  in = -1
  call MPI_Alltoall(out, n, MPI_INTEGER, in, n, MPI_INTEGER, MPI_COMM_WORLD, err)
  call check('MPI_Alltoall')
  in = -1
  call MPI_Alltoallv(out, counts, at, MPI_INTEGER, in, counts, at, MPI_INTEGER, MPI_COMM_WORLD, err)
  call check('MPI_Alltoallv')
  in = out
  call MPI_Alltoall(MPI_IN_PLACE, n, MPI_INTEGER, in, n, MPI_INTEGER, MPI_COMM_WORLD, err)
  call check('MPI_IN_PLACE')
  in = -1
  call MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD, err)
  call check('MPI_Alltoallw')
  in = -1
  call MPI_Ialltoallv(out, counts, at, MPI_INTEGER, in, counts, at, MPI_INTEGER, MPI_COMM_WORLD, request, err)
  call MPI_Wait(request, MPI_STATUS_IGNORE, err)
  call check('MPI_Ialltoallv')
  in = -1
  call MPI_Ialltoallw(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD, request, err)
  call MPI_Wait(request, MPI_STATUS_IGNORE, err)
  call check('MPI_Ialltoallw')
#ifdef INIT
  in = -1
  call MPI_Alltoall_init(out, n, MPI_INTEGER, in, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request, err)
  call started('MPI_Alltoall_init')
  in = -1
  call MPI_Alltoallv_init(out, counts, at, MPI_INTEGER, in, counts, at, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request, err)
  call started('MPI_Alltoallv_init')
  in = -1
  call MPI_Alltoallw_init(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD, MPI_INFO_NULL, request, err)
  call started('MPI_Alltoallw_init')
#endif
#ifdef LARGE
  in = -1
  call MPI_Alltoall(out, int(n, MPI_COUNT_KIND), MPI_INTEGER, in, int(n, MPI_COUNT_KIND), MPI_INTEGER, MPI_COMM_WORLD, err)
  call check('large MPI_Alltoall')
  in = -1
  call MPI_Alltoallv(out, int(counts, MPI_COUNT_KIND), int(at, MPI_ADDRESS_KIND), MPI_INTEGER, &
    in, int(counts, MPI_COUNT_KIND), int(at, MPI_ADDRESS_KIND), MPI_INTEGER, MPI_COMM_WORLD, err)
  call check('large MPI_Alltoallv')
#endif
  if (rank == 0) print '(a)', 'ok'
  call MPI_Finalize(err)
contains
  integer function value(from, to, i)
    integer, intent(in) :: from, to, i
    value = from*1000003 + to*1009 + i
  end function
#ifdef INIT
  subroutine started(what)
    character(*), intent(in) :: what
    call MPI_Start(request, err)
    call MPI_Wait(request, MPI_STATUS_IGNORE, err)
    call check(what)
    call MPI_Request_free(request, err)
  end subroutine
#endif
  subroutine check(what)
    character(*), intent(in) :: what
    if (err /= MPI_SUCCESS .or. any(in /= [(value((i - 1)/n, rank, mod(i - 1, n)), i=1, n*ranks)])) then
      print '(a,a)', what, ' is wrong'
      call MPI_Abort(MPI_COMM_WORLD, 1, err)
    end if
  end subroutine
end program
