package hostlist

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		expr string
		want string // names with spaces between
	}{
		{"n1", "n1"},
		{"n1,n3", "n1 n3"},
		{"node[001-003,400]", "node001 node002 node003 node400"},
		{"n[8-11]", "n8 n9 n10 n11"},
		{"n[08-11]-ib", "n08-ib n09-ib n10-ib n11-ib"},
		{"n[98-101]", "n98 n99 n100 n101"},
		{"r[1-2]n[1-2],login", "r1n1 r1n2 r2n1 r2n2 login"},
		{"n[7]", "n7"},
		{"[1-3]", "1 2 3"},
		{"node009..node011,x", "node009 node010 node011 x"},
		{"a.b-c_d[1,1]", "a.b-c_d1 a.b-c_d1"},
	} {
		got, err := Expand(c.expr)
		expect.True(t, err == nil && strings.Join(got, " ") == c.want, "%s: %v, %v; want %s", c.expr, got, err, c.want)
	}
}

func TestExpandRefuses(t *testing.T) {
	for expr, want := range map[string]string{
		"":                             "a name is missing",
		"a,,b":                         "a name is missing",
		"n[1-3":                        "has no ]",
		"n3..n1":                       "neither a number nor a range",
		"n]1":                          "no name has the character ']'",
		"n[3-1]":                       "neither a number nor a range",
		"n[]":                          "neither a number nor a range",
		"n[1,]":                        "neither a number nor a range",
		"n[a-b]":                       "neither a number nor a range",
		"n[-1-3]":                      "neither a number nor a range",
		"n[1-2-3]":                     "neither a number nor a range",
		"n[1[2]]":                      "neither a number nor a range",
		"n[0-1048576]":                 "more than 1048576 names",
		"n[0-1048575],x":               "more than 1048576 names",
		"n[0-9999]m[0-9999]":           "more than 1048576 names",
		"n[1-9999999999]":              "neither a number nor a range",
		"n 1":                          "no name has the character ' '",
		"näme":                         "no name has the character 'ä'",
		"x" + strings.Repeat("y", 255): "more than 255 characters",
		strings.Repeat("[1]", 9):       "more than 8 brackets",
	} {
		expect.Error(t, expect.Err(Expand(expr)), want)
	}
}

func TestCompress(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"", ""},
		{"n3 n1 n2 n2", "n[1-3]"},
		{"n001 n002 n004 n010", "n[001-002,004,010]"},
		{"n9 n10 n11", "n9,n[10-11]"},
		{"a1-ib a2-ib a1", "a1,a[1-2]-ib"},
		{"login", "login"},
	} {
		got := Compress(strings.Fields(c.names))
		expect.True(t, got == c.want, "%s: %s; want %s", c.names, got, c.want)
	}
}

// TestCompressedLists writes random lists and reads them back.
func TestCompressedLists(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var names []string
		for range 1 + r.IntN(30) {
			names = append(names, []string{"a", "b0", "c-"}[r.IntN(3)]+[]string{"1", "01", "2", "02", "10", "9", ""}[r.IntN(7)]+[]string{"", "x"}[r.IntN(2)])
		}
		got, err := Expand(Compress(names))
		slices.Sort(got)
		if want := slices.Compact(slices.Sorted(slices.Values(names))); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v became %s and %v, %v", names, Compress(names), got, err)
		}
	}
}

// Lists as users of launchers have them, with the ranks of each host.
func TestReadForms(t *testing.T) {
	node := func(name string) string {
		return "Data for node: " + name + "\tState: 3\tFlags: MAPPED\n    Daemon: [x@0,1]\tDaemon launched: False\n  Num slots allocated: 2\tMax slots: 2\tNum procs: 2\n"
	}
	for text, want := range map[string]string{
		"n1:2,n2:2\n":                          "n1 2, n2 2",
		"n[1-2]:3\n":                           "n1 3, n2 3",
		"n1 slots = 2\nn2 slots =4\n":          "n1 2, n2 4",
		"n1 slots=2\nlogin slots=0\nn2\n":      "n1 2, n2 1",
		"daq@n1 slots=2\ndaq@n2:3 port=2222\n": "n1 2, n2 3",
		"n1 user=daq max_slots=9\n":            "n1 1",
		"Data for JOB 7\nNum nodes: 2\n" + node("n1") + node("n2"):                            "n1 2, n2 2",
		"Data for JOB 7\n" + node("n1") + "Data for JOB 7\n" + node("n1"):                     "line 5: a second map of mpirun: give one",
		"SLURM_JOB_NODELIST=n[1-2]\nSLURM_TASKS_PER_NODE=2(x2)\nSLURM_DISTRIBUTION=block\n":   "n1 2, n2 2",
		"SLURM_DISTRIBUTION=arbitrary\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_TASKS_PER_NODE=2(x2)": "line 1: SLURM_DISTRIBUTION is \"arbitrary\": Slurm's variables do not say which rank runs where then; give the output of srun -l hostname",
		"SLURM_JOB_NODELIST=n[1-2]\nSLURM_TASKS_PER_NODE=2(x2)\n":                             "SLURM_DISTRIBUTION is missing: Slurm's variables do not say which rank runs where then; give the output of srun -l hostname, or add SLURM_DISTRIBUTION=block if that is how the job ran",
		"LSB_HOSTS=n1 n1 n2\nLSB_MCPU_HOSTS=\"n1 2 n2 1\"\n":                                  "n1 1, n1 1, n2 1",
		"LSB_MCPU_HOSTS=n1 2 n2 2\n":                                                          "n1 2, n2 2",
		"LSB_MCPU_HOSTS=n1 2 n2\n":                                                            "line 1: LSB_MCPU_HOSTS has a host without its number of ranks",
		"exec_host = n1/0*2+n2/3\n":                                                           "n1 2, n2 1",
		"n1.a 2 all.q@n1.a UNDEFINED\nn2.a 1 all.q@n2.a <NULL>\n":                             "n1.a 2, n2.a 1",
		"n1:2 binding=user:0,1\nn2:2 ifname=ib0\n":                                            "n1 2, n2 2",
		"rank 1=n2 slot=0\nrank 0 = n1 slots=0:1\n":                                           "n1 1, n2 1",
		"[1,1]<stdout>:n2\n[1,0]<stdout>: n1\n":                                               "n1 1, n2 1",
		"[prterun-n1-4242@1,1]<stdout>: n2\n[prterun-n1-4242@1,0]<stdout>: n1\n":              "n1 1, n2 1",
		"[0] n1\n[1] n2\n": "n1 1, n2 1",
		"exec_vnode = (n1:ncpus=4:mpiprocs=2)+(n2:ncpus=2+n3:mem=9kb)\n": "n1 2, n2 2, n3 1",
		"-n 2 -host n1 ./osu\n-host n2 -n 3 ./osu -x 1\n":                "n1 2, n2 3",
		"[\"n1\",\n\"n[2-3]\"]\n":                                        "n1 1, n2 1, n3 1",
		"NODELIST\nn[1-2]\n":                                             "n1 1, n2 1",
		"n1 n1 n2 n2\n":                                                  "n1 1, n1 1, n2 1, n2 1",
		"n1 2 n2 2\n":                                                    "n1 2, n2 2",
		"n1, n2 , n3\n":                                                  "n1 1, n2 1, n3 1",
		"host,ranks\nn1,2\nn2,3\n":                                       "n1 2, n2 3",
		"      2 n1\n      1 n2\n":                                       "n1 2, n2 1",
		"n1 cpu=2\nn2 cpu=2 user=daq\n":                                  "n1 2, n2 2",
		"n1 2\nn2 1\n":                                                   "n1 2, n2 1",
		"n1:x,n2\n":                                                      "line 1: slots \"x\": must be 1..4096",
	} {
		entries, err := Read(strings.NewReader(text))
		var got []string
		for _, x := range entries {
			for _, name := range x.Names {
				got = append(got, fmt.Sprintf("%s %d", name, x.Slots))
			}
		}
		if err != nil {
			got = []string{err.Error()}
		}
		expect.Equal(t, strings.Join(got, ", "), want, "%q", text)
	}
}

func TestTasks(t *testing.T) {
	for list, want := range map[string][]int{"9": {9}, "3(x2),1": {3, 3, 1}, "": nil, "two": nil, "1(x0)": {}} {
		got, err := Tasks(list, Max)
		expect.True(t, slices.Equal(got, want) && (err == nil) == (want != nil), "Tasks(%q) = %v, %v; want %v", list, got, err, want)
	}
}

// FuzzExpand: no list names more hosts than it may, every name is one, and what is written
// of them names the same.
func FuzzExpand(f *testing.F) {
	f.Add("node[001-003,400],login")
	f.Add("r[1-2]n[08-11]-ib,n[1048575],[0]x[9]")
	f.Add("n[1-9]m[1-9]o[1-9]p[1-9]q[1-9]")
	f.Fuzz(func(t *testing.T, expr string) {
		names, err := Expand(expr)
		if err != nil {
			said := err.Error()
			expect.MustTrue(t, strings.HasPrefix(said, "host list ") && len(said) <= 1000, "%q: %s", expr, said)
			return
		}
		expect.MustTrue(t, len(names) <= Max, "%q: %d names", expr, len(names))
		if len(names) > 1<<12 {
			return // long to compare, and no different
		}
		slices.SortFunc(names, Compare)
		names = slices.Compact(names)
		for _, n := range names {
			expect.MustTrue(t, n != "" && Check(n, maxParts*(maxName+maxDigits)) == nil, "%q: name %q", expr, n)
		}
		short := Compress(names)
		again, err := Expand(short)
		slices.SortFunc(again, Compare)
		expect.MustTrue(t, err == nil && slices.Equal(again, names), "%q became %q and %.10q, not %.10q: %v", expr, short, again, names, err)
	})
}

func TestPlain(t *testing.T) {
	for name, want := range map[string]string{"n1": "n1", "n1.site.org": "n1", "10.0.0.1": "10.0.0.1", "fe80::1": "fe80::1", "10node.x": "10node"} {
		expect.Equal(t, Plain(name), want, "%s", name)
	}
}
