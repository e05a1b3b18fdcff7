package jobs

import (
	"slices"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/internal/hostlist"
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

func equal(a, b Job) bool { return a.ID == b.ID && slices.Equal(a.Nodes, b.Nodes) }

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"1 n1\n2 n[1-":                 "line 2: job 2: host list",
		": n1":                         "line 1: \": n1\": a line is",
		"n[1-3] x":                     "line 1: \"n[1-3] x\": a line is",
		"1 n[0-700000]\n2 n[0-700000]": "line 2: more than 1048576 nodes in all jobs",
		strings.Repeat("x", 16<<20+1):  "line 1: bufio.Scanner: token too long",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", hostlist.Short(text), err, want)
		}
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
	c, err := ReadClasses(strings.NewReader("io: nfs[1-2],mds*\nOther: login?,*-gw\ncompute: mds9"))
	expect.Must(t, err)
	for name, want := range map[string]nodeClass{
		"nfs1": ioNode, "nfs3": computeNode, "mds1": ioNode, "mds9": computeNode, "login1": otherNode, "login10": computeNode, "a-gw": otherNode,
	} {
		expect.Equal(t, c.of(name), want, "%s", name)
	}
	expect.True(t, new(Classes).of("n1") == computeNode, "without classes all compute")
	for text, want := range map[string]string{
		"disk: a": "no line begins so", "io": "a name is missing", "io: a\nother: a": "line 2: a is in class io and in class other",
	} {
		if _, err := ReadClasses(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

func TestScatter(t *testing.T) {
	sizes, err := ParseSizes("3x60,20")
	expect.MustTrue(t, err == nil && slices.Equal(sizes, []int{60, 60, 60, 20}), "%v %v", sizes, err)
	a := expect.Value(scatter(sizes, 200, 1, 0))(t)
	all := slices.Sorted(slices.Values(slices.Concat(a...)))
	for i, n := range all {
		expect.MustTrue(t, n == i, "node %d is missing or twice", i)
	}
	b, _ := scatter(sizes, 200, 1, 0)
	c, _ := scatter(sizes, 200, 1, 1)
	expect.True(t, slices.Equal(a[0], b[0]) && !slices.Equal(a[0], c[0]), "the same draw differs, or another does not")
	expect.True(t, expect.Err(scatter(sizes, 199, 1, 0)) != nil, "200 nodes fit on 199")
	for _, s := range []string{"", "0", "3x", "x3", "-1", "1x2x3", "9999999"} {
		expect.True(t, expect.Err(ParseSizes(s)) != nil, "%q was read", s)
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

// FuzzParseSizes: as many jobs as are asked for, no more than there can be.
func FuzzParseSizes(f *testing.F) {
	f.Add("3x60,20")
	f.Add("1048576x1")
	f.Fuzz(func(t *testing.T, text string) {
		sizes, err := ParseSizes(text)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		expect.MustTrue(t, len(sizes) != 0 && len(sizes) <= maxNodes, "%q: %d sizes", text, len(sizes))
		for _, n := range sizes {
			expect.MustTrue(t, n >= 1 && n <= maxNodes, "%q: a job of %d nodes", text, n)
		}
	})
}
