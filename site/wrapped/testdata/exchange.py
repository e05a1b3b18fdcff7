# All-to-all exchanges of NumPy buffers; rank 0 prints a digest of what all have received.
import hashlib
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, me = comm.size, comm.rank
size, calls = int(sys.argv[1]), int(sys.argv[2])
digest = hashlib.sha256()
for call in range(calls):
    out = (np.arange(n * size, dtype=np.int64) * 31 + me * 7 + call).astype(np.uint8)
    into = np.zeros(n * size, np.uint8)
    comm.Barrier()
    comm.Alltoall(out, into)
    digest.update(into.tobytes())
    counts = [size // 2 + (me + to) * size // (4 * n) for to in range(n)]
    comm.Alltoallv([out, counts], [into, counts])
    digest.update(into.tobytes())
all_of_them = comm.gather(digest.hexdigest())
if me == 0:
    print(hashlib.sha256("".join(all_of_them).encode()).hexdigest())
