package started

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"evbench/internal/wire"
	"evbench/transport/mpi"
	"evbench/worker"
)

// openMPI opens the endpoint of each case in a world.
func openMPI(w *mpi.World) worker.OpenFunc {
	return func(ctx context.Context, c wire.Configure) (worker.Connections, error) {
		g := mpi.Group{ID: c.Run, Rank: c.Rank}
		for _, p := range c.Peers {
			if len(p.Addrs) == 0 {
				return worker.Connections{}, fmt.Errorf("server%d has not said where it is reached", p.Server)
			}
			rank, err := parseMPIAddress(p.Addrs[0])
			if err != nil {
				return worker.Connections{}, fmt.Errorf("server%d: %w", p.Server, err)
			}
			g.Ranks = append(g.Ranks, rank)
		}
		ep, err := w.Open(ctx, g)
		if err != nil {
			return worker.Connections{}, err
		}
		return worker.Connections{Endpoint: ep, Signals: ep, Barrier: ep.Barrier}, nil
	}
}

// mpiAddress is how a worker says its rank of the world.
func mpiAddress(rank int) string { return "mpi:" + strconv.Itoa(rank) }

func parseMPIAddress(s string) (rank int, err error) {
	digits, ok := strings.CutPrefix(s, "mpi:")
	if rank, err = strconv.Atoi(digits); !ok || err != nil || rank < 0 {
		return 0, fmt.Errorf("%q is not the address of an MPI rank: does this worker run over another transport?", s)
	}
	return rank, nil
}
