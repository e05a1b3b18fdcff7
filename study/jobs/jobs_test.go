package jobs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

func TestRead(t *testing.T) {
	const text = `JOBID NODELIST
# comment
4711 node[001-003]
 77:  b,a ,a   # the same node twice
4712
4713 (null)
4711 node[007]
x_1 : n[1-2]
`
	got, err := Read(strings.NewReader(text))
	want := []Job{
		{"4711", []string{"node001", "node002", "node003", "node007"}}, {"77", []string{"a", "b"}}, {"x_1", []string{"n1", "n2"}},
	}
	expect.True(t, err == nil && slices.EqualFunc(got, want, equal), "%v, %v; want %v", got, err, want)
}

// What sacct -o JobID,NodeList prints: steps are of their jobs.
func TestReadSacct(t *testing.T) {
	const text = `JobID               NodeList
------------ ---------------
1001           node[001-003]
1001.batch           node001
1001.extern    node[001-003]
1001.0         node[001-003]
1002_7               node004
1002_7.1             node005
1003           None assigned
1004.server          node006
`
	got, err := Read(strings.NewReader(text))
	want := []Job{{"1001", []string{"node001", "node002", "node003"}}, {"1002_7", []string{"node004", "node005"}}, {"1004.server", []string{"node006"}}}
	expect.True(t, err == nil && slices.EqualFunc(got, want, equal), "%v, %v; want %v", got, err, want)
}

// What squeue and sacct print in other ways; arrays that do not run yet are skipped.
func TestReadOthers(t *testing.T) {
	for text, want := range map[string]string{
		"101_[5-9%2]:\n101_4:n[1-3]\n103+0:n4\n103+1:n[5-6]\n101_[1,3]: \n":        "101_4: n[1-3], 103+0: n4, 103+1: n[5-6]",
		"JobID|NodeList\n101|n[1-3]\n101.batch|n1\n102|n[4-6]\n":                   "101: n[1-3], 102: n[4-6]",
		"JobID|State|NodeList|\n101|RUNNING|n[1-3]|\n102|PENDING|None assigned|\n": "101: n[1-3]",
		"101|n[1-3]\n102|n4\n": "101: n[1-3], 102: n4",
		`{"meta":{},"jobs":[{"job_id":7,"nodes":"n[2,1]","job_state":["RUNNING"]},{"job_id":8,"nodes":""}]}`: "7: n[1-2]",
	} {
		got, err := Read(strings.NewReader(text))
		said := strings.Join(lists.Map(got, func(j Job) string { return j.ID + ": " + hostlist.Compress(j.Nodes) }), ", ")
		expect.True(t, err == nil && said == want, "%q: %s, %v; want %s", text, said, err, want)
	}
}

func equal(a, b Job) bool { return a.ID == b.ID && slices.Equal(a.Nodes, b.Nodes) }

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"1 n1\n2 n[1-":                 "line 2: job 2: host list",
		`{"jobs": 3}`:                  "no output of squeue --json: json",
		`{"x": []}`:                    "no output of squeue --json: it has no jobs",
		"JobID|State|NodeList\n1|R":    "line 2: \"1|R\": no line of sacct -P",
		": n1":                         "line 1: \": n1\": a line is",
		"n[1-3] x":                     "line 1: \"n[1-3] x\": a line is",
		"1 n[0-700000]\n2 n[0-700000]": "line 2: more than 1048576 nodes in all jobs",
		strings.Repeat("x", 16<<20+1):  "line 1: bufio.Scanner: token too long",
	} {
		expect.Error(t, expect.Err(Read(strings.NewReader(text))), want)
	}
}

func TestDiff(t *testing.T) {
	old := []Job{{"1", []string{"a", "b"}}, {"2", []string{"c"}}, {"3", []string{"d"}}}
	now := []Job{{"3", []string{"d"}}, {"4", []string{"c"}}, {"1", []string{"a", "e"}}}
	c := Diff(old, now)
	expect.True(t, slices.Equal(c.Started, []string{"4"}) && slices.Equal(c.Ended, []string{"2"}) && slices.Equal(c.Moved, []string{"1"}), "%+v", c)
	slices.Reverse(now)
	d := Diff(now, []Job{now[1], now[0], now[2]})
	expect.True(t, len(d.Started)+len(d.Ended)+len(d.Moved) <= 0, "the order of jobs is no change")
}

func TestClasses(t *testing.T) {
	c := expect.Value(ReadClasses(strings.NewReader("io: nfs[1-2],mds*\nOther: login?,*-gw\ncompute: mds9")))(t)
	for name, want := range map[string]nodeClass{
		"nfs1": ioNode, "nfs3": computeNode, "mds1": ioNode, "mds9": computeNode, "login1": otherNode, "login10": computeNode, "a-gw": otherNode,
	} {
		expect.Equal(t, c.of(name), want, "%s", name)
	}
	expect.True(t, new(Classes).of("n1") == computeNode, "without classes all compute")
	for text, want := range map[string]string{
		"disk: a": "no line begins so", "io": "a name is missing", "io: a\nother: a": "line 2: a is in class io and in class other",
	} {
		expect.Error(t, expect.Err(ReadClasses(strings.NewReader(text))), want)
	}
}

// FuzzRead: what was read is read again after it was written.
func FuzzRead(f *testing.F) {
	f.Add("4711 node[001-003]\n77: a,b # x\nJOBID NODELIST\n1 (null)\n")
	f.Add("JOBID: NODELIST,NODELIST\na:: b")
	f.Add("1 [1][2-3],x9[0]\n1: 09,9,009")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		var b strings.Builder
		expect.Must(t, Write(&b, list))
		again, err := Read(strings.NewReader(b.String()))
		expect.MustTrue(t, err == nil && slices.EqualFunc(list, again, equal), "%q became %q and %v, %v", text, b.String(), again, err)
	})
}

func FuzzClasses(f *testing.F) {
	f.Add("io: nfs[1-2],mds*\nother: login?")
	f.Add("SwitchName=l1 Nodes=n[1-2] LinkSpeed=1")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadClasses(strings.NewReader(text))
		expect.False(t, err == nil && c.of("node1") > otherNode, "no such class")
	})
}

// A script is what the queue says at each look, with the network, and what becomes of the
// tables.
type script struct {
	list    string // "!" begins an error
	down    string
	install string // an error
	want    string // "" where nothing is done
}

func parse(t *testing.T, notation string, down ...string) *network.Network {
	t.Helper()
	n, err := network.Parse(notation, 0)
	if err == nil {
		n, err = n.Degrade(down)
	}
	expect.Must(t, err)
	return n
}

// TestFollowing plays a script; waiting is going on to its next line.
func TestFollowing(t *testing.T) {
	play := []script{
		{list: "!slurm is away", want: "the jobs: slurm is away"},
		{list: "1 h[0-7]\n2 h[8-11]", want: "2 started, 0 ended, 0 moved; 1 jobs across switches on 8 hosts; at most"},
		{list: "1 h[0-7]\n2 h[8-11]"},
		{list: "2 h[8-11]\n1 h[0-7]"}, // another order
		{list: "3 h[4-7]\n1 h[0-7]"},  // jobs within a switch
		{list: "9 h[0-7]"},            // another job at the same hosts
		{list: "1 h[0-", want: "the jobs: line 1: job 1: host list"},
		{list: "9 h[0-7]\n10 h[12-16]", want: "2 jobs across switches on 13 hosts", install: "disk full"},
		{list: "9 h[0-7]\n10 h[12-17]", want: "2 jobs across switches on 14 hosts"},
		{list: "9 h[0-7]\n10 h[12-17]", down: "s1_0-s2_0", want: "0 started, 0 ended, 0 moved; 2 jobs"},
		{list: "9 h[0-7]\n10 h[12-17]", down: "s1_0-s2_0"},
		{list: "9 h[0-7]\n10 h[12-17]", down: "nowhere", want: "the network: down"},
		{list: "9 h[0-7]\n10 h[12-17]", want: "2 jobs"},
		{list: "", want: "0 started, 2 ended, 0 moved; 0 jobs across switches on 0 hosts"},
		{list: ""},
	}
	at, heard := 0, make([]string, len(play))
	over := errors.New("over")
	f := &Following{
		Source: "net", Classes: new(Classes),
		List: func(context.Context) ([]Job, error) {
			if why, bad := strings.CutPrefix(play[at].list, "!"); bad {
				return nil, errors.New(why)
			}
			return Read(strings.NewReader(play[at].list))
		},
		Network: func(context.Context) (*network.Network, error) {
			switch d := play[at].down; d {
			case "":
				return parse(t, "FT(2;4,8)"), nil
			case "nowhere":
				return nil, errors.New("down")
			default:
				return parse(t, "FT(2;4,8)", d), nil
			}
		},
		Install: func(_ context.Context, r *Routed, tables *lft.Tables) error {
			c := lft.Check(tables, lft.Options{})
			expect.True(t, c.OK(), "%d: %+v", at, c)
			if play[at].install != "" {
				return errors.New(play[at].install)
			}
			r.Written = true
			return nil
		},
		Tell: func(r *Routed, err error) {
			if r == nil {
				r = NewRouted("net")
			}
			if err != nil {
				r.Error = err.Error()
			}
			heard[at] = r.Line()
		},
		Wait: func(context.Context) error {
			if at++; at == len(play) {
				return over
			}
			return nil
		},
	}
	expect.Is(t, f.Run(t.Context()), over)
	for i, s := range play {
		expect.True(t, (heard[i] == "") == (s.want == "") && strings.Contains(heard[i], s.want) && strings.HasSuffix(heard[i], s.install),
			"look %d, %q: said %q, want %q", i, s.list, heard[i], s.want)
	}
}

// TestFollowingEnds: what was interrupted is not told.
func TestFollowingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &Following{
		Network: func(context.Context) (*network.Network, error) { cancel(); return nil, ctx.Err() },
		Tell:    func(*Routed, error) { t.Error("told") },
		Wait:    func(context.Context) error { t.Error("waited"); return nil },
	}
	expect.Is(t, f.Run(ctx), context.Canceled)
}

// TestRouteWithLanes: routes that can deadlock get lanes, or are refused.
func TestRouteWithLanes(t *testing.T) {
	whole := parse(t, "PGFT(3;3,3,4;1,3,3;1,1,1)")
	found := false
	for seed := uint64(1); seed < 40 && !found; seed++ {
		dead := expect.Value(whole.Random(6, seed))(t)
		n := whole.Without(dead, nil)
		list := []Job{{"1", []string{"h0", "h5", "h11", "h30"}}, {"2", []string{"h1", "h6", "h12", "h31"}}}
		r := NewRouted("")
		p := r.Place(n, list, new(Classes))
		expect.Must(t, expect.Err(r.Route(n, p, 0)))
		if found = r.CanLock; !found {
			expect.Equal(t, r.Lanes, 1, "lanes")
			continue
		}
		expect.Error(t, expect.Err(NewRouted("").Route(n, p, 1)), "1 virtual lanes are too few")
		r = NewRouted("")
		tables, err := r.Route(n, p, 8)
		expect.True(t, err == nil && !r.CanLock && r.Lanes >= 2 && tables.Lanes() == r.Lanes, "%+v, %v", r, err)
		t.Logf("seed %d: %d lanes", seed, r.Lanes)
	}
	expect.True(t, found, "no network can deadlock")
}
