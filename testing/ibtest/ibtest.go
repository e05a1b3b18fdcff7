// Package ibtest runs the real subnet manager for tests: OpenSM over ibsim, a simulator of
// InfiniBand fabrics that needs neither hardware nor privileges. Tests give it a network and
// compare its forwarding tables with computed ones.
//
// Every run has its own directory and its own simulator, so runs may be parallel. Nothing outlives
// a run, even if it fails or is cancelled.
package ibtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"evbench/internal/proc"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/need"
)

// Limit is how long Route may take, and how long one wait for what a Live logs.
const Limit = 2 * time.Minute

// programs are what a run starts; they come with the packages opensm,
// ibsim-utils and infiniband-diags.
var programs = []string{"opensm", "ibsim", "ibsim-run", "dump_fts"}

// Need is for tests that run OpenSM: in the gate a missing one does not look like agreement.
func Need(t testing.TB) {
	t.Helper()
	need.Programs(t, "opensm", programs...)
}

// A Result is OpenSM's output for a network.
type Result struct {
	Tables *lft.Tables
	Engine string // that really configured the tables
	Log    string
}

// Route lets OpenSM route a network once. LIDs are those of the network. OpenSM gets the roots
// unless there are none. The subnet manager sits at the first host that is not cut off; nodes
// outside its view have no entries.
func Route(ctx context.Context, n *network.Network, engine string, roots []network.Node, args ...string) (*Result, error) {
	r, err := prepare(ctx, n, roots)
	if err != nil {
		return nil, err
	}
	defer r.close()
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	// It ends with the thread that started it, and so with a test that is killed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := r.command(ctx, "opensm", r.args(engine, "stdout", append([]string{"-s", "0", "-D", "0x43", "-o"}, args...)...)...)
	cmd.SysProcAttr = proc.Group(syscall.SIGKILL)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("opensm with %s: %w\n%s", engine, err, tail(out))
	}
	res := &Result{Log: string(out), Engine: lastEngine(out)}
	if res.Engine == "" {
		return nil, fmt.Errorf("opensm with %s configured no tables:\n%s", engine, tail(out))
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "opensm-lfts.dump"))
	if err != nil {
		return nil, err
	}
	res.Tables, err = readTables(n, res.Engine, text)
	return res, err
}

// Timed are arguments that make OpenSM log enough for Result.Routing.
var Timed = []string{"-D", "0x47"}

// Routing returns how long OpenSM computed tables, from the stamps of its log: from the line for
// the begin to the line for configured tables, which includes sending them to the switches.
func (r *Result) Routing() (time.Duration, error) {
	var begin, end time.Time
	for line := range strings.Lines(r.Log) {
		switch {
		case strings.Contains(line, "building routing with"):
			begin = stamp(line)
		case configured.MatchString(line):
			end = stamp(line)
		}
	}
	if begin.IsZero() || end.Before(begin) {
		return 0, fmt.Errorf("the log does not say when routing began: was Timed not given?")
	}
	return end.Sub(begin), nil
}

// stamp reads "Nov 21 01:28:17 867263 […". There is no year.
func stamp(line string) time.Time {
	f := strings.Fields(line)
	if len(f) < 4 {
		return time.Time{}
	}
	t, _ := time.Parse("Jan 2 15:04:05.000000", strings.Join(f[:3], " ")+"."+f[3])
	return t
}

var configured = regexp.MustCompile(`osm_ucast_mgr_process: (\S+) tables configured`)

func lastEngine(log []byte) string {
	all := configured.FindAllSubmatch(log, -1)
	if len(all) == 0 {
		return ""
	}
	return string(all[len(all)-1][1])
}

func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }

// A run is a directory with the input files, and a simulator.
type run struct {
	dir   string
	env   []string
	roots bool
	lmc   int
	sim   *process
}

// inMemory makes a directory for a network: TMPDIR, if it is set, says where. ibsim's library gives each program hundreds
// of small files in it, for which a file system on a disk takes most of a test's time.
func inMemory() (string, error) {
	if os.Getenv("TMPDIR") == "" {
		if dir, err := os.MkdirTemp("/dev/shm", "ibtest-"); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "ibtest-")
}

func prepare(ctx context.Context, n *network.Network, roots []network.Node) (*run, error) {
	dir, err := inMemory()
	if err != nil {
		return nil, err
	}
	r := &run{dir: dir, roots: len(roots) > 0}
	sm := n.Parts()[0][0]
	// Processes of Debian 13 have this machine's names of sockets, and numbers of their own.
	r.env = append(os.Environ(), "IBSIM_SOCKNAME="+filepath.Base(dir),
		"SIM_HOST="+n.Info(sm).Name, "OSM_TMP_DIR="+dir, "OSM_CACHE_DIR="+dir)
	r.lmc = int(n.Info(sm).LMC)
	err = r.write(n, roots)
	if err == nil {
		err = r.simulate(ctx, n)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *run) write(n *network.Network, roots []network.Node) error {
	var net, pins, list bytes.Buffer
	for _, s := range roots {
		fmt.Fprintf(&list, "0x%016x\n", n.Info(s).GUID)
	}
	if err := errors.Join(netfile.WriteSim(&net, n), netfile.WriteGUID2LID(&pins, n)); err != nil {
		return err
	}
	for name, text := range map[string][]byte{"net": net.Bytes(), "guid2lid": pins.Bytes(), "roots": list.Bytes()} {
		if err := os.WriteFile(filepath.Join(r.dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// simulate starts ibsim, with room for the network, and waits until it is ready.
func (r *run) simulate(ctx context.Context, n *network.Network) error {
	ports := 0
	for v := range n.Nodes() {
		ports += 1 + len(n.Ends(network.Node(v)))
	}
	ports += 2 * n.Others()
	cmd := r.direct(ctx, "ibsim", "-s", "-N", fmt.Sprint(n.Nodes()+n.Others()+1), "-S", fmt.Sprint(n.Switches()+1),
		"-P", fmt.Sprint(ports+n.Nodes()+n.Others()), "-L", fmt.Sprint(n.MaxLID()+64), "net")
	p, err := start(cmd)
	if err != nil {
		return err
	}
	r.sim = p
	ready, cancel := context.WithTimeout(ctx, Limit) // the simulator lives on
	defer cancel()
	if _, err := p.wait(ready, "Network simulator ready"); err != nil {
		return fmt.Errorf("ibsim: %w", err)
	}
	return nil
}

// args are OpenSM's arguments. It logs to a file, or stdout.
func (r *run) args(engine, log string, more ...string) []string {
	args := []string{"-f", log, "--dump_files_dir", r.dir, "-R", engine}
	if r.roots {
		args = append(args, "-a", filepath.Join(r.dir, "roots"))
	}
	if r.lmc > 0 {
		args = append(args, "-l", fmt.Sprint(r.lmc))
	}
	return append(args, more...)
}

func (r *run) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	path, err := need.Find(program)
	if err != nil {
		path = program // Start says that it is not there
	}
	return r.direct(ctx, "ibsim-run", append([]string{path}, args...)...)
}

func (r *run) direct(ctx context.Context, program string, args ...string) *exec.Cmd {
	path, err := need.Find(program)
	if err != nil {
		path = program
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.dir, r.env, 5*time.Second
	return cmd
}

func (r *run) close() {
	if r.sim != nil {
		r.sim.stop()
	}
	os.RemoveAll(r.dir)
}

// readTables reads what OpenSM and dump_fts write.
func readTables(n *network.Network, engine string, text []byte) (*lft.Tables, error) {
	t, err := lft.ReadDump(bytes.NewReader(text), n)
	if err == nil {
		t.Engine = engine
	}
	return t, err
}

// Lose returns the network without some nodes, which are not isolated but not there. The others are numbered anew.
func Lose(n *network.Network, gone func(network.Node) bool) (*network.Network, error) {
	var b network.Builder
	now := map[network.Node]network.Node{}
	for v := range network.Node(n.Nodes()) {
		switch {
		case gone(v):
		case n.IsHost(v):
			now[v] = b.Host(n.Info(v))
		default:
			now[v] = b.Switch(n.Info(v), len(n.Ends(v)))
		}
	}
	for _, c := range n.Cables() {
		x, here := now[c.A.Node]
		y, too := now[c.B.Node]
		if !here || !too {
			continue
		}
		if err := b.Cable(network.End{Node: x, Port: c.A.Port}, network.End{Node: y, Port: c.B.Port}); err != nil {
			return nil, err
		}
	}
	return b.Build(), nil
}

// Renamed returns the network with names of switches such as sw1_0 for s1_0: names of notations say which place they
// are at.
func Renamed(n *network.Network) *network.Network {
	info := make([]network.Info, n.Nodes())
	for v := range info {
		info[v] = n.Info(network.Node(v))
		info[v].Name = strings.Replace(info[v].Name, "s", "sw", 1)
	}
	return n.WithInfo(info)
}
