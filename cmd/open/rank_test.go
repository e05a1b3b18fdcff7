package open

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/transport"
)

func TestControlOf(t *testing.T) {
	tcp := scenario.Scenario{Transport: transport.TCP}
	said := scenario.Scenario{Transport: transport.MPI, Launch: scenario.Launch{Control: "tcp:node001:7000"}}
	wrong := scenario.Scenario{Launch: scenario.Launch{Control: "node001:7000"}}
	for _, tt := range []struct {
		name       string
		s          scenario.Scenario
		at         Place
		controller int
		want       string // "": an error
	}{
		{"as the scenario says", said, Place{Size: 9}, 0, "tcp:node001:7000"},
		{"no address", wrong, Place{Size: 9}, 0, ""},
		{"MPI", scenario.Scenario{Transport: transport.MPI}, Place{Size: 9}, 0, "mpi"},
		{"one machine", tcp, Place{Size: 9, Locals: 9}, 3, "tcp:127.0.0.1:7777"},
		{"first host of Slurm", tcp, Place{Size: 9, Locals: 3, first: "node007"}, 0, "tcp:node007:7777"},
		{"controller on another host", tcp, Place{Size: 9, Locals: 3, first: "node007"}, 8, ""},
		{"not known", tcp, Place{Size: 9, Locals: 3}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := controlOf(&tt.s, tt.at, tt.controller)
			expect.True(t, got == tt.want && (err == nil) == (tt.want != ""), "got %q, %v; want %q", got, err, tt.want)
		})
	}
}

// The controller listens at the address that the workers dial, where that is known.
func TestListenOn(t *testing.T) {
	here := []string{"127.0.0.1", "127.0.1.1", "10.0.0.7", "10.1.0.7"}
	lookup := func(host string) ([]string, error) {
		found := map[string][]string{"node001": {"10.0.0.7"}, "debian": {"127.0.1.1"}, "two": {"10.0.0.7", "10.1.0.7"}, "elsewhere": {"10.9.0.7"}}[host]
		if found == nil {
			return nil, errors.New("no such host")
		}
		return found, nil
	}
	for control, want := range map[string]string{
		"tcp:node001:7777": "tcp:10.0.0.7:7777", "tls:node001:7777": "tls:10.0.0.7:7777", "tcp:debian:7777": "tcp::7777", "tls:two:7777": "tls::7777",
		"tcp:elsewhere:7777": "tcp::7777", "tcp:unknown:7777": "tcp::7777",
		"tcp:127.0.0.1:7777": "tcp:127.0.0.1:7777", "tcp:[fd00::1]:7": "tcp:[fd00::1]:7", "unix:/a": "unix:/a",
	} {
		expect.Equal(t, listenOn(control, here, lookup), want, "listenOn(%q)", control)
	}
}

// Servers are the ranks in their order, without the controller's.
func TestServerOfRank(t *testing.T) {
	var got []int
	for rank := range 5 {
		if r := (Rank{Place: Place{Rank: rank}, controller: 2}); rank != 2 {
			got = append(got, r.server())
		}
	}
	expect.True(t, fmt.Sprint(got) == "[0 1 2 3]", "servers %v", got)
}

func TestMPIAddress(t *testing.T) {
	rank, err := parseMPIAddress("mpi:7")
	expect.True(t, rank == 7 && err == nil, "rank %d, %v", rank, err)
	for _, bad := range []string{"", "mpi:", "mpi:-1", "7", "127.0.0.1:7000"} {
		expect.True(t, expect.Err(parseMPIAddress(bad)) != nil, "%q is taken", bad)
	}
}

func TestReadPlace(t *testing.T) {
	for _, tt := range []struct {
		name, env string
		want      Place
		wrong     string
	}{
		{name: "alone", env: "HOME=/root"},
		{
			name: "Open MPI", env: "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=9 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_RANK=3",
			want: Place{By: "OMPI_COMM_WORLD_RANK", Rank: 3, Size: 9, Local: 1, Locals: 4},
		},
		{
			name: "mpirun inside of a Slurm job",
			env:  "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=9 SLURM_PROCID=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=12",
			want: Place{By: "OMPI_COMM_WORLD_RANK", Rank: 3, Size: 9},
		},
		{
			name: "MPICH", env: "PMI_RANK=0 PMI_SIZE=4 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=4",
			want: Place{By: "PMI_RANK", Size: 4, Locals: 4},
		},
		{
			name: "Flux", env: "FLUX_TASK_RANK=2 FLUX_JOB_SIZE=9 FLUX_TASK_LOCAL_ID=2 FLUX_JOB_NNODES=1 PMI_RANK=2 PMI_SIZE=9",
			want: Place{By: "PMI_RANK", Rank: 2, Size: 9, Local: 2, Locals: 9},
		},
		{
			name: "Flux without PMI", env: "FLUX_TASK_RANK=5 FLUX_JOB_SIZE=9 FLUX_TASK_LOCAL_ID=1 FLUX_JOB_NNODES=3",
			want: Place{By: "FLUX_TASK_RANK", Rank: 5, Size: 9, Local: 1},
		},
		{
			name: "mpirun of MPICH in a task of Flux", env: "FLUX_TASK_RANK=0 FLUX_JOB_SIZE=1 FLUX_TASK_LOCAL_ID=0 FLUX_JOB_NNODES=1 PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=3 MPI_LOCALNRANKS=4",
			want: Place{By: "PMI_RANK", Rank: 3, Size: 4, Local: 3, Locals: 4},
		},
		{name: "PMIx alone", env: "PMIX_RANK=2", want: Place{By: "PMIX_RANK", Rank: 2}},
		{
			name: "srun", env: "SLURM_PROCID=5 SLURM_NTASKS=12 SLURM_STEP_NUM_TASKS=9 SLURM_STEP_ID=1 SLURM_LOCALID=0 SLURM_NODEID=1 " +
				"SLURM_STEP_NUM_NODES=2 SLURM_STEP_TASKS_PER_NODE=5,4 SLURM_STEP_NODELIST=node[007-008] SLURM_JOB_NODELIST=node[001-009]",
			want: Place{By: "SLURM_PROCID", Rank: 5, Size: 9, Locals: 4, first: "node007"},
		},
		{
			name: "srun with PMIx, one node", env: "PMIX_RANK=1 SLURM_PROCID=1 SLURM_NTASKS=3 SLURM_STEP_ID=0 SLURM_LOCALID=1 SLURM_STEP_NUM_NODES=1 SLURM_JOB_NODELIST=a",
			want: Place{By: "PMIX_RANK", Rank: 1, Size: 3, Local: 1, Locals: 3, first: "a"},
		},
		{name: "Indexed Job", env: "JOB_COMPLETION_INDEX=3 JOB_COMPLETIONS=9", want: Place{By: "JOB_COMPLETION_INDEX", Rank: 3, Size: 9}},
		{name: "a pod of a job that is no run", env: "JOB_COMPLETION_INDEX=3"},
		{name: "a batch script is alone", env: "SLURM_PROCID=0 SLURM_NTASKS=9 SLURM_JOB_NODELIST=a"},
		{name: "not a number", env: "PMI_RANK=x PMI_SIZE=4", wrong: "PMI_RANK=x"},
		{name: "beyond the last", env: "PMI_RANK=4 PMI_SIZE=4", wrong: "there are 4 ranks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadPlace(envOf(tt.env))
			if tt.wrong != "" {
				expect.Error(t, err, tt.wrong)
			} else if err != nil || got != tt.want {
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

// envOf is an environment "NAME=VALUE NAME=VALUE".
func envOf(text string) Lookup {
	return func(name string) string {
		for pair := range strings.FieldsSeq(text) {
			if k, v, _ := strings.Cut(pair, "="); k == name {
				return v
			}
		}
		return ""
	}
}

// FuzzReadPlace: whatever a launcher puts into the environment, a place is one of those that there are.
func FuzzReadPlace(f *testing.F) {
	f.Add("OMPI_COMM_WORLD_RANK=3\nOMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_LOCAL_RANK=1")
	f.Add("SLURM_PROCID=1\nSLURM_STEP_ID=0\nSLURM_NTASKS=9\nSLURM_NODEID=2\nSLURM_STEP_NODELIST=rack[2-3]n[01-16],b7\nSLURM_STEP_TASKS_PER_NODE=3(x2),1")
	f.Fuzz(func(t *testing.T, text string) {
		env := map[string]string{}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			env[name] = value
		}
		p, err := ReadPlace(func(name string) string { return env[name] })
		if err == nil && (p.Rank < 0 || p.Size < 0 || p.Size > 0 && p.Rank >= p.Size || p.Local < 0 || p.Locals < 0 || strings.ContainsAny(p.first, "[")) {
			t.Fatalf("%q: %+v", text, p)
		}
	})
}

// TestPortOfRank: the first server of a host listens on launch.data_port also where the controller is beside it, and no two of
// a host on one port.
func TestPortOfRank(t *testing.T) {
	for _, x := range []struct{ rank, local, controller, want int }{
		{1, 1, 0, 0}, {2, 2, 0, 1}, {2, 0, 0, 0}, {3, 1, 0, 1}, {1, 1, 2, 1}, {3, 3, 2, 2},
	} {
		r := &Rank{controller: x.controller, Place: Place{Rank: x.rank, Local: x.local}}
		expect.Equal(t, r.nth(), x.want, "rank %d, local %d, controller %d", x.rank, x.local, x.controller)
	}
}
