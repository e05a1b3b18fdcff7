//go:build mpi

package wrapped

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/testing/expect"
	"evbench/topology"
)

// ranks is how many a test starts on this machine.
const ranks = 4

// mpicc is of the MPI that is tested: MPICH's where MPICC says so.
func mpicc() string { return cmp.Or(os.Getenv("MPICC"), "mpicc") }

func hydra() bool { return strings.Contains(mpicc(), "mpich") }

// onlyOpenMPI skips a test of a program that Debian has for Open MPI alone.
func onlyOpenMPI(t *testing.T) {
	t.Helper()
	if hydra() {
		t.Skip("the program is of Open MPI")
	}
}

// always has them follow the plan all the same: they share memory.
const always = "EVBENCH_ALWAYS=1"

// run runs a program under mpirun with the library, "": none, and what environment it is given,
// and returns what it printed, what it said, and the lines of its times.
func run(t *testing.T, lib string, env []string, program ...string) (out, said string, times []string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "times")
	// Who hangs is ended, much later than any machine takes.
	command := []string{"mpirun", "--oversubscribe", "--timeout", "300", "--bind-to", "none", "--mca", "btl", "self,vader", "-n", fmt.Sprint(ranks)}
	if hydra() {
		command = []string{"mpiexec.hydra", "-iface", "lo", "-n", fmt.Sprint(ranks)}
	}
	if lib != "" {
		env = append([]string{"LD_PRELOAD=" + lib, "EVBENCH_TIMES=" + file}, env...)
	}
	if hydra() {
		command = append(append(command, "env"), env...)
	} else {
		for _, e := range env {
			command = append(command, "-x", e)
		}
	}
	command = append(command, program...)
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "MPIEXEC_TIMEOUT=300", "TMPDIR="+t.TempDir())
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", program, err, o.Bytes(), e.Bytes())
	}
	if lib != "" {
		text := expect.Value(os.ReadFile(file))(t)
		times = strings.Split(strings.TrimSpace(string(text)), "\n")
		want := fmt.Sprintf("loaded %d", ranks)
		expect.True(t, times[0] == want, "the times begin with %q, not %q", times[0], want)
	}
	if more, err := os.ReadFile(filepath.Join(dir, "hpccoutf.txt")); err == nil {
		o.Write(more)
	}
	// mpirun says that it passes SIGCONT on, to who was stopped and goes on.
	for l := range strings.Lines(e.String()) {
		if !strings.Contains(l, "mpirun: Forwarding signal") {
			said += l
		}
	}
	return o.String(), said, times
}

func library(t *testing.T) string {
	return once(t, "library", func(dir string) string { return expect.Value(Build(t.Context(), mpicc(), dir))(t) })
}

// sleeping are the arguments of a compiler with which ranks that wait leave the processor to others.
var sleeping = []string{"-rdynamic", "testdata/sleep.c", "-ldl"}

// compile builds a program; of MPICH's MPI_STATUSES_IGNORE gcc thinks wrongly that it is written to.
func compile(t *testing.T, args ...string) {
	t.Helper()
	args = append(args, sleeping...)
	said, err := exec.Command(mpicc(), append([]string{"-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-pthread"}, args...)...).CombinedOutput()
	expect.MustTrue(t, err == nil, "%s: %v\n%s", mpicc(), err, said)
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.txt")
	expect.Must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// count returns how many calls of a kind were done in a way.
func count(times []string, beginning string) (n int) {
	for _, l := range times {
		if strings.HasPrefix(l, beginning+" ") {
			n++
		}
	}
	return n
}

// largeCounts reports whether the MPI has calls with large counts: MPICH, Open MPI from 6 on.
func largeCounts(t *testing.T, lib string) bool {
	return bytes.Contains(expect.Value(os.ReadFile(lib))(t), []byte("PMPI_Alltoall_c\x00"))
}

// TestExchange has every kind of call give what MPI gives: with a rank a server, with two on
// each of two hosts, and with plans that are for others.
//
//gate:mpich a_rank two_on adapters_by shared
//gate:debian13 a_rank adapters_by shared
func TestExchange(t *testing.T) {
	lib, program := library(t), filepath.Join(t.TempDir(), "exchange")
	fortran, large := "-lmpi_mpifh", 0
	if hydra() {
		fortran = "-lmpichfort"
	}
	if largeCounts(t, lib) {
		large = 1
	}
	compile(t, "-O1", "-o", program, "testdata/exchange.c", fortran)
	// What this MPI has of the calls that the library names, but does not follow.
	var named []string
	for _, call := range []string{"MPI_Alltoallw", "MPI_Ialltoallw", "MPI_Alltoall_init", "MPI_Alltoallw_c"} {
		if bytes.Contains(expect.Value(os.ReadFile(program))(t), []byte(call+"\x00")) {
			named = append(named, call)
		}
	}
	expect.True(t, len(named) >= 2+2*large, "of the calls to name there are only %v", named)
	whole := text(t, built(t, topology.Options{Ports: 2, Leaves: 2, Spines: 3}, "leaf0-spine0"))
	rails := func(t *testing.T, hosts ...string) string {
		for i := range hosts {
			hosts[i] = fmt.Sprintf("%d %s", i, hosts[i])
		}
		_, file := railed(t, nil, hosts...)
		return file
	}
	two := text(t, built(t, topology.Options{Ports: 1, Leaves: 2}))
	hosts := func(names ...string) string {
		var b strings.Builder
		for i, n := range names {
			fmt.Fprintf(&b, "# x-host %d %s\n", i, n)
		}
		return strings.Replace(two, "plan 4\n", "plan 4\n"+b.String(), 1)
	}
	for _, tt := range []struct {
		name, plan, arg string
		planned         bool
		said            string
	}{
		{"a rank a server", whole, "1", true, "MPI_IN_PLACE"},
		{"over given tables", overTables(1, ""), "1", true, "MPI_IN_PLACE"},
		{"adapters over given tables", overTables(2, strings.NewReplacer(" a ", " node0 ", " b ", " node1 ").Replace(railLines)), "2", true, "the communicator has 2 ranks, the plan 4"},
		{"two on a host", hosts("node0 2", "node1 2"), "2", true, "the communicator has 2 ranks, the plan 4"},
		{"others hosts", hosts("node7 2", "node1 2"), "2", false, "the plan has no host node0"},
		{"other numbers of ranks", hosts("node0 1", "node1 3"), "2", false, "node0.cluster has more ranks than the plan's 1"},
		{"more hosts", text(t, built(t, topology.Options{Ports: 4, Leaves: 4})), "1", false, "the communicator has 4 ranks, the plan 16"},
		{"two adapters on a host", rails(t, "node0 1", "node1 1 mlx5_1", "node0 1 mlx5_1", "node1 1 mlx5_0"), "2", true, "the communicator has 2 ranks, the plan 4"},
		{"two adapters for three ranks", rails(t, "node0 1", "node1 1", "node0 1", "node1 1"), "3", false, "node0.cluster has more ranks than the plan's 2"},
		{"adapters by rank", rails(t, "#0 1", "#1 1", "#0 1", "#1 1"), "4", true, "the communicator has 2 ranks, the plan 4"},
		{"changed", strings.Replace(whole, "\n0 0 ", "\n0 3 ", 1), "1", false, "the hash is not that"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, said, times := run(t, lib, []string{"EVBENCH_PLAN=" + write(t, tt.plan), "EVBENCH_MIN=0", always}, program, tt.arg)
			expect.True(t, out == "ok\n" && strings.Contains(said, tt.said), "printed %q, said %q", out, said)
			for _, call := range named {
				expect.Contains(t, said, "1 call not in the order of the plan: "+call+" is left to the MPI\n")
			}
			refused := slices.ContainsFunc(times, func(l string) bool { return strings.HasPrefix(l, "refused ") && strings.Contains(l, tt.said) })
			expect.Equal(t, refused, !tt.planned, "the times have a refusal: %q", times)
			// world, reversed, Fortran, derived type; not half of them, nor in place
			if got := count(times, "alltoall plan"); (got == 4+2*large) != tt.planned || count(times, "alltoall own") == 0 {
				t.Errorf("%d calls in the order of the plan:\n%s", got, strings.Join(times, "\n"))
			}
			expect.Equal(t, (count(times, "alltoallv plan") == 2+large), tt.planned, "calls of MPI_Alltoallv in the order of the plan")
		})
	}
	t.Run("no file", func(t *testing.T) {
		if out, said, _ := run(t, lib, []string{"EVBENCH_PLAN=/nowhere"}, program); out != "ok\n" || !strings.Contains(said, "/nowhere cannot be read") {
			t.Errorf("printed %q, said %q", out, said)
		}
	})
	t.Run("small", func(t *testing.T) {
		out, said, times := run(t, lib, []string{"EVBENCH_PLAN=" + write(t, whole), always}, program)
		expect.True(t, out == "ok\n" && strings.Contains(said, "less than EVBENCH_MIN, 16384 bytes to a rank") && count(times, "alltoall plan") <= 0,
			"printed %q, said %q", out, said)
	})
	t.Run("shared memory", func(t *testing.T) {
		out, said, times := run(t, lib, []string{"EVBENCH_PLAN=" + write(t, whole), "EVBENCH_MIN=1"}, program)
		expect.False(t, out != "ok\n" || !strings.Contains(said, "all ranks share memory and use no link") || strings.Contains(strings.Join(times, "\n"), "plan"),
			"printed %q, said %q", out, said)
	})
}

// railed is a plan of four servers with lines for their hosts, in an order of their own.
func railed(t *testing.T, down []string, hosts ...string) (*plan.Plan, string) {
	t.Helper()
	p := built(t, topology.Options{Ports: 2, Leaves: 2, Spines: 3}, down...)
	return p, strings.Replace(text(t, p), "plan 4\n", "plan 4\n# x-host "+strings.Join(hosts, "\n# x-host ")+"\n", 1)
}

// TestExchangeAdapters has ranks take the adapters of their host in the order of its lines, and
// send what stays within a host before the first phase.
//
//gate:mpich
func TestExchangeAdapters(t *testing.T) {
	lib, program := library(t), filepath.Join(t.TempDir(), "order")
	compile(t, "-O1", "-o", program, "testdata/order.c")
	server := []int{2, 0, 1, 3} // of each rank
	p, file := railed(t, []string{"leaf0-spine0"}, "2 node0 1 mlx5_1", "1 node1 1", "0 node0 1 mlx5_0", "3 node1 1")
	out, said, times := run(t, lib, []string{"EVBENCH_PLAN=" + write(t, file), "EVBENCH_MIN=1", always}, program, "2")
	expect.True(t, said == "" && count(times, "alltoall plan") == 2, "said %q, %v", said, times)
	to := map[[2]int]int{} // by phase and rank
	for m := range p.Schedule.All() {
		if src, dst := slices.Index(server, m.Src), slices.Index(server, m.Dst); src/2 != dst/2 {
			to[[2]int{m.Phase, src}] = dst + 1
		}
	}
	for rank := range server {
		want := fmt.Sprintf("sent %d: %d |", rank, rank^1)
		for phase := range p.Phases() {
			if next := to[[2]int{phase, rank}]; next > 0 {
				want = strings.TrimSuffix(want, " |") + fmt.Sprintf(" | %d", next-1)
			}
		}
		got := ""
		for l := range strings.Lines(out) {
			if strings.HasPrefix(l, fmt.Sprintf("sent %d:", rank)) {
				got = strings.TrimSuffix(strings.TrimSpace(l), " |")
			}
		}
		expect.Equal(t, got, want, "messages of a rank")
	}
}

// TestExchangeDevices has the library choose an adapter for UCX, by the rank on the host.
//
//gate:mpich named
//gate:debian13 named
func TestExchangeDevices(t *testing.T) {
	lib, program := library(t), filepath.Join(t.TempDir(), "order")
	compile(t, "-O1", "-o", program, "testdata/order.c")
	self := expect.Value(os.Hostname())(t)
	short, _, _ := strings.Cut(self, ".")
	_, file := railed(t, nil, "0 #0 1", "2 #0 1", "1 #0 1", "3 #0 1")
	ucx := []string{always, "EVBENCH_MIN=1", "EVBENCH_PLAN=" + write(t, file)}
	if !hydra() { // MPICH takes UCX; over TCP alone Debian's often does not return from MPI_Finalize
		ucx = append(ucx, "OMPI_MCA_pml=ucx", "OMPI_MCA_pml_ucx_tls=any", "OMPI_MCA_pml_ucx_devices=any", "UCX_TLS=tcp,self")
	}
	for _, tt := range []struct{ name, devices, own, want, said string }{
		{"named", "other/eth7," + strings.ToUpper(short) + ".net/lo/lo/lo/lo", "", "lo lo lo lo", ""},
		{"one for all", short + "/lo,other/eth7", "", "lo lo lo lo", ""},
		{"set by the user", short + "/none/none/none/none", "lo", "lo lo lo lo", ""},
		{"fewer", short + "/lo/lo/lo", "", "lo lo lo -", "has no adapter for rank 3 of it: UCX_NET_DEVICES is not set"},
		{"no device", short + "/lo/mlx5_x/lo/lo", "", "lo - lo lo", "has no device mlx5_x: set UCX_NET_DEVICES for rank 1 of it"},
		{"others", short + "2/lo", "", "- - - -", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := append([]string{"EVBENCH_DEVICES=" + tt.devices, "EVBENCH_PATH_BITS=" + short + "/3/0/1/2,other/1"}, ucx...)
			if tt.own != "" {
				env = append(env, "UCX_NET_DEVICES="+tt.own)
			}
			out, said, times := run(t, lib, env, program, "4")
			var got []string
			for l := range strings.Lines(out) {
				if _, device, ok := strings.Cut(strings.TrimSpace(l), ": "); ok && strings.HasPrefix(l, "device ") {
					got = append(got, device)
				}
			}
			expect.Equal(t, strings.Join(got, " "), tt.want, "UCX_NET_DEVICES")
			expect.Contains(t, out, "bits 0: 3", "bits 1: 0", "bits 2: 1", "bits 3: 2")
			expect.True(t, strings.Contains(said, tt.said) && (tt.said != "" || said == "") && count(times, "alltoall plan") == 2, "said %q, %v", said, times)
		})
	}
}

// TestLegal has programs that are right without the library be right with it: while calls follow
// the plan, are left to the MPI, and are only timed. Where what the library says of calls does not tell
// cases apart, a program does several: the launch of ranks takes longer than they do.
//
//gate:mpich
//gate:debian13
func TestLegal(t *testing.T) {
	lib, program := library(t), filepath.Join(t.TempDir(), "legal")
	compile(t, "-O1", "-o", program, "testdata/legal.c")
	plan := "EVBENCH_PLAN=" + write(t, text(t, built(t, topology.Options{Ports: 2, Leaves: 2, Spines: 3}, "leaf0-spine0")))
	const few, much = "2", "30000" // numbers of four bytes, below and above EVBENCH_MIN
	cases := []string{"attributes", "threads", "never freed", "turns", "crossed", "depends", "many"}
	if !hydra() { // Debian's MPICH does not check the arguments of a call, and crashes
		cases = append(cases, "errors")
	}
	does := func(lib string, env []string, n string, cases ...string) (out, said string, times []string) {
		return run(t, lib, env, append([]string{program, n}, cases...)...)
	}
	all, _, _ := does("", nil, few, cases...)
	alone := strings.SplitAfter(all, "ok\n")
	expect.MustTrue(t, len(alone) == len(cases)+1 && alone[len(cases)] == "", "without the library: %q", all)
	check := func(how, out, want, said string, times []string, planned, left int) {
		t.Helper()
		expect.True(t, out == want, "%s: printed %q, without the library %q; said %q", how, out, want, said)
		if got := count(times, "alltoall plan") + count(times, "alltoallv plan"); got != planned {
			t.Errorf("%s: %d calls in the order of the plan, want %d:\n%s", how, got, planned, strings.Join(times, "\n"))
		}
		expect.False(t, left >= 0 && strings.Count(said, "libevbench: ") != left, "%s: said %q, want %d lines", how, said, left)
	}
	for _, tt := range []struct {
		cases   []string
		planned int // calls in the order of the plan, where it is followed
		left    int // lines that say what was left to the MPI
	}{
		{cases[:4], 2 + 3*10, 0},
		{cases[4:5], 0, 1},
		{cases[5:6], 0, 1},
		{cases[6:7], 4, 2},
		{cases[7:], 2 * len(cases[7:]), 0},
	} {
		if len(tt.cases) == 0 {
			continue
		}
		how := strings.Join(tt.cases, ", ")
		i := slices.Index(cases, tt.cases[0])
		out, said, times := does(lib, []string{plan, always}, much, tt.cases...)
		check(how, out, strings.Join(alone[i:i+len(tt.cases)], ""), said, times, tt.planned, tt.left)
	}
	out, said, times := does(lib, []string{plan, always}, few, cases...)
	check("small", out, all, said, times, 0, -1)
	out, said, times = does(lib, nil, few, cases...)
	check("times", out, all, said, times, 0, 0)
	// Open MPI's own truncated call does not always return.
	out, said, times = does(lib, []string{plan, always}, much, "truncated")
	const parts = "rank 1 class 0\ntruncated rank 2 class "
	expect.True(t, strings.Contains(out, parts) && !strings.Contains(out, parts+"0\n") && strings.HasSuffix(out, "ok\n"), "printed %q", out)
	check("truncated", out, out, said, times, 2, 0)
}

// TestOtherMPI has a library of another MPI than the program's end it.
//
//gate:mpich
//gate:debian13
func TestOtherMPI(t *testing.T) {
	other := "mpicc.mpich"
	if hydra() {
		other = "mpicc.openmpi"
	}
	lib, program := expect.Value(Build(t.Context(), other, t.TempDir()))(t), filepath.Join(t.TempDir(), "legal")
	compile(t, "-O1", "-o", program, "testdata/legal.c")
	cmd := exec.Command(program, "2", "turns")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+lib)
	said, _ := cmd.CombinedOutput()
	expect.True(t, cmd.ProcessState.ExitCode() == 2 && strings.Contains(string(said), "take the libevbench of its MPI"), "%v: %s", cmd.ProcessState, said)
}

// python is Debian's, which knows its packages, and not another of PATH.
const python = "/usr/bin/python3"

// TestPython exchanges NumPy buffers by mpi4py, with and without the plan.
func TestPython(t *testing.T) {
	onlyOpenMPI(t)
	lib := library(t)
	script := expect.Value(filepath.Abs("testdata/exchange.py"))(t)
	program := []string{python, script, "50000", "3"}
	want, _, before := run(t, lib, nil, program...)
	plan := write(t, text(t, built(t, topology.Options{Ports: 2, Leaves: 2, Spines: 3}, "leaf0-spine0")))
	got, said, after := run(t, lib, []string{"EVBENCH_PLAN=" + plan, always}, program...)
	expect.True(t, got == want && said == "", "received %s, without the plan %s; said %q", got, want, said)
	for _, kind := range []string{"alltoall", "alltoallv"} {
		if count(before, kind+" own") != 3 || count(after, kind+" plan") != 3 {
			t.Errorf("%s\nand with the plan\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
	}
}

// TestFortran exchanges by Fortran's modules: those of Open MPI call PMPI, those of MPICH call MPI,
// and each has an MPI_IN_PLACE of its own.
//
//gate:mpich
//gate:debian13
func TestFortran(t *testing.T) {
	lib, compiler := library(t), "mpif90.openmpi"
	if hydra() {
		compiler = "mpif90.mpich"
	}
	plan := write(t, text(t, built(t, topology.Options{Ports: 2, Leaves: 2, Spines: 3}, "leaf0-spine0")))
	named := []string{"MPI_Alltoallw", "MPI_Ialltoallv", "MPI_Ialltoallw"}
	if persistent := []string{"MPI_Alltoall_init", "MPI_Alltoallv_init", "MPI_Alltoallw_init"}; bytes.Contains(expect.Value(os.ReadFile(lib))(t), []byte(persistent[0]+"\x00")) {
		named = append(named, persistent...)
	}
	for _, tt := range []struct {
		name    string
		flags   []string
		planned int // calls of each kind in the order of the plan
	}{
		{"mpi", nil, 1},
		{"mpi_f08", []string{"-DF08"}, 1},
		{"large counts", []string{"-DF08", "-DLARGE"}, 2},
	} {
		if tt.planned == 2 && !largeCounts(t, lib) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "exchange")
			if len(named) > 3 { // Open MPI has persistent calls from 5 on
				tt.flags = append(tt.flags, "-DINIT")
			}
			cmd := exec.Command(compiler, slices.Concat(tt.flags, []string{"-cpp", "-fallow-argument-mismatch", "-J", dir, "-o", program, "testdata/fortran.f90"}, sleeping)...)
			said, err := cmd.CombinedOutput()
			expect.MustTrue(t, err == nil, "%s: %v\n%s", compiler, err, said)
			out, left, times := run(t, lib, []string{"EVBENCH_PLAN=" + plan, "EVBENCH_MIN=1", always}, program)
			expect.True(t, strings.TrimSpace(out) == "ok" && strings.Contains(left, "1 call on 1 communicator not in the order of the plan: MPI_IN_PLACE"),
				"printed %q, said %q", out, left)
			for _, kind := range []string{"alltoall plan", "alltoallv plan"} {
				expect.Equal(t, count(times, kind), tt.planned, "%s", kind)
			}
			for _, call := range named {
				expect.Contains(t, left, "1 call not in the order of the plan: "+call+" is left to the MPI\n")
			}
		})
	}
}

// TestHPCC runs the HPC Challenge, whose FFT and transpose exchange matrices, with and without
// the plan. Apart from times, its results are the same.
func TestHPCC(t *testing.T) {
	onlyOpenMPI(t)
	lib := library(t)
	input := expect.Value(filepath.Abs("testdata/hpccinf.txt"))(t)
	program := []string{"sh", "-c", `[ "$OMPI_COMM_WORLD_RANK" != 0 ] || cp "$0" hpccinf.txt; exec hpcc`, input}
	plan := write(t, text(t, built(t, topology.Options{Ports: 2, Leaves: 2, Spines: 3}, "leaf0-spine0")))
	before, _, _ := run(t, lib, nil, program...)
	after, _, times := run(t, lib, []string{"EVBENCH_PLAN=" + plan, "EVBENCH_MIN=1", always}, program...)
	if count(times, "alltoall plan") == 0 {
		t.Errorf("no call in the order of the plan:\n%s", strings.Join(times, "\n"))
	}
	for _, name := range []string{"Success", "MPIFFT_N", "MPIFFT_maxErr", "PTRANS_n", "PTRANS_residual", "HPL_N"} {
		want, got := result(before, name), result(after, name)
		expect.False(t, got == "" || got != want || name == "Success" && got != "1", "%s=%s, without the plan %s", name, got, want)
	}
}

// result returns a line NAME=value of what hpcc wrote.
func result(out, name string) string {
	for l := range strings.Lines(out) {
		if value, ok := strings.CutPrefix(l, name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
