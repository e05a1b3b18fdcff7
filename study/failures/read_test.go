package failures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/internal/answer"
	"evbench/site/osmlog"
	"evbench/testing/expect"
)

// TestStamp gives stamps a year, which must have the day.
func TestStamp(t *testing.T) {
	at := 59*day + 10 // 29 February
	got, err := (stamp{1, at}).time(2023)
	expect.True(t, err == nil && got.Format("2006-01-02 15:04:05.999999") == "2024-02-29 00:00:00.00001", "%s, %v", got, err)
	expect.True(t, expect.Err((stamp{0, at}).time(2023)) != nil, "29 February 2023 is a day")
}

// TestClock follows stamps through the turn of the year and clocks that are set.
func TestClock(t *testing.T) {
	for _, c := range []struct {
		name, in, want string // a * marks a time that is not known
		steps, turns   int
	}{
		{"forward", "Mar  1 10, Mar  2 10", "0 Mar 01 10, 0 Mar 02 10", 0, 0},
		{"turn of the year", "Dec 31 23, Jan  1 00, Dec 30 00, Jan  2 00", "0 Dec 31 23, 1 Jan 01 00, 1 Dec 30 00, 2 Jan 02 00", 0, 2},
		{"an hour again", "Oct 27 02, Oct 27 03, Oct 27 02, Oct 27 03, Oct 27 04", "0 Oct 27 02, 0 Oct 27 03, 0 Oct 27 03*, 0 Oct 27 03, 0 Oct 27 04", 1, 0},
		{"set back twice", "Oct 27 05, Oct 27 04, Oct 27 03, Oct 27 06, Oct 27 05, Oct 27 07",
			"0 Oct 27 05, 0 Oct 27 05*, 0 Oct 27 05*, 0 Oct 27 06, 0 Oct 27 06*, 0 Oct 27 07", 2, 0},
		{"was ahead by weeks", "Mar 20 10, Mar  1 10, Mar  1 11", "0 Mar 20 10, 0 Mar 01 10!, 0 Mar 01 11", 1, 0},
	} {
		var k clock
		var got []string
		for _, s := range strings.Split(c.in, ", ") {
			line, _ := osmlog.Parse([]byte(s + ":00:00 000000 x"))
			expect.MustTrue(t, line.Stamped, "%v", s)
			st, held := k.tick(line.At.Microseconds())
			text := fmt.Sprintf("%d %s", st.year, leap.Add(time.Duration(st.at)*time.Microsecond).Format("Jan 02 15"))
			if held {
				text += "*"
			}
			if k.wasAhead {
				text += "!"
			}
			got = append(got, text)
		}
		g := strings.Join(got, ", ")
		expect.True(t, g == c.want && k.steps == c.steps && k.rollovers == c.turns,
			"%s: %s, %d steps, %d turns\nwant %s, %d, %d", c.name, g, k.steps, k.rollovers, c.want, c.steps, c.turns)
	}
}

// TestJitter: threads write lines some microseconds out of order, which is no
// step of the clock, not even at the turn of the year.
func TestJitter(t *testing.T) {
	log := "Dec 31 23:59:59 999990 [1] 0x02 -> a\nJan  1 00:00:00 000010 [1] 0x02 -> a\nDec 31 23:59:59 999999 [2] 0x02 -> a\n" +
		"Jan  1 00:00:05 000000 [1] 0x02 -> a\nJan  1 00:00:04 999000 [2] 0x02 -> a\n"
	l, err := Read(strings.NewReader(log), "log")
	expect.True(t, err == nil && l.losses.ClockSteps == 0 && l.losses.Rollovers == 1, "%+v, %v", l.losses, err)
}

// TestAhead: what was logged before the clock was set back by weeks has no time.
func TestAhead(t *testing.T) {
	const down = " [1] 0x02 -> osm_spst_rcv_process: Switch 0x1 a port 7 changed state from ACTIVE to DOWN\n"
	l, err := Read(strings.NewReader("Mar 20 10:00:00 000000"+down+"Mar  1 10:00:00 000000 [1] 0x02 -> x\n"), "log")
	expect.True(t, err == nil && len(l.records) == 1 && l.records[0].held && l.records[0].at == l.span[1], "%+v, %v", l, err)
}

// TestFirstYears: logs that follow each other within a year are laid right,
// whatever their order.
func TestFirstYears(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 5))
		begin, n := rng.Int64N(yearLen), 1+rng.IntN(5)
		var spans [][2]stamp
		var want []int
		at := begin
		for range n {
			end := at + rng.Int64N(yearLen/12)
			spans = append(spans, [2]stamp{{0, at % yearLen}, {int(end/yearLen - at/yearLen), end % yearLen}})
			want = append(want, int(at/yearLen))
			at = end + rng.Int64N(yearLen/24)
		}
		order := rng.Perm(n)
		var mixed [][2]stamp
		for _, i := range order {
			mixed = append(mixed, spans[i])
		}
		for k, y := range firstYears(mixed) {
			expect.MustTrue(t, y == want[order[k]], "seed %d: log %d begins in year %d, want %d", seed, order[k], y, want[order[k]])
		}
	}
}

func TestReadCSV(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []osmlog.Message
		cut      int
	}{
		{"own order of columns, newest first", "state,@timestamp,Port,switch,message\nDOWN to INIT,2024-03-02T10:00:30.5Z,5,0x0002C90401000000,\"a, b\"\n" +
			"ACTIVE to DOWN,2024-03-02T10:00:00Z,5,0x0002C90401000000,\n",
			[]osmlog.Message{{Kind: osmlog.WentDown, GUID: 0x0002c90401000000, Port: 5}, {Kind: osmlog.CameUp, GUID: 0x0002c90401000000, Port: 5}}, 0},
		{"dashboard", "\"Mar 2, 2024 @ 10:00:00.000\",s1_0,5,DOWN\n\"Mar 2, 2024 @ 10:00:01.000\",s1_0,5,INIT\n\"Mar 2, 2024 @ 10:00:02.000\",s1_0,5,ACTIVE\n",
			[]osmlog.Message{{Kind: osmlog.WentDown, Name: "s1_0", Port: 5}, {Kind: osmlog.CameUp, Name: "s1_0", Port: 5}, {Kind: osmlog.Progressed, Name: "s1_0", Port: 5}}, 0},
		{"bad rows", "timestamp,switch,port,state\n2024-03-02 10:00:00,s1_0,5,GONE\n2024-03-02 10:00:00,s1_0,500,DOWN\nx,s1_0,5,DOWN\n" +
			"2024-03-02 10:00:00,,5,DOWN\n2024-03-02 10:00:00,s1_0,5\n2024-03-02 10:00:00,s1_0,5,UP\n1709373600000,s1_0,6,from ACTIVE to DOWN\n",
			[]osmlog.Message{{Kind: osmlog.CameUp, Name: "s1_0", Port: 5}, {Kind: osmlog.WentDown, Name: "s1_0", Port: 6}}, 5},
	} {
		l, err := Read(strings.NewReader(c.in), "x.csv")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []osmlog.Message
		for _, r := range l.records {
			got = append(got, r.Message)
		}
		expect.True(t, slices.Equal(got, c.want) && l.losses.Cut == c.cut, "%s: %+v, %d cut; want %+v, %d", c.name, got, l.losses.Cut, c.want, c.cut)
	}
	expect.Error(t, expect.Err(Read(strings.NewReader("hello\nworld\n"), "x.txt")), "x.txt")
}

// TestLongLines: a line longer than what is looked at is skipped to its end.
func TestLongLines(t *testing.T) {
	const stamp = "Mar  1 10:00:00 000000 [1] 0x02 -> "
	const down = "osm_spst_rcv_process: Switch 0x1 a port 7 changed state from ACTIVE to DOWN"
	for _, n := range []int{1, maxLine - 100, maxLine, 5 * maxLine} {
		in := stamp + strings.Repeat("x", n) + "\n" + stamp + down + "\n" + stamp + strings.Repeat("y", n) + "\n" + stamp + down
		l, err := Read(strings.NewReader(in), "log")
		expect.True(t, err == nil && len(l.records) == 2 && l.lines == 4, "%d: %d records of %d lines, %v", n, len(l.records), l.lines, err)
	}
}

func TestReadCables(t *testing.T) {
	c, err := ReadCables(strings.NewReader("# a comment\n\nsw a/b/5 x # no\n"))
	expect.True(t, err != nil, "read %+v", c)
	c, err = ReadCables(strings.NewReader("s1_0/5 s2_0/1\n0x1/7 0X02/3 leaf1-spine1 # here\nMF0;sw:N/U1/9 server\n"))
	expect.Must(t, err)
	var got []string
	for _, l := range c.links {
		got = append(got, l.Name+" "+l.class.String())
	}
	if want := []string{"leaf0-spine0 leaf-spine", "leaf1-spine1 leaf-spine", "MF0;sw:N/U1/9 server"}; !slices.Equal(got, want) || c.fabric() != 2 {
		t.Errorf("got %q, want %q", got, want)
	}
	for in, want := range map[string]string{
		"":                           "no cable",
		"a/1 b/2\na/1 c/3":           "line 2: port a/1 has a cable already",
		"a/1 a/1":                    "joined to itself",
		"a/1 b/2 x\nc/1 d/1 x":       "another link is called x",
		"a/0 b/2":                    "must be 1..254",
		"a b/2":                      "write SWITCH/PORT",
		"a/1":                        "1 words",
		"a/1 b/2 c d":                "4 words",
		strings.Repeat("x", 100_000): "too long",
	} {
		expect.Error(t, expect.Err(ReadCables(strings.NewReader(in))), want)
	}
}

// FuzzRead: whatever the bytes, reading, pairing and counting do not panic;
// failures have no negative length, do not overlap on a link, and no flap is lost.
// UFM names both ends of a link in a line, in either order: that is one change of it.
func TestReadUFM(t *testing.T) {
	const text = "2024-06-20 07:46:24.442 [901] [329] WARNING [Hardware] Link [x] [dev_id: 1]: Link went down: (Switch:t3-a:1/17/1)9c0591030090e000:33 - (Switch:t4:1/4/2)fc6a1c0300244e00:8, cable S/N: MT1\n" +
		"2024-06-20 07:46:25.000 [902] [110] WARNING Site [s] [Hardware] IBPort [y]: Symbol error\n" +
		"   more of the entry above\n" +
		"2024-06-20 07:46:34.442 [903] [328] INFO [Hardware] Link [x]: Link is up: (Switch:t4:1/4/2)fc6a1c0300244e00:8 - (Switch:t3-a:1/17/1)9c0591030090e000:33\n" +
		"2024-06-20 07:47:00.000 [904] [329] WARNING Site [s] [Hardware] Link [z]: Link went down: (Computer:node1 HCA-1)9c05910300000101:1 - (Switch:t4:1/5/1)fc6a1c0300244e00:9\n" +
		"2024-06-20 07:48:00.000 [905] [329] WARNING [Hardware] Link [z]: Link went down: (Switch:t4\n"
	l := expect.Value(Read(strings.NewReader(text), "event.log"))(t)
	expect.MustTrue(t, l.Dated() && len(l.records) == 3 && l.losses.Cut == 1, "%+v", l)
	a, b, c := l.records[0], l.records[1], l.records[2]
	expect.True(t, a.GUID == 0x9c0591030090e000 && a.Port == 33 && a.Kind == osmlog.WentDown && b.GUID == a.GUID && b.Port == 33 && b.Kind == osmlog.CameUp, "%+v, %+v", a, b)
	expect.True(t, c.GUID == 0xfc6a1c0300244e00 && c.Port == 9, "%+v: a host stands for its link", c)
	_, err := Read(strings.NewReader("[Jul 19 2025 18:34:57] [WARNING] [tid 134] Trunk port failure detected\n"), "fm.log")
	expect.Error(t, err, "fm.log: this is the log of NVLink's fabric manager, which does not say when a port is up again; give that of its subnet manager, nvlsm.log")
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("2024-06-20 07:46:24.442 [901] [329] WARNING [Hardware] Link [x]: Link went down: (Switch:a:1)9c05:33 - (Switch:b:1)fc6a:8\n"), "s1_0/5 s2_0/1")
	for _, name := range []string{"testdata/nvidia.log", "testdata/upstream.log"} {
		b := expect.Value(os.ReadFile(name))(f)
		f.Add(b[:min(len(b), 6000)], "s1_0/5 s2_0/1\n0x0002c90401000000/6 server\n")
	}
	f.Add([]byte("timestamp,switch,port,state\n2024-03-02 10:00:00,s1_0,5,DOWN\n"), "s1_0/5 s2_0/1")
	f.Fuzz(func(t *testing.T, in []byte, cables string) {
		c, _ := ReadCables(strings.NewReader(cables))
		l, err := Read(strings.NewReader(string(in)), "fuzz")
		if err != nil {
			return
		}
		h, err := Join([]*Log{l}, Options{Year: 2024, Cables: c})
		if err != nil {
			return
		}
		fs, _ := Pair(h)
		last := map[int]Failure{}
		for _, x := range fs {
			expect.MustTrue(t, !x.Up.Before(x.Down) && x.Flaps == 1 && !last[x.Link].Up.After(x.Down), "%+v after %+v", x, last[x.Link])
			last[x.Link] = x
		}
		r := Summarise(h, Settings{Merge: time.Minute})
		for _, g := range r.Groups {
			expect.MustTrue(t, g.Raw.Failures-g.Flaps+g.Periods == g.Merged.Failures,
				"%d failures, %d flaps in %d periods, but %d after merging", g.Raw.Failures, g.Flaps, g.Periods, g.Merged.Failures)
		}
		_, err = json.Marshal(r)
		if err = errors.Join(err, r.WriteText(io.Discard), answer.Document{Table: r.Table()}.Write(io.Discard, "csv")); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzParsePeriod: a period has a length, and written it is read as the same.
func FuzzParsePeriod(f *testing.F) {
	for _, s := range []string{"2024-03-08", "2024-03-08..2024-03-09", "2024-03-08T14:00:00..2024-03-08 15:00", "0000-01-01..9999-12-31", "2024-03-08T14:00:00+02:00..2024-03-09"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePeriod(s)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		expect.MustTrue(t, p.To.After(p.From), "%q: %v", s, p)
		if p.From.Year() < 1 || p.To.Year() > 9999 {
			return // as no layout writes it
		}
		text := p.From.Format(time.RFC3339Nano) + ".." + p.To.Format(time.RFC3339Nano)
		again, err := ParsePeriod(text)
		expect.MustTrue(t, err == nil && again.From.Equal(p.From) && again.To.Equal(p.To), "%q: %v, then %v of %q, %v", s, p, again, text, err)
	})
}

// FuzzReadCables: every link has a name of its own and two ends, and errors name the line.
func FuzzReadCables(f *testing.F) {
	f.Add("s1_0/5 s2_0/1\n0x0002c90401000000/6 server h0 # rack 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadCables(strings.NewReader(text))
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		names := map[string]bool{}
		for _, l := range c.links {
			expect.MustTrue(t, !names[l.Name] && l.Name != "", "%q: link %q twice", text, l.Name)
			names[l.Name] = true
		}
	})
}

// BenchmarkRead reads a log of which few lines matter.
func BenchmarkRead(b *testing.B) {
	var s strings.Builder
	for i := range 100_000 {
		at := leap.Add(time.Duration(i) * time.Second).Format("Jan 02 15:04:05")
		if i%100 == 0 {
			fmt.Fprintf(&s, "%s 000000 [85BA8640] 0x02 -> osm_spst_rcv_process: Switch 0x0002c90401000000 s1_0 port 5 changed state from ACTIVE to DOWN\n", at)
		} else {
			fmt.Fprintf(&s, "%s 000000 [AC9126C0] 0x01 -> log_trap_info: Received Generic Notice type:1 num:128 (Link state change) Producer:2 (Switch)\n", at)
		}
	}
	b.SetBytes(int64(s.Len()))
	for b.Loop() {
		expect.Must(b, expect.Err(Read(strings.NewReader(s.String()), "log")))
	}
}

// What is kept of a log is bounded, however long it is.
func TestReadIsBounded(t *testing.T) {
	rows := "timestamp,switch,port,state\n" + strings.Repeat("2024-03-08T14:00:00,0x1,1,DOWN\n", 20)
	lines := strings.Repeat("Nov 21 01:28:17 867263 [AA] 0x02 -> osm_spst_rcv_process: Switch 0x1 a port 7 (sw1p2) changed state from ACTIVE to DOWN\n", 20)
	for name, text := range map[string]string{"rows": rows, "lines": lines} {
		if l, err := read(strings.NewReader(text), name, 20); err != nil || len(l.records) != 20 {
			t.Errorf("%s: %v", name, err)
		}
		expect.Error(t, expect.Err(read(strings.NewReader(text), name, 19)), "more than 19 changes of ports")
	}
	_, err := Read(io.MultiReader(strings.NewReader(rows+"\""), zeros{}), "open quote")
	expect.True(t, err != nil && strings.Contains(err.Error(), "open quote:22: a row of more than 1048576 bytes"), "%v", err)
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
