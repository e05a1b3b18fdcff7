package transport

import (
	"slices"

	"evbench/internal/lists"
)

// Names of transports.
const (
	TCP  = "tcp"
	MPI  = "mpi"
	RDMA = "rdma"
)

// Facts describe a transport by its name; cmd/open opens it.
type Facts struct {
	Name string
	// Launched: the launcher of the ranks (mpirun, srun) connects them, also for control. Otherwise
	// workers listen at addresses, and join by themselves.
	Launched   bool
	Paths      bool   // the sender chooses the path of each message; otherwise the network does
	Labs       bool   // it crosses the links of a lab
	Emulated   bool   // it crosses the links of an emulated network, too
	IO         bool   // a scenario can choose how payload moves
	Barrier    bool   // barrier mpi exists
	Unmeasured string // why no preflight measures the paths between servers; "": it does
	Needs      string // packages for a build with the build tag Name; "": every binary has the transport
}

var table = []Facts{
	{Name: TCP, Paths: true, Labs: true, Emulated: true, IO: true},
	{Name: MPI, Launched: true, Labs: true, Barrier: true, Unmeasured: "MPI finds its own addresses", Needs: "libopenmpi-dev or libmpich-dev, and gcc"},
	{Name: RDMA, Paths: true, Unmeasured: "verbs do not take the ways of IP", Needs: "libibverbs-dev and gcc"},
}

// Names lists the transports.
func Names() (names []string) {
	return lists.Map(table, func(f Facts) string { return f.Name })
}

// Of returns the facts of a transport, or none for an unknown name.
func Of(name string) (f Facts) {
	if i := slices.Index(Names(), name); i >= 0 {
		f = table[i]
	}
	return f
}
