package wrapped

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evbench/internal/lists"
	"evbench/model/order"
	windows "evbench/model/ordered"
	"evbench/plan"
	"evbench/scheduler/judge"
	"evbench/scheduler/list"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// A reader is the library's parser in a process of its own.
type reader struct {
	in  io.Writer
	out *bufio.Reader
}

// compiled is what tests have compiled, by what it is, in a folder that is removed after all of them.
var compiled = struct {
	dir   string
	files map[string]string
}{files: map[string]string{}}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "wrapped")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	compiled.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// once has a file made by the first test that needs it: no two of them run at once.
func once(t testing.TB, what string, make func(dir string) string) string {
	t.Helper()
	if compiled.files[what] == "" {
		dir := expect.Value(os.MkdirTemp(compiled.dir, ""))(t)
		compiled.files[what] = make(dir)
	}
	return compiled.files[what]
}

// checked compiles files to a program that ends at the first access to memory that is not its own.
func checked(t testing.TB, files ...string) string {
	t.Helper()
	need.Programs(t, "cc", "cc")
	return once(t, strings.Join(files, " "), func(dir string) string {
		file := filepath.Join(dir, "program")
		cc := exec.Command("cc", append([]string{"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined",
			"-fno-sanitize-recover=all", "-o", file}, files...)...)
		if said, err := cc.CombinedOutput(); err != nil {
			t.Fatalf("cc: %v\n%s", err, said)
		}
		return file
	})
}

func newReader(t testing.TB) *reader {
	t.Helper()
	cmd := exec.Command(checked(t, "testdata/read_plan.c", "c/plan.c"))
	in := expect.Value(cmd.StdinPipe())(t)
	out := expect.Value(cmd.StdoutPipe())(t)
	var said bytes.Buffer
	cmd.Stderr = &said
	expect.Must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, said.Bytes())
		}
	})
	return &reader{in, bufio.NewReader(out)}
}

// read returns what the library takes a plan for.
func (r *reader) read(t testing.TB, text string) string {
	t.Helper()
	expect.Must(t, expect.Err(fmt.Fprintf(r.in, "%d\n%s", len(text), text)))
	line, err := r.out.ReadString('\n')
	expect.Must(t, err, "the parser has ended")
	return strings.TrimSuffix(line, "\n")
}

func built(t testing.TB, o topology.Options, down ...string) *plan.Plan {
	t.Helper()
	p := expect.Value(plan.Build(topologytest.Tree(t, o, down...), plan.Options{Schedule: "fors"}))(t)
	return p
}

func text(t testing.TB, p *plan.Plan) string {
	t.Helper()
	var b strings.Builder
	expect.Must(t, p.WriteText(&b))
	return b.String()
}

// want is what the text of a plan says of servers with names such as "server3 :1", by this reading of its messages.
func want(t testing.TB, text string, servers []string, position func(server int) int) string {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n# hash ")
	hash, body, _ := strings.Cut(body, "\n")
	_, rest, _ := strings.Cut(head, "\n# phases ")
	digits, _, _ := strings.Cut(rest, "\n")
	phases := expect.Value(strconv.Atoi(digits))(t)
	rows, server := make([][]string, len(servers)), map[int]int{}
	for s := range rows {
		rows[s], server[position(s)] = slices.Repeat([]string{"-1", "-1"}, phases), s
	}
	for line := range strings.Lines(body) {
		var k, src, dst int
		expect.Must(t, expect.Err(fmt.Sscan(line, &k, &src, &dst)))
		rows[server[src]][2*k], rows[server[dst]][2*k+1] = fmt.Sprint(server[dst]), fmt.Sprint(server[src])
	}
	said := fmt.Sprintf("%s phases %d ranks %d slots 1", hash, phases, len(servers))
	for s, name := range servers {
		said += " " + name
		for pair := range slices.Chunk(rows[s], 2) {
			said += " " + strings.Join(pair, "/")
		}
	}
	return said
}

func plainName(position int) string { return fmt.Sprintf("server%d :1", position) }

func TestPlans(t *testing.T) {
	need.Heavy(t)
	r := newReader(t)
	for _, p := range []*plan.Plan{
		built(t, topology.Options{Ports: 4, Leaves: 4}, "leaf0-spine0"),
		built(t, topology.Options{Ports: 3, Leaves: 3, Fill: []int{3, 0, 2}}),
		built(t, topology.Options{Ports: 2, Leaves: 4, Spines: 3}),
		built(t, topology.Options{Ports: 4, Leaves: 3, Spines: 2, Cables: 2}, "leaf0-spine0/1"),
		built(t, topology.Options{Ports: 4, Leaves: 1}),
		built(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2}),
		built(t, topology.Options{Ports: 8, Leaves: 8}, "leaf0-spine0", "leaf3-spine1"),
	} {
		text := text(t, p)
		got, want := r.read(t, text), want(t, text, lists.Tabulate(p.Tree.Servers(), func(s int) string { return plainName(p.Tree.Position(s)) }), p.Tree.Position)
		expect.True(t, got == want, "%s: the library reads\n%s, want\n%s", p.Tree.Notation(), got, want)
		former := r.read(t, strings.Replace(text, "plan 4\n", "plan 1\n", 1))
		expect.True(t, former == want, "%s in form 1: the library reads\n%s, want\n%s", p.Tree.Notation(), former, want)
	}
	tree := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2})
	divided := expect.Value(plan.Build(expect.Value(tree.WithRoles("leaf0", "leaf1"))(t), plan.Options{Schedule: "fors"}))(t)
	expect.Equal(t, r.read(t, text(t, divided)), "error: it is not for an all-to-all: servers only read or only build", "a tree with roles")
	apart := expect.Value(plan.Build(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}, "leaf0-spine0", "leaf1-spine1"),
		plan.Options{Schedule: "fors", DropUnreachable: true}))(t)
	expect.Equal(t, r.read(t, text(t, apart)), "error: it leaves out messages that have no path", "leaves without a path")
}

// TestForms: every form of plan over given tables is read, or refused for its own reason.
func TestForms(t *testing.T) {
	r := newReader(t)
	net := expect.Value(expect.Value(network.Parse("Dragonfly(1;2;1;3)", 0))(t).Numbered(1))(t)
	bits := expect.Value(net.PathBits())(t)
	plain := expect.Value(engines.Compute(engines.MinMax, net, engines.Options{}))(t)
	several := expect.Value(engines.Compute(engines.MinMax, net, engines.Options{Bits: bits}))(t)
	several.Bits = bits
	partial := plain.Clone(plain.Engine, net)
	partial.Row(net.Index(net.Leaf(0).Node))[net.Info(5).LID] = lft.NoPort
	nodes := network.AllHosts(net).Nodes
	some := []bool{true, true, false, false, true, true}
	names := lists.Tabulate(6, func(i int) plan.Host { return plan.Host{Name: string('a' + rune(i/2)), Ranks: 1, Order: i} })
	for _, tt := range []struct {
		name    string
		tables  *lft.Tables
		options lft.Job
		hosts   []plan.Host
		refused string
	}{
		{"plain", plain, lft.Job{}, nil, ""},
		{"path bits", several, lft.Job{}, nil, ""},
		{"adapters", plain, lft.Job{Host: HostOf(names)}, names, ""},
		{"adapters with path bits", several, lft.Job{Host: HostOf(names)}, names, ""},
		{"roles", plain, lft.Job{Reads: some}, nil, "it is not for an all-to-all: servers only read or only build"},
		{"undelivered", partial, lft.Job{Drop: true}, nil, "it leaves out messages that have no path"},
	} {
		o := tt.options
		o.Nodes = nodes
		p, err := order.Make("x", tt.tables, o, 0)
		expect.Must(t, err, tt.name)
		p.Hosts = tt.hosts
		var b strings.Builder
		expect.Must(t, p.WriteText(&b))
		servers := lists.Tabulate(6, plainName)
		for i, h := range tt.hosts {
			servers[i] = fmt.Sprintf("server%d %s:1", i, h.Name)
			if i%2 == 1 {
				servers[i] += fmt.Sprintf("@%d.1", i-1)
			}
		}
		is := want(t, b.String(), servers, func(s int) int { return s })
		if tt.refused != "" {
			is = "error: " + tt.refused
		}
		expect.Equal(t, r.read(t, b.String()), is, "%s", tt.name)
		expect.Equal(t, r.read(t, strings.Replace(b.String(), "plan 4\n", "plan 3\n", 1)), is, "%s in form 3", tt.name)
	}
	matrix := expect.Value(list.NewMatrix(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}).Servers()))(t)
	expect.Must(t, matrix.Set(0, 3, 7))
	starts := &windows.Plan{Plan: expect.Value(list.MakeWindow(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}), []*list.Matrix{matrix, matrix}, list.Options{}))(t)}
	var inTree strings.Builder
	expect.Must(t, starts.WriteText(&inTree))
	expect.Equal(t, r.read(t, inTree.String()), "error: it is not for an all-to-all: its fragments have sizes of their own", "sizes in a tree")
	sized := expect.Value(order.MakeSized("x", plain, lft.Job{Nodes: nodes}, slices.Repeat([]int64{7}, 36), 0))(t)
	var b strings.Builder
	expect.Must(t, sized.WriteText(&b))
	expect.Equal(t, r.read(t, b.String()), "error: it is not for an all-to-all: its fragments have sizes of their own", "sized")
}

var update = flag.Bool("update", false, "write c/covered.h")

// TestCovered: the library has the list of what a hash covers from this program.
func TestCovered(t *testing.T) {
	is := "/* Made by go test ./site/wrapped -update: the header lines that the hash of a plan covers. */\n"
	is += fmt.Sprintf("static const char *const covered[] = {%s, 0};\n", strings.Join(lists.Map(judge.Covered, strconv.Quote), ", "))
	if *update {
		expect.Must(t, os.WriteFile("c/covered.h", []byte(is), 0o644))
	}
	expect.Equal(t, string(expect.Value(os.ReadFile("c/covered.h"))(t)), is, "c/covered.h; go test ./site/wrapped -update writes it")
}

// overTables is the text of a plan over given tables for four adapters, so many of each host, with lines for hosts.
func overTables(each int, lines string) string {
	covered := "# hosts 4\n# guids 0x1,0x2,0x3,0x4\n"
	if each > 1 {
		covered += "# adapters 0-1,2-3\n"
	}
	covered += "# tables sha256:0\n"
	body := ""
	for k := range 3 {
		for src := range 4 {
			if dst := (src + k + 1) % 4; src/each != dst/each {
				body += fmt.Sprintf("%d %d %d -\n", k, src, dst)
			}
		}
	}
	return fmt.Sprintf("# evbench plan 3\n%s# network x\n%s# schedule path-coloring\n# phases 3\n# time 3\n# bound 3 h0\n# hash sha256:%x\n%s",
		lines, covered, sha256.Sum256([]byte(covered+body)), body)
}

// railLines say that the adapters of overTables are of two hosts.
const railLines = "# x-host 0 a 1\n# x-host 1 a 1\n# x-host 2 b 1\n# x-host 3 b 1\n"

// TestOrdered: a plan over given tables has ranks of hosts for servers.
func TestOrdered(t *testing.T) {
	r, whole := newReader(t), overTables(1, "")
	for _, tt := range []struct{ name, text, want string }{
		{"whole", whole, "phases 3 ranks 4 slots 1 server0 :1 1/3 2/2 3/1 server1 :1 2/0 3/3 0/2 "},
		{"named", strings.Replace(whole, "# network", "# x-host 1 b 2\n# x-host 0 a 1\n# x-host 2 c 1\n# x-host 3 d 1\n# network", 1), "ranks 5 slots 2 server0 a:1 "},
		{"adapters", overTables(2, railLines), "server0 a:1 -1/3 2/2 3/-1 server1 a:1@0.1 2/-1 3/3 -1/2 "},
		{"adapters without hosts", overTables(2, ""), "the plan leaves out messages of server0"},
		{"other tables", strings.Replace(whole, "sha256:0\n", "sha256:1\n", 1), "the hash is not that"},
		{"no hosts", strings.Replace(whole, "# hosts", "# x-hosts", 1), "the header must have hosts"},
		{"hosts", strings.Replace(whole, "# hosts 4", "# hosts 0", 1), "the hash is not that"},
	} {
		got := r.read(t, tt.text)
		expect.True(t, strings.Contains(got, tt.want), "%s: read as %s, want %s", tt.name, got, tt.want)
	}
}

// TestHosts names the hosts of servers, with their ranks and without their domain.
func TestHosts(t *testing.T) {
	r, whole := newReader(t), text(t, built(t, topology.Options{Ports: 2, Leaves: 2, Fill: []int{1, 2}}))
	first, rest, _ := strings.Cut(whole, "\n")
	for _, tt := range []struct{ hosts, want string }{
		{"# x-host 0 node1.cluster 2\n# x-host 2 node2 2\n# x-host 3 node3 3\n", "ranks 7 slots 3 server0 node1:2 "},
		{"# x-host 0 node1 2\n", "1 of 3 servers have a host"},
		{"# x-host 1 node1 2\n", "x-host 1 node1 2: no server of this plan"},
		{"# x-host 0 node1 2\n# x-host 0 node2 2\n", "x-host of server0"},
		{"# x-host 0 node1 0\n", "a number of ranks"},
		{"# x-host 0 node1 2 mlx5_0 3\n", "a number of ranks"},
		{"# x-host 0 " + strings.Repeat("n", 64) + " 2\n", "one name of 1 to 63 bytes"},
		{"# x-host 0 a 1\n# x-host 2 b 1\n# x-host 3 A.net 2\n", "host A has several adapters, and more than one rank on one"},
		{"# x-host 3 a 1 mlx5_1\n# x-host 2 b 1 mlx5_0\n# x-host 0 A.net 1 mlx5_0\n", "ranks 3 slots 1 server0 A:1@3.1 "},
		{"# x-host 0 #0 1\n# x-host 2 #0 1\n# x-host 3 #1 1\n", "by line server0 #0:1 "},
	} {
		got := r.read(t, first+"\n"+tt.hosts+rest)
		expect.True(t, strings.Contains(got, tt.want), "%s is read as %s, want %s", tt.hosts, got, tt.want)
	}
}

// TestWrong changes a plan, and wants a reason.
func TestWrong(t *testing.T) {
	r, whole := newReader(t), text(t, built(t, topology.Options{Ports: 2, Leaves: 2}))
	_, bare, _ := strings.Cut(whole, "# hash")
	_, bare, _ = strings.Cut(bare, "\n")
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "not a plan file"},
		{"compact", strings.Replace(whole, "plan 4\n", "plan 4 compact\n", 1), "not a plan file"},
		{"JSON", "{}", "not a plan file"},
		{"cut off", whole[:len(whole)-1], "cut off"},
		{"a line less", whole[:strings.LastIndex(whole[:len(whole)-1], "\n")+1], "the hash is not that"},
		{"other messages", strings.Replace(whole, "\n0 0 ", "\n0 1 ", 1), "the hash is not that"},
		{"another tree", strings.Replace(whole, "FT(2;2,2)", "FT(2;2,3)", 1), "the hash is not that"},
		{"no hash", strings.Replace(whole, "# hash", "# x-hash", 1), "the header must have"},
		{"only the header", "# evbench plan 4\n", "the header must have"},
		{"phases", strings.Replace(whole, "# phases ", "# phases 99999999", 1), "phases: "},
		{"fewer phases", strings.Replace(whole, "# phases ", "# phases 1\n# was ", 1), "is no message of this plan"},
		{"header at the end", whole + "# x-mine 1\n", "header lines come before"},
		{"no messages", strings.TrimSuffix(whole, bare), "the hash is not that"},
	} {
		got := r.read(t, tt.text)
		expect.True(t, strings.Contains(got, tt.want), "%s: read as %s, want %s", tt.name, got, tt.want)
	}
}

// TestPathBits: a host's path bits, those of its adapters by the rank on it, and what is said where they are not set.
func TestPathBits(t *testing.T) {
	need.Heavy(t)
	program := checked(t, "testdata/device.c", "c/device.c", "c/reason.c")
	host, _, _ := strings.Cut(expect.Value(os.Hostname())(t), ".")
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{[]string{"EVBENCH_PATH_BITS=" + host + "/3"}, "3\n"},
		{[]string{"EVBENCH_PATH_BITS=" + host + "/3/1", "SLURM_LOCALID=1"}, "1\n"},
		{[]string{"EVBENCH_PATH_BITS=" + host + "/3/1", "SLURM_LOCALID=2"}, "libevbench: " + host + " has no path bits for rank 2 of it: UCX_IB_LID_PATH_BITS is not set\n-\n"},
		{[]string{"EVBENCH_PATH_BITS=" + host + "/3/1"}, "libevbench: the launcher does not say which rank of " + host + " this is: UCX_IB_LID_PATH_BITS is not set\n-\n"},
		{[]string{"EVBENCH_PATH_BITS=" + host + "/3/1", "UCX_IB_LID_PATH_BITS=7"}, "7\n"},
		{[]string{"EVBENCH_DEVICES=" + host + "/\x1b[31m\u009b"}, "libevbench: " + host + ` has no device \x1b[31m\xc2\x9b: set UCX_NET_DEVICES for rank -1 of it` + "\n-\n"},
	} {
		cmd := exec.Command(program)
		cmd.Env = tt.env
		got := expect.Value(cmd.CombinedOutput())(t)
		expect.Equal(t, string(got), tt.want, "%q", tt.env)
	}
}

func TestNoCompiler(t *testing.T) {
	expect.Error(t, expect.Err(Build(t.Context(), "no-such-mpicc", t.TempDir())), "libevbench is not built and cannot be: no no-such-mpicc")
}

func FuzzPlan(f *testing.F) {
	whole := text(f, built(f, topology.Options{Ports: 2, Leaves: 2}))
	f.Add(whole)
	f.Add(strings.Replace(whole, "plan 4\n", "plan 4\n# x-host 0 a 1\n# x-host 1 b 1\n", 1))
	f.Add(strings.Replace(whole, "plan 4\n", "plan 4\n# x-host 3 a 1 x\n# x-host 0 a 1\n# x-host 2 b 1 y\n# x-host 1 b 1\n", 1))
	f.Add(overTables(1, ""))
	f.Add(overTables(2, railLines))
	f.Add("# evbench plan 1\n# topology FT(2;2,2)\n# fill 2,2\n# down none\n# phases 3\n# hash sha256:0\n")
	r := newReader(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := r.read(t, s)
		if strings.HasPrefix(got, "error: ") || strings.Contains(got, " error: ") {
			return
		}
		p, err := plan.Read(strings.NewReader(s), nil)
		if err == nil && !strings.HasPrefix(got, p.Hash()) {
			t.Errorf("%q is %s, not %s", s, p.Hash(), got)
		}
	})
}
