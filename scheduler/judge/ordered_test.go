package judge_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
)

const headOrdered = "# evbench plan 2\n# topology FT(2;2,2)\n# down leaf1-spine0\n"

// Five fragments of two bytes that conflict in a cycle: split in halves they need five
// byte times, a fifth more than the bound.
const fiveCycle = headOrdered + "# time 5\n# bound 4 send server0\n" +
	"0 1 - 0 1\n1 2 1 0 1\n" +
	"0 1 - 1 1 1\n3 2 - 1 1\n" +
	"0 3 1 2 1\n3 2 - 2 1 1\n" +
	"0 3 1 3 1 1\n3 1 1 3 1\n" +
	"1 2 1 4 1 1\n3 1 1 4 1 1\n"

func judgeOrdered(t testing.TB, text string, sizes []judge.Size, o judge.Options) *judge.Report {
	t.Helper()
	o.Sizes = sizes
	return judged(t, text, o)
}

func TestOrderedSplit(t *testing.T) {
	r := judgeOrdered(t, fiveCycle, nil, judge.Options{Bound: true})
	expect.True(t, r.Valid && r.Duration == 5 && r.Messages == 5 && r.Pieces == 10 && r.Bound.Proven && r.Ratio() == 0.8, "%+v", r)
	var b strings.Builder
	expect.OK(t, r.WriteText(&b))
	expect.Contains(t, b.String(), "bound 4 proven by send server0: T*/T 0.8000\n")
	for _, witness := range []string{"receive server1", "receive server2", "up leaf0", "down leaf1", "lp leaf0-spine1/up=1", "lp leaf0-spine1/up=3,leaf1-spine1/down=3"} {
		if r := judgeOrdered(t, strings.Replace(fiveCycle, "send server0", witness, 1), nil, judge.Options{Bound: true}); r.Valid != (witness != "up leaf0") { // which has two live links
			t.Errorf("%s: %+v", witness, r)
		}
	}
}

// Two exchanges back to back: the bound is that of both, and each fragment belongs to one.
func TestOrderedWindow(t *testing.T) {
	text := strings.Replace(headOrdered, "# down", "# window 2\n# down", 1) + "# time 3\n# bound 3 send server0\n" +
		"0 1 - 0 2\n2 3 - 0 1\n2 3 - 1 1 0 1\n0 1 - 2 1 0 1\n"
	sizes := []judge.Size{{Src: 0, Dst: 1, Bytes: 2}, {Src: 2, Dst: 3, Bytes: 1}, {Src: 0, Dst: 1, Bytes: 1, Exchange: 1}, {Src: 2, Dst: 3, Bytes: 1, Exchange: 1}}
	r := judgeOrdered(t, text, sizes, judge.Options{Bound: true})
	expect.True(t, r.Valid && r.Exchanges == 2 && r.Messages == 4 && r.Bound.Proven && r.Ratio() == 1, "%+v", r)
	var b strings.Builder
	expect.OK(t, r.WriteText(&b))
	expect.Contains(t, b.String(), "4 servers, 2 exchanges, 4 fragments in 4 pieces, 5 bytes\n")
	for _, tt := range []struct {
		old, new string
		want     judge.Kind
		text     string
	}{
		{"2 3 - 1 1 0 1\n", "2 3 - 1 1\n", judge.RepeatedBytes, "server2 to server3, exchange 0: the piece from byte 0"},
		{"2 3 - 1 1 0 1\n", "2 3 - 1 1 1\n", judge.MissingBytes, "server2 to server3, exchange 1: 0 bytes, the sizes have 1"},
		{"2 3 - 1 1 0 1\n", "2 3 - 1 1 1 1\n", judge.MissingBytes, "server2 to server3, exchange 1: no piece carries bytes 0 to 0"},
		{"0 1 - 2 1 0 1\n", "0 1 - 1 1 0 1\n", judge.SendsTwice, "at 1: server0 sends to server1 and to server1"},
		{"# bound 3 send", "# bound 2 send", judge.WeakBound, " alone needs 3"},
	} {
		r := judgeOrdered(t, strings.Replace(text, tt.old, tt.new, 1), sizes, judge.Options{Bound: true})
		expect.False(t, r.Counts[tt.want] == 0 || !slices.ContainsFunc(r.Offences, func(o judge.Offence) bool { return strings.Contains(o.Text, tt.text) }),
			"%q for %q: %+v, want %s %q", tt.new, tt.old, r.Offences, tt.want, tt.text)
	}
}

// Each kind of damage is found.
func TestOrderedDamage(t *testing.T) {
	sizes := []judge.Size{{Src: 0, Dst: 1, Bytes: 2}, {Src: 0, Dst: 3, Bytes: 2}, {Src: 1, Dst: 2, Bytes: 2}, {Src: 3, Dst: 2, Bytes: 2}, {Src: 3, Dst: 1, Bytes: 2}}
	for _, tt := range []struct {
		old, new string
		want     judge.Kind
	}{
		{"0 1 - 1 1 1\n", "", judge.MissingBytes},
		{"0 1 - 0 1\n", "", judge.MissingBytes},
		{"0 1 - 1 1 1\n", "0 1 - 1 1\n", judge.RepeatedBytes},
		{"0 1 - 0 1\n", "0 1 - 0 1\n2 0 1 0 1\n", judge.RepeatedBytes},
		{"0 1 - 0 1\n", "0 1 - 0 1\n2 0 1 0 0\n", judge.EmptyPiece},
		{"0 1 - 0 1\n", "0 1 - 0 1\n2 2 - 0 1\n", judge.SelfMessage},
		{"0 1 - 0 1\n", "0 1 - 0 1\n9 2 - 0 1\n", judge.UnknownServer},
		{"0 1 - 0 1\n", "0 1 0 0 1\n", judge.NeedlessSpine},
		{"0 3 1 2 1\n", "0 3 - 2 1\n", judge.MissingSpine},
		{"0 3 1 2 1\n", "0 3 2 2 1\n", judge.NoSuchSpine},
		{"0 3 1 2 1\n", "0 3 0 2 1\n", judge.DeadLink},
		{"0 3 1 2 1\n", "0 3 1 0 1\n", judge.SendsTwice},
		{"3 2 - 1 1\n", "3 2 - 4 1\n", judge.ReceivesTwice},
		{"1 2 1 0 1\n", "1 2 1 3 1\n", judge.Contention},
		{"# time 5", "# time 6", judge.WrongTime},
		{"# time 5", "# hash sha256:0", judge.WrongHash},
		{"# time 5", "# sizes sha256:0", judge.WrongSizes},
		{"bound 4", "bound 3", judge.WeakBound},
		{"bound 4", "bound 5", judge.WrongBound},
		{"bound 4", "bound 6", judge.BelowBound},
		{"send server0", "send server1", judge.WrongBound},
		{"send server0", "send leaf0", judge.WrongBound},
		{"send server0", "up leaf9", judge.WrongBound},
		{"send server0", "lp", judge.WrongBound},
		{"send server0", "lp leaf1-spine0/up=1", judge.WrongBound},
		{"send server0", "lp leaf1-spine1/up=1,leaf1-spine1/up=1", judge.WrongBound},
		{"send server0", "faith", judge.WrongBound},
	} {
		text := strings.Replace(fiveCycle, tt.old, tt.new, 1)
		r := judgeOrdered(t, text, sizes, judge.Options{Bound: true})
		expect.True(t, !r.Valid && r.Counts[tt.want] != 0 && text != fiveCycle, "%q for %q: %v, want %s", tt.new, tt.old, r.Counts, tt.want)
	}
	if r := judgeOrdered(t, fiveCycle, sizes[:4], judge.Options{}); r.Counts[judge.RepeatedBytes] != 1 {
		t.Errorf("a fragment that the sizes do not have: %v", r.Counts)
	}
	both := strings.Replace(fiveCycle, "1 2 1 0 1\n", "1 2 1 3 1\n", 1)
	if r := judgeOrdered(t, both, nil, judge.Options{AllowContention: true}); r.Counts[judge.Contention] != 0 {
		t.Errorf("contention is allowed: %v", r.Counts)
	}
}

func TestOrderedRefuses(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"# evbench plan 2\n", "no topology"},
		{"# evbench plan 2\n# topology FT(3;2,2,2)\n0 4 1.x 0 1\n", `line 3: "0 4 1.x 0 1": top is not a number`},
		{"# evbench plan 2\n# topology PGFT(2;2,2;1,2;1,2)\n0 2 1.0 0 1\n", `line 3: "0 2 1.0 0 1": one cable`},
		{headOrdered + "# routing ftree\n", "line 4: routing \"ftree\""},
		{headOrdered + "# phases 3\n", `line 4: unknown header "phases"`},
		{headOrdered + "# time -1\n", `line 4: time "-1"`},
		{headOrdered + "# bound 7\n", `line 4: bound "7"`},
		{headOrdered + "# time 1\n# time 1\n", "line 5: header \"time\" a second time"},
		{headOrdered + "0 1 - 0\n", `line 4: "0 1 - 0": no bytes`},
		{headOrdered + "# window 17\n", `line 4: window "17"`},
		{headOrdered + "0 1 - 0 1 0 1\n", `line 4: "0 1 - 0 1 0 1": exchange is larger than 0`},
		{headOrdered + "0 1 - 0 1 0 0 0\n", `line 4: "0 1 - 0 1 0 0 0": more than 7 columns`},
		{headOrdered + "0 1 - 0 x\n", "bytes is not a number"},
		{headOrdered + "0 1 - 0 1 -\n", "offset is not a number"},
		{headOrdered + "0 1 - 0 1\n# time 1\n", "line 5: \"# time 1\": header lines come before"},
		{headOrdered + "0 1 - 0 9007199254740992\n0 1 - 0 1\n", "line 5: bytes and offsets add up"},
	} {
		expect.Error(t, expect.Err(judge.Read(strings.NewReader(tt.file))), tt.want)
	}
	// What fits is reckoned in bytes: a piece takes more than a message of version 1 does.
	expect.Error(t, expect.Err(judge.ReadWithin(strings.NewReader(fiveCycle), 4*judge.PieceBytes-1)), "line 9: more than 3 rows")
}

// FuzzOrdered: whatever the bytes, Read does not panic, and Check judges all
// that it accepts, the same way twice.
func FuzzOrdered(f *testing.F) {
	f.Add([]byte(fiveCycle))
	f.Add([]byte(headOrdered + "# sizes x\n# hash y\n# bound 9 lp leaf0-spine1/up=3\n## x\n9 9 9 9 9 9\n0 1 - 0 1\n"))
	f.Add([]byte(headOrdered + "# window 3\n0 1 - 0 1 0 2\n0 1 - 1 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := judge.ReadWithin(bytes.NewReader(data), 1000*judge.PieceBytes)
		if err != nil || !file.Sized() {
			return
		}
		r, again := judge.Check(file, judge.Options{Bound: true}), judge.Check(file, judge.Options{Bound: true, Sizes: []judge.Size{}})
		expect.MustTrue(t, r.Valid == (r.Total == 0) && again.Total >= r.Total && len(r.Offences) <= 10, "%+v\nthen %+v", r, again)
		expect.Must(t, r.WriteText(io.Discard))
	})
}
