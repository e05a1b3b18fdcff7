package mpi

import "strconv"

// Local returns the command that starts n ranks of a program on this machine, with the launcher of
// this binary's MPI. Ranks may outnumber cores: under Open MPI, waiting ranks then yield the
// processor; otherwise they slow down working ones. Root may run them. Messages stay on the loopback
// interface. The options are those that all versions of Open MPI know.
func Local(n int, program ...string) []string {
	launcher := []string{"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "btl_tcp_if_include", "lo"}
	if Family == MPICH {
		launcher = []string{"mpiexec.hydra", "-iface", "lo", "-env", "UCX_NET_DEVICES", "lo"}
	}
	return append(append(launcher, "-n", strconv.Itoa(n)), program...)
}

// EagerLimit is the largest fragment, in bytes, that Open MPI sends over TCP at once here.
const EagerLimit = 4 << 20

// Eager returns the options with which Open MPI's mpirun has messages over TCP of up to limit bytes
// sent at once. Larger ones are announced first, and the answer waits behind the data of its host,
// on slow links for longer than a fragment takes.
func Eager(limit int64) []string {
	return []string{"--mca", "btl_tcp_eager_limit", strconv.FormatInt(limit, 10)}
}

// A Layer is a transport of messages below MPI.
type Layer struct {
	Name string
	Env  []string // of the ranks: selects this layer on the loopback interface
}

// Layers of Open MPI: over TCP, and between ranks of one machine.
var (
	TCP          = Layer{"btl tcp", []string{"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self,tcp"}}
	SharedMemory = Layer{"btl vader", []string{"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self,vader"}}
)

// Layers are the layers of this binary's MPI.
func Layers() []Layer {
	if Family == MPICH { // over TCP alone, Debian's 4.0.2 often does not return from MPI_Finalize
		return []Layer{{Name: "MPICH"}}
	}
	return []Layer{
		TCP,
		{"pml ucx", []string{"OMPI_MCA_pml=ucx", "OMPI_MCA_pml_ucx_tls=any", "OMPI_MCA_pml_ucx_devices=any", "UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo"}},
		{"mtl ofi", []string{"OMPI_MCA_pml=cm", "OMPI_MCA_mtl=ofi", "OMPI_MCA_mtl_ofi_provider_include=tcp", "FI_PROVIDER=tcp", "FI_TCP_IFACE=lo"}},
	}
}
