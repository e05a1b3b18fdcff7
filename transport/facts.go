package transport

import "slices"

// Names of transports.
const (
	TCP  = "tcp"
	MPI  = "mpi"
	RDMA = "rdma"
)

// Facts are what the program knows of a transport by its name; fabric/open opens it.
type Facts struct {
	Name string
	// Launched: what starts the ranks (mpirun, srun) connects them, for control, too. Otherwise
	// workers listen at addresses, and join by themselves.
	Launched   bool
	Paths      bool   // the sender chooses the path of each message; otherwise the network does
	Labs       bool   // it crosses the links of a lab
	Emulated   bool   // it crosses the links of an emulated network, too
	IO         bool   // payload moves in ways that a scenario chooses among
	Barrier    bool   // barrier mpi is there
	Unmeasured string // why no preflight measures how servers reach each other; "": it does
	Needs      string // packages that a build with the build tag Name needs; "": each binary has it
}

var table = []Facts{
	{Name: TCP, Paths: true, Labs: true, Emulated: true, IO: true},
	{Name: MPI, Launched: true, Labs: true, Barrier: true, Unmeasured: "MPI finds its own addresses", Needs: "libopenmpi-dev, pkg-config and gcc"},
	{Name: RDMA, Paths: true, Unmeasured: "verbs do not take the ways of IP", Needs: "libibverbs-dev and gcc"},
}

// Names lists the transports.
func Names() (names []string) {
	for _, f := range table {
		names = append(names, f.Name)
	}
	return names
}

// Of returns the facts of a transport, none where there is none of that name.
func Of(name string) (f Facts) {
	if i := slices.Index(Names(), name); i >= 0 {
		f = table[i]
	}
	return f
}
