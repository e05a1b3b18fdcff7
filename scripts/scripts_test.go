// Package scripts_test tries check, same and others with programs that stand in for go and evbench.
package scripts_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"evbench/internal/hostlist"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// executable writes a program of sh, and returns its path.
func executable(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	expect.Must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

// script runs a program with variables of its own, and returns what it prints and its exit code.
func script(t *testing.T, vars []string, program string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), vars...)
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// same finds equal what is, and names what differs.
func TestSame(t *testing.T) {
	need.Heavy(t)
	dir := t.TempDir()
	program := executable(t, dir, "program", `for a; do [ "$last" != -o ] || echo "$ANSWER" >"$a"; last=$a; done; echo "$ANSWER"`+"\n")
	same := func(answer string, args ...string) (string, int) {
		return script(t, []string{"ANSWER=" + answer, "TMPDIR=" + dir}, "./same", append(args, "--evbench", program, "schema")...)
	}
	sums, code := same("one")
	before := filepath.Join(dir, "before")
	expect.Must(t, os.WriteFile(before, []byte(sums), 0o600))
	expect.MustTrue(t, regexp.MustCompile(`(?m)^[0-9a-f]{64}  schema/man/stdout$`).MatchString(sums) && code == 0, "ended with %d:\n%s", code, sums)
	if said, code := same("one", "--against", before); code != 0 || strings.Contains(said, "differs") {
		t.Errorf("equal, and ended with %d:\n%s", code, said)
	}
	if said, code := same("two", "--against", before, "--keep", filepath.Join(dir, "kept")); code != 1 || !strings.Contains(said, "differs  schema/man/stdout\n") {
		t.Errorf("another answer, and ended with %d:\n%s", code, said)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "kept/schema/man/stdout"))
	expect.True(t, string(kept) == "two\n", "kept is %q, %v", kept, err)
}

// A build says what it is doing, what is wrong, and how Go ended.
func TestBuild(t *testing.T) {
	need.Heavy(t)
	dir := t.TempDir()
	program := executable(t, dir, "go", `
[ "$1" = env ] && { echo cc; exit; }
[ "$1" = list ] && { printf 'a\nb\nc\n'; exit; }
i=0
while [ $i -lt 120 ]; do i=$((i + 1)); echo "evbench/p$i" >&2; done
[ "$ENDS" = 0 ] || printf '# evbench/plan\nplan/a.go:1:2: no such thing\n' >&2
exit $ENDS
`)
	for ends, want := range map[string]string{"0": "100 of about 3 packages are compiled\n" + dir + "/evbench: pure Go\n", "7": "100 of about 3 packages are compiled\n# evbench/plan\nplan/a.go:1:2: no such thing\n"} {
		said, code := script(t, []string{"GO=" + program, "BIN=" + dir, "TAGS=", "ENDS=" + ends}, "./build")
		expect.True(t, fmt.Sprint(code) == ends && strings.HasPrefix(said, "building "+dir+"/evbench (pure Go)") && strings.Contains(said, "\n50 of about 3 packages are compiled\n"+want),
			"with Go ending with %s it ended with %d:\n%s", ends, code, said)
	}
}

// Flags of an MPI come from its compiler wrapper alone: those of Open MPI, for which a package asks
// pkg-config, would have another MPI's program compiled with Open MPI's mpi.h.
func TestWithMPI(t *testing.T) {
	dir := t.TempDir()
	wrapper := executable(t, dir, "mpicc", "echo gcc -Wl,-z,relro -I/other/include -L/other/lib -lother\n")
	vars := []string{"MPICC=" + wrapper, "PATH=" + dir + ":" + os.Getenv("PATH")}
	executable(t, dir, "pkg-config", `echo "-I/openmpi $*"`)
	said, code := script(t, vars, "./with-mpi", "sh", "-c", `echo $CGO_CFLAGS; echo $CGO_LDFLAGS
		tool=$(go env PKG_CONFIG)
		"$tool" --cflags -- ompi ompi; "$tool" --libs -- ompi; "$tool" --cflags -- other`)
	expect.Equal(t, said, "-O2 -g -I/other/include\n-O2 -g -Wl,-z,relro -L/other/lib -lother\n-I/openmpi --cflags -- other\n", "the flags of Go, and of pkg-config")
	expect.Equal(t, code, 0, "exit code")
}

// TestHosts: --hosts is a list or a file, for mpirun and for ssh.
func TestHosts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		expect.Must(t, os.WriteFile(name, []byte(text), 0o700))
		return name
	}
	evbench := write("evbench", "#!/bin/sh\ncase $1 in validate) echo 5 ;; mpi) ;; *) cat \"$2\" ;; esac\n")
	scenario, file := write("s.yaml", "topology: FT(2;2,2)\n"), write("hosts", "n1\nn2 # two\n")
	for _, c := range []struct{ script, hosts, want string }{
		{"run-mpirun.sh", "n[08-10],m[1,3]x", " --host n08:1,n09:1,n10:1,m1x:1,m3x:1 "},
		{"run-mpirun.sh", file, " --hostfile " + file + " "},
		{"run-ssh.sh", "n[08-10]", "launch: {kind: ssh, hosts: \"n[08-10]\"}"},
		{"run-ssh.sh", file, "launch: {kind: ssh, hosts: \"n1,n2\"}"},
	} {
		cmd := exec.Command("./"+c.script, "--hosts", c.hosts, scenario)
		cmd.Env = append(os.Environ(), "EVBENCH="+evbench, "MPIRUN=echo")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s --hosts %s: %v, no %q in\n%s", c.script, c.hosts, err, c.want, out)
		}
	}
}

// TestDebian13Ends: what a time limit sends to its group ends the command there. It takes the root that the gate makes.
func TestDebian13Ends(t *testing.T) {
	cache := expect.Value(os.UserCacheDir())(t)
	need.Programs(t, "debian13", "mmdebstrap")
	if roots, _ := filepath.Glob(filepath.Join(cache, "evbench", "debian13-*", "root")); len(roots) == 0 && os.Getenv("EVBENCH_REQUIRED") == "" {
		need.Optional(t, "the root of Debian 13, which scripts/debian13 true makes in some minutes") // the gate makes it, and debian13 waits
	}
	cmd := exec.Command("./debian13", "sh", "-c", "echo begun; exec sleep 600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := expect.Value(cmd.StdoutPipe())(t)
	expect.Must(t, cmd.Start())
	expect.Must(t, expect.Err(io.ReadFull(out, make([]byte, 6))))
	expect.Must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM))
	expect.Error(t, cmd.Wait(), "exit status 143")
}

// TestListsRefused: run-mpirun.sh takes no list that evbench does not take, nor another way round.
func TestListsRefused(t *testing.T) {
	dir := t.TempDir()
	evbench := executable(t, dir, "evbench", "[ \"$1\" = mpi ] || echo 5\n")
	for _, list := range []string{"n[3-1]", "n[1-]", "n[-3]", "n[1--3]", "n[1,,2]", "n[]", "n[1", "n]", "a,,b", "a,", ",a", "n[1-99999999]", "n(1)", "a/b", "a#b", "n[1-2-3]",
		"n[3-10]", "n[08-10],m[1,3]x", "a", "a,b-1", "a1-0,b", "n[1-2]m[1-2]", "n[9-11]"} {
		said, code := script(t, []string{"EVBENCH=" + evbench, "MPIRUN=echo"}, "./run-mpirun.sh", "--hosts", list, "s.yaml")
		names, err := hostlist.Expand(list)
		if err != nil {
			expect.True(t, code == 2 && strings.Contains(said, "not a list of hosts"), "%s: %d: %s", list, code, said)
			continue
		}
		expect.True(t, code == 0 && strings.Contains(said, " --host "+strings.Join(names, ":1,")+":1 "), "%s: %d: %s", list, code, said)
	}
}

// TestRatios draws a run that was measured by Debian's pandas.
func TestRatios(t *testing.T) {
	need.Heavy(t)
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		need.Missing(t, "pandas", err.Error())
	}
	if out, err := exec.Command("/usr/bin/python3", "-c", "from importlib.util import find_spec; exit(not (find_spec('pandas') and find_spec('matplotlib')))").CombinedOutput(); err != nil {
		need.Missing(t, "pandas", "pandas or matplotlib "+string(out))
	}
	dir := t.TempDir()
	out, err := exec.Command("tar", "xzf", "testdata/run.tar.gz", "-C", dir).CombinedOutput()
	expect.MustTrue(t, err == nil, "%v: %s", err, out)
	ratios := func(args ...string) (string, int) {
		return script(t, []string{"MPLCONFIGDIR=" + dir}, "/usr/bin/python3", append([]string{"ratios.py"}, args...)...) // Debian's, not another of PATH
	}
	figure := filepath.Join(dir, "ratios.svg")
	said, code := ratios(filepath.Join(dir, "run"), figure)
	expect.MustTrue(t, code == 0, "ended with %d; scripts/setup installs what it needs:\n%s", code, said)
	for _, want := range []string{`(?m)^FORS +0\.816371 +0\.710610 +1\.127482 +0\.75000 +unresolved$`, `(?m)^ordered +0\.788575 +NaN +NaN +0\.75000 +unresolved$`} {
		expect.True(t, regexp.MustCompile(want).MatchString(said), "no %s in\n%s", want, said)
	}
	expect.Contains(t, string(expect.Value(os.ReadFile(figure))(t)), "<!-- FORS -->", "<!-- ratio to control -->")
	if said, code = ratios(dir); code != 1 || !strings.Contains(said, "summary.json") || strings.Contains(said, "Traceback") {
		t.Errorf("without a run it ended with %d:\n%s", code, said)
	}
}

// mpirun gets the nodes of a PBS job, unless a file of hosts or a list is given.
func TestRunMPIRunPlaces(t *testing.T) {
	dir := t.TempDir()
	evbench := executable(t, dir, "evbench", `[ "$4" = none ] && echo && exit; [ "$1" = mpi ] && shift 2 && printf 'for\n%s\n' "$*" && exit; echo 9`+"\n")
	mpirun := executable(t, dir, "mpirun", "printf '%s ' \"$@\"\n")
	for _, tt := range []struct{ vars, args, want string }{
		{"PBS_NODEFILE=nodes", "s.yaml", "--hostfile nodes for -- " + mpirun + " " + evbench + " run s.yaml"},
		{"PBS_NODEFILE=nodes HOSTFILE=hosts", "s.yaml", "--hostfile hosts for -- " + mpirun + " " + evbench},
		{"PBS_NODEFILE=nodes", "--hosts node[1-2],a s.yaml", "--host node1:1,node2:1,a:1 for -- "},
		{"PBS_NODEFILE=nodes", "--hosts node[8-10],b[08-09] s.yaml", "--host node8:1,node9:1,node10:1,b08:1,b09:1 for -- "},
		{"SLURM_JOB_ID=7", "s.yaml", "-x EVBENCH_TOKEN for -- "},
		{"PBS_NODEFILE=", "s.yaml", "--oversubscribe for --network lo -- "},
		{"NETWORK=10.1.0.0/16", "--hosts a s.yaml", "--host a:1 for --network 10.1.0.0/16 -- "},
		{"NETWORK=none", "--hosts a s.yaml", "--host a:1 " + evbench + " run s.yaml"}, // there are no options
	} {
		said, code := script(t, append(strings.Fields(tt.vars), "EVBENCH="+evbench, "MPIRUN="+mpirun), "./run-mpirun.sh", strings.Fields(tt.args)...)
		expect.True(t, code == 0 && strings.HasPrefix(said, "-n 9 -x EVBENCH_TOKEN ") && strings.Contains(said, tt.want), "%s %s: %d: %s", tt.vars, tt.args, code, said)
	}
}

// What ends the script has mpirun pass a signal on to the ranks, again while it does not end: ranks that have
// not begun did not get it. mpirun itself is told by the second one.
func TestRunMPIRunInterrupted(t *testing.T) {
	heed(t, syscall.SIGINT)
	dir := t.TempDir()
	evbench := executable(t, dir, "evbench", "echo 9\n")
	for _, tt := range []struct {
		name, mpirun string
		want         int
	}{
		{"once", "trap 'exit 7' USR1", 7},
		{"twice", "trap 'kill -INT $PPID' USR1; trap 'exit 8' TERM", 8},
		{"before the ranks", "trap 'trap \"exit 9\" USR1' USR1", 9},
		{"before mpirun", "", 130},
	} {
		mpirun := executable(t, dir, "mpirun", tt.mpirun+"\nkill -INT $PPID\nuntil false; do sleep 0.01; done\n")
		said, code := script(t, []string{"EVBENCH=" + evbench, "MPIRUN=" + mpirun}, "./run-mpirun.sh", "s.yaml")
		expect.True(t, code == tt.want, "%s: %d: %s", tt.name, code, said)
	}
}

// heed has the programs of a test find signals as a terminal's do: nohup and jobs in the background ignore some, and a
// shell heeds none that it found ignored.
func heed(t *testing.T, signals ...os.Signal) {
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, signals...)
	t.Cleanup(func() { signal.Stop(handled) })
}

// evbench gets what ends run-ssh.sh, a closed terminal among it, and ends with a script that is killed.
func TestRunSSHInterrupted(t *testing.T) {
	heed(t, syscall.SIGINT, syscall.SIGHUP)
	dir := t.TempDir()
	expect.Must(t, os.WriteFile(filepath.Join(dir, "s.yaml"), nil, 0o600))
	for _, name := range []string{"INT", "TERM", "HUP", "KILL"} {
		evbench := executable(t, dir, "evbench", "trap 'echo HUP; exit 7' HUP; trap 'echo INT; exit 7' INT; trap 'echo TERM; exit 7' TERM\n"+
			"kill -"+name+" $PPID\nuntil false; do sleep 0.01; done\n")
		said, code := script(t, []string{"HOSTS=a", "EVBENCH=" + evbench}, "./run-ssh.sh", filepath.Join(dir, "s.yaml"))
		want, ends := name, 7
		if name == "KILL" {
			want, ends = "TERM", -1
		}
		expect.True(t, code == ends && said == want+"\n", "%s: %d: %s", name, code, said)
	}
}

// setpriv of util-linux before 2.33, as of RHEL 8, sets no signal for the end of a parent: programs are started without.
func TestRunWithoutParentSignal(t *testing.T) {
	dir := t.TempDir()
	expect.Must(t, os.WriteFile(filepath.Join(dir, "s.yaml"), nil, 0o600))
	executable(t, dir, "setpriv", "echo \"unrecognized option '$1'\" >&2; exit 1\n")
	vars := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOSTS=a", "EVBENCH=" + executable(t, dir, "evbench", "echo 9\n"), "MPIRUN=" + executable(t, dir, "mpirun", "echo 9\n")}
	for _, program := range []string{"./run-ssh.sh", "./run-mpirun.sh"} {
		said, code := script(t, vars, program, filepath.Join(dir, "s.yaml"))
		expect.True(t, code == 0 && said == "9\n", "%s: %d: %s", program, code, said)
	}
}

// A scenario with a lab of its own is evbench's to run: no launcher starts it several times.
func TestLabMPIRunOwnLab(t *testing.T) {
	evbench := executable(t, t.TempDir(), "evbench", `case $1 in validate) echo "GOOD: Scenario s.yaml is valid: FT(2;4,4), 16 servers, lab at 20Mbit/s per link" ;; *) echo "$*" ;; esac`+"\n")
	said, code := script(t, []string{"EVBENCH=" + evbench, "MPIRUN=false"}, "./lab-mpirun", "s.yaml", "-o", "out")
	expect.True(t, code == 0 && said == "run s.yaml -o out\n", "%d: %s", code, said)
}
