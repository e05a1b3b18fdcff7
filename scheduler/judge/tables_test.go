package judge_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"evbench/model/order"
	"evbench/scheduler/judge"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// ring is the plan of an exchange over three switches in a ring, and its tables as text.
func ring(t testing.TB) (plan, dump string, n *network.Network) {
	t.Helper()
	n = expect.Value(network.Parse("HyperX(3;2)", 0))(t)
	tables := expect.Value(engines.Compute("opensm-minhop", n, engines.Options{}))(t)
	p := expect.Value(order.Make("ring", tables, lft.Job{Nodes: network.AllHosts(n).Nodes}, 0))(t)
	var file, text bytes.Buffer
	expect.Must(t, p.WriteText(&file))
	expect.Must(t, tables.WriteDump(&text))
	return file.String(), text.String(), n
}

func check(t testing.TB, plan, dump string, n *network.Network) (*judge.Report, error) {
	t.Helper()
	f, err := judge.ReadWithin(strings.NewReader(plan), 1000*judge.MessageBytes)
	if err != nil {
		return nil, err
	}
	tables, err := f.TablesOf(n.ForJudge(), strings.NewReader(dump))
	if err != nil {
		return nil, err
	}
	return judge.Check(f, judge.Options{Tables: tables}), nil
}

// rehashed changes a plan and states the hash of what it is then.
func rehashed(t testing.TB, plan, dump string, n *network.Network) string {
	t.Helper()
	r := expect.Value(check(t, plan, dump, n))(t)
	for _, o := range r.Offences {
		if o.Kind == judge.WrongHash {
			_, rest, _ := strings.Cut(plan, "# hash ")
			old, _, _ := strings.Cut(rest, "\n")
			_, sum, _ := strings.Cut(o.Text, "canonical text has ")
			return strings.Replace(plan, old, sum, 1)
		}
	}
	return plan
}

// TestOffences changes a valid plan, and wants the offence first that explains the others.
func TestOffences(t *testing.T) {
	plan, dump, n := ring(t)
	r := expect.Value(check(t, plan, dump, n))(t)
	expect.MustTrue(t, r.Valid && r.Duration == r.Bound.Value && r.Messages == 30, "%+v\n%s", r, plan)
	lines := strings.Split(strings.TrimSpace(plan), "\n")
	last := lines[len(lines)-1]
	first := ""
	for _, l := range lines {
		if first == "" && !strings.HasPrefix(l, "#") {
			first = l
		}
	}
	words := strings.Fields(last)
	for _, tt := range []struct {
		name, plan string
		kind       judge.Kind
	}{
		{"a message less", strings.Replace(plan, last+"\n", "", 1), judge.MissingMessage},
		{"a message twice", plan + last + "\n", judge.RepeatedMessage},
		{"another destination", strings.Replace(plan, first, strings.Join(append(strings.Fields(first)[:2], "9", "-"), " "), 1), judge.UnknownServer},
		{"to itself", strings.Replace(plan, last, words[0]+" "+words[1]+" "+words[1]+" -", 1), judge.SelfMessage},
		{"all at once", strings.ReplaceAll(strings.ReplaceAll(plan, "\n1 ", "\n0 "), "\n2 ", "\n0 "), judge.SendsTwice},
		{"phases stated", strings.Replace(plan, "# phases ", "# phases 1", 1), judge.WrongPhaseCount},
		{"bound stated", strings.Replace(plan, "# bound ", "# bound 1", 1), judge.WrongBound},
		{"time stated", strings.Replace(plan, "# time ", "# time 1", 1), judge.WrongTime},
		{"made for others", strings.Replace(plan, "# tables sha256:", "# tables sha256:0", 1), judge.OtherTables},
	} {
		r, err := check(t, rehashed(t, tt.plan, dump, n), dump, n)
		expect.MustTrue(t, err == nil, "%s: %v", tt.name, err)
		found := false
		for _, o := range r.Offences {
			found = found || o.Kind == tt.kind
		}
		expect.True(t, !r.Valid && found, "%s: %+v, want %s", tt.name, r, tt.kind)
	}
	r = expect.Value(check(t, strings.Replace(plan, "\n0 ", "\n1 ", 1), dump, n))(t)
	expect.True(t, !r.Valid, "the hash is not looked at")
}

// TestOtherTables: tables in which one entry of a route has changed are not those of the plan; one that no
// message needs does not matter.
func TestOtherTables(t *testing.T) {
	plan, dump, n := ring(t)
	other := strings.Replace(dump, "0x0006 004", "0x0006 003", 1)
	expect.MustTrue(t, other != dump, "no such entry in\n%s", dump)
	r := expect.Value(check(t, plan, other, n))(t)
	expect.True(t, !r.Valid && r.Offences[0].Kind == judge.OtherTables, "%+v", r)
	unused := dump + "Unicast lids [0-9] of switch Lid 7 guid 0x0002c90401000000 ('s1_0'):\n"
	expect.True(t, expect.Err(check(t, plan, unused+"junk\n", n)) == nil, "lines of text are an error")
	expect.Error(t, expect.Err(check(t, plan, strings.Replace(dump, "guid 0x", "guid 0x1", 1), n)), "no switch of the network has the GUID")
	expect.Error(t, expect.Err(check(t, strings.Replace(plan, "# guids 0x0002c903", "# guids 0x0002c905", 1), dump, n)), "host 0 has the GUID 0x0002c90500000001, which no host of the network has")
}

// TestRefuses: what is no plan of this version, by line and field.
func TestRefuses(t *testing.T) {
	plan, _, _ := ring(t)
	for _, tt := range []struct{ old, new, want string }{
		{"# evbench plan 4", "# evbench plan 1", `unknown header "network"`},
		{"# hosts 6", "# hosts six", `hosts: "six" is no number from 1`},
		{"# hosts 6", "# hosts 5", "guids: 6 for 5 hosts"},
		{"# hosts 6", "# hosts 6\n# hosts 6", `line 5: header "hosts" a second time, after line 4`},
		{"# guids 0x", "# guids y", "guids: "},
		{"# guids 0x0002c90300000001,", "# guids 0x0002c90300000011,", "guids: 0x0002c90300000011 is that of the hosts 0 and 1"},
		{"# tables ", "# x-tables ", `no line "# tables"`},
		{"# phases ", "# phases -", "phases: "},
		{"# time ", "# time x", `time "x`},
		{"# bound ", "# bound x", `bound "x`},
		{"# tables", "# readers 0-9\n# tables", `readers: "0-9" is no rank, nor ranks from 0 to 5`},
		{"# tables", "# adapters 0-1,3-5\n# tables", `adapters: "3-5": write the ranks of each host, in their order, all from 0 to 5`},
		{"# tables", "# adapters 0-1,2\n# tables", "adapters: rank 3 has no host"},
		{"# tables", "# adapters \n# tables", `header "adapters" has no value`},
		{"# tables", "# path-bits 0,1,2,3,4,128\n# tables", `path-bits: "128" is no number from 0 to 127`},
		{"# tables", "# path-bits 0,1\n# tables", "path-bits: 2 for 6 hosts"},
		{"\n0 0 ", "\n0 zero ", "src is not a number"},
		{"\n0 0 1 -", "\n0 0 1 7", `path "7": over tables it is -`},
	} {
		_, err := judge.Read(strings.NewReader(strings.Replace(plan, tt.old, tt.new, 1)))
		expect.Error(t, err, tt.want)
	}
	_, err := judge.ReadWithin(strings.NewReader(plan), 10*judge.MessageBytes)
	expect.Error(t, err, "more than 10 rows")
}

// TestSizes: what is wrong with a plan of fragments that differ in size.
func TestSizes(t *testing.T) {
	n := expect.Value(network.Parse("HyperX(3;2)", 0))(t)
	tables := expect.Value(engines.Compute("opensm-minhop", n, engines.Options{}))(t)
	bytes := make([]int64, 36)
	for m := range bytes {
		if m/6 != m%6 {
			bytes[m] = int64(10 + m)
		}
	}
	p := expect.Value(order.MakeSized("ring", tables, lft.Job{Nodes: network.AllHosts(n).Nodes}, bytes, 0))(t)
	var file, dump strings.Builder
	expect.Must(t, p.WriteText(&file))
	expect.Must(t, tables.WriteDump(&dump))
	held := func(text string, sizes []int64) *judge.Report {
		f := expect.Value(judge.Read(strings.NewReader(text)))(t)
		o := judge.Options{Tables: expect.Value(f.TablesOf(n.ForJudge(), strings.NewReader(dump.String())))(t)}
		for m, size := range sizes {
			if size > 0 {
				o.Sizes = append(o.Sizes, judge.Size{Src: int32(m / 6), Dst: int32(m % 6), Bytes: size})
			}
		}
		return judge.Check(f, o)
	}
	expect.True(t, held(file.String(), bytes).Valid, "%+v", held(file.String(), bytes))
	lines := strings.Split(strings.TrimSpace(file.String()), "\n")
	last := lines[len(lines)-1]
	words := strings.Fields(last)
	other := append([]int64{}, bytes...)
	other[1]++
	for _, tt := range []struct {
		name, plan string
		kind       judge.Kind
		sizes      []int64
	}{
		{"other sizes", file.String(), judge.MissingBytes, other},
		{"a fragment less", strings.Replace(file.String(), last+"\n", "", 1), judge.WrongSizes, nil},
		{"twice", file.String() + last + "\n", judge.RepeatedBytes, nil},
		{"all at once", strings.Replace(file.String(), last, "0 "+strings.Join(words[1:], " "), 1), judge.SendsTwice, nil},
		{"to itself", strings.Replace(file.String(), last, words[0]+" "+words[1]+" "+words[1]+" - 9", 1), judge.SelfMessage, nil},
		{"no host", strings.Replace(file.String(), last, words[0]+" 7 0 - 9", 1), judge.UnknownServer, nil},
		{"time", strings.Replace(file.String(), "# time ", "# time 1", 1), judge.WrongTime, nil},
		{"bound", strings.Replace(file.String(), "# bound ", "# bound 1", 1), judge.WrongBound, nil},
	} {
		r, found := held(tt.plan, tt.sizes), false
		for _, o := range r.Offences {
			found = found || o.Kind == tt.kind
		}
		expect.True(t, !r.Valid && found, "%s: %+v, want %s", tt.name, r, tt.kind)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"# sizes ", "# x-sizes ", "more than 4 columns"},
		{last, words[0] + " 0 1 - -", "bytes is not a number"},
		{last, words[0] + " 0 1 - 1e3", "bytes is not a number"},
		{last, words[0] + " 0 99999999 - 1", "dst is larger than 16777216"},
	} {
		_, err := judge.Read(strings.NewReader(strings.Replace(file.String(), tt.old, tt.new, 1)))
		expect.Error(t, err, tt.want)
	}
}

// FuzzTables: whatever the bytes, reading and judging over tables do not panic, and judge the same way twice.
func FuzzTables(f *testing.F) {
	plan, dump, n := ring(f)
	f.Add(plan)
	f.Add(strings.Replace(strings.ReplaceAll(plan, " -\n", " - 7\n"), "# schedule", "# sizes sha256:0\n# schedule", 1))
	f.Add(strings.Replace(plan, "# tables", "# readers 0-2\n# builders 1,3-5\n# undelivered 2\n# tables", 1))
	f.Fuzz(func(t *testing.T, text string) {
		first, err := check(t, text, dump, n)
		if err != nil {
			return
		}
		again := expect.Value(check(t, text, dump, n))(t)
		expect.MustTrue(t, first.Total == again.Total && first.Valid == (first.Total == 0) && len(first.Offences) <= 10, "%+v\nthen %+v", first, again)
		expect.Must(t, first.WriteText(io.Discard))
	})
}
