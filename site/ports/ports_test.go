package ports

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/controller/wire"
	"evbench/routing"
	"evbench/testing/expect"
)

// A fake is a network of two levels whose switches choose by Mix of hosts and port.
type fake struct {
	hosts, onLeaf, spines int
	silent                int          // in so many, an answer is lost
	deaf                  int          // so many answers of destinations are lost at first
	spray                 bool         // each packet goes its own way
	taken                 map[int]bool // ports in use
	end                   int          // Ctrl-C after so many rounds; 0: never
	rounds, packets       int
	seed                  uint64   // of the hash
	dead                  [][2]int // cables: leaf and spine
	gaps                  []time.Duration
}

func (f *fake) hop(src, dst, port int) int {
	if f.spray {
		port = f.packets
	}
	at := int(routing.Mix(9+f.seed, uint64((src*f.hosts+dst)*70000+port)) % uint64(f.spines))
	for slices.Contains(f.dead, [2]int{src / max(1, f.onLeaf), at}) || slices.Contains(f.dead, [2]int{dst / max(1, f.onLeaf), at}) {
		port += 1000
		at = int(routing.Mix(9+f.seed, uint64((src*f.hosts+dst)*70000+port)) % uint64(f.spines))
	}
	return at
}

func (f *fake) list() (out []Host) {
	for h := range f.hosts {
		out = append(out, Host{fmt.Sprintf("node%d", h), netip.AddrFrom4([4]byte{10, byte(h >> 8), byte(h), 1})})
	}
	return out
}

func (f *fake) ask(_ context.Context, trails [][]wire.Trail, gap time.Duration) ([][]wire.Seen, error) {
	if f.rounds++; f.end != 0 && f.rounds > f.end {
		return nil, context.Canceled
	}
	f.gaps = append(f.gaps, gap)
	out := make([][]wire.Seen, len(trails))
	for src, all := range trails {
		for _, t := range all {
			to := netip.MustParseAddrPort(t.To)
			a := to.Addr().As4()
			dst := int(a[1])<<8 | int(a[2])
			out[src] = append(out[src], f.follow(src, dst, t))
		}
	}
	return out, nil
}

func (f *fake) follow(src, dst int, t wire.Trail) (s wire.Seen) {
	to := netip.MustParseAddrPort(t.To)
	if f.taken[t.Port] {
		return wire.Seen{InUse: true}
	}
	length := 3 // routers of a way
	if src/f.onLeaf == dst/f.onLeaf {
		length = 1
	}
	for ttl := t.First; ttl <= t.Last; ttl++ {
		f.packets++
		if ttl > length {
			if f.deaf--; f.deaf >= 0 {
				s.Hops = append(s.Hops, "")
				continue
			}
			s.Reached = true
			return s
		}
		from := t.Port
		if to.Port() != 7000 { // the way back of a connection from there
			from = -int(to.Port())
		}
		spine := f.hop(src, dst, from)
		hop := fmt.Sprintf("172.16.%d.%d", src/f.onLeaf, spine)
		if ttl == 3 {
			hop = fmt.Sprintf("172.17.%d.%d", dst/f.onLeaf, spine)
		}
		if f.silent > 0 && f.packets%f.silent == 0 {
			hop = ""
		}
		s.Hops = append(s.Hops, hop)
	}
	return s
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name   string
		f      fake
		want   string // begins the answer
		known  int
		others func(t *testing.T, f fake, s Survey)
	}{
		{"all answer", fake{}, "GOOD: All 96 paths between 8 hosts behind different switches are known by their source ports.", 96, nil},
		{"one in seven is lost", fake{silent: 7}, "GOOD: All 96 paths", 96, func(t *testing.T, f fake, _ Survey) {
			expect.True(t, f.gaps[1] == 2*f.gaps[0], "gaps %v", f.gaps)
		}},
		{"destinations answer late", fake{deaf: 30}, "GOOD: All 96 paths", 96, nil},
		{"none answers", fake{silent: 1}, "NOT KNOWN: 96 of 96 paths are not whole, such as node0 to node2 from port", 0, nil},
		{"sprayed", fake{spray: true}, "NOT KNOWN: Packets of one port took several ways, for ", -1, nil},
		{"ports in use", fake{taken: someTaken()}, "GOOD: All 96 paths", 96, func(t *testing.T, f fake, s Survey) {
			expect.True(t, len(s.Taken) > 10, "%d ports were taken", len(s.Taken))
			for _, r := range s.Paths.Rows {
				expect.False(t, f.taken[r.Port], "port %d is in use", r.Port)
			}
		}},
		{"one switch", fake{onLeaf: 8}, "GOOD: All 8 hosts are behind one switch, so no port chooses a path.", 0, nil},
		{"ended early", fake{end: 1}, "NOT KNOWN: The survey was interrupted: 96 paths are known.", 96, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := test.f
			f.hosts, f.spines = 8, 4
			if f.onLeaf == 0 {
				f.onLeaf = 2
			}
			s, err := Run(t.Context(), f.list(), 7000, Options{Ports: 2, Seed: 1}, f.ask)
			expect.Equal(t, errors.Is(err, context.Canceled), f.end != 0, "ended early")
			a := s.Answer(err).String()
			expect.True(t, strings.HasPrefix(a, test.want), "answer %q, want %q", a, test.want)
			if test.known >= 0 {
				expect.Equal(t, s.Fields("").Known, test.known, "known")
			}
			for _, r := range s.Paths.Rows {
				if r.Known() && r.Port != None && !f.spray {
					expect.Equal(t, r.Hops[0].String(), fmt.Sprintf("172.16.%d.%d", r.Src/f.onLeaf, f.hop(r.Src, r.Dst, r.Port)), "%v", r)
				}
			}
			if test.others != nil {
				test.others(t, f, s)
			}
		})
	}
}

func someTaken() map[int]bool {
	out := map[int]bool{}
	for p := lowPort; p < lowPort+portRange; p += 5 {
		out[p] = true
	}
	return out
}

const small = `# evbench paths 1
# time 2026-11-29T15:00:00Z
# protocol tcp
# port 7000
# host a 10.0.0.1
# host b 10.0.0.2
# host c fd00::3
# hop 172.16.0.1 leaf0-spine1
a b -
a c 20001 172.16.0.1 *
a c 20002 172.16.0.1|172.16.0.3 172.16.0.8
`

// Read reads the form of Write.
func Read(r io.Reader) (*Paths, error) {
	p := newParser()
	return p.paths, cmp.Or(p.read(r), p.settle())
}

func TestRead(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"another file", "# evbench paths 1", "# evbench plan 1", `line 1: "# evbench plan 1": a file of evbench paths begins with "# evbench paths 1"`},
		{"no time", "# time 2026-11-29T15:00:00Z\n", "", "its header is not whole: time, protocol, port and two hosts or more are needed"},
		{"protocol", "tcp", "sctp", `line 3: protocol "sctp": there are tcp and rocev2`},
		{"host twice", "host b", "host a", "line 6: host a: is there twice, or there are more than 4096"},
		{"address twice", "10.0.0.2", "10.0.0.1", "line 6: host b: another host has its address 10.0.0.1"},
		{"foreign host", "a b -", "a x -", "line 9: host x: is not in the header"},
		{"itself", "a b -", "a a -", "line 9: host a: a path to itself"},
		{"port", "20001", "70000", `line 10: port "70000": must be 1..65535`},
		{"way back", "20001", "7001:20001", `line 10: port "7001:20001": the way back of a connection leaves from its destination port, which the header has as 7000`},
		{"port twice", "20002", "20001", "line 11: a c 20001: is there twice"},
		{"hop", "172.16.0.8", "spine1", `line 11: hop "spine1": is no address, nor * (no answer), nor a|b (answers that disagree)`},
		{"far, without hops", " 172.16.0.1 *", "", "line 10: a row with a port has hops: without one the two hosts are behind one switch, and the port is -"},
		{"near, with hops", "a b -", "a b - 172.16.0.1", "line 9: a row without a port has no hops: the two hosts are behind one switch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(strings.Replace(small, test.old, test.new, 1)))
			expect.True(t, err != nil && err.Error() == test.want, "error %v\nwant %s", err, test.want)
		})
	}
	p := expect.Value(Read(strings.NewReader(small)))(t)
	expect.Equal(t, written(t, p), small, "written")
	expect.Equal(t, fmt.Sprint(p.Rows[0].Known(), p.Rows[1].Known(), p.Rows[2].Known(), p.Rows[2].Sprayed(), p.groupOf()), "true false false true [0 0 1]", "rows")
}

func written(t *testing.T, p *Paths) string {
	t.Helper()
	var b bytes.Buffer
	expect.Must(t, p.Write(&b))
	return b.String()
}

// A packed file is read as any other, and two files of one network are one; a port that moved between them is named.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.txt.gz"), filepath.Join(dir, "b.txt")
	p := expect.Value(Read(strings.NewReader(small)))(t)
	expect.Must(t, p.WriteFile(a))
	more := strings.Replace(strings.Replace(small, "a c 20001 172.16.0.1 *", "c a 20009 172.16.0.8", 1), "# host b 10.0.0.2", "# host d 10.0.0.4\n# host b 10.0.0.2", 1)
	expect.Must(t, expect.Value(Read(strings.NewReader(more)))(t).WriteFile(b))
	both := expect.Value(ReadFiles(a, b))(t)
	expect.True(t, len(both.Rows) == 4 && len(both.Hosts) == 4, "%d rows of %d hosts", len(both.Rows), len(both.Hosts))
	expect.Must(t, expect.Value(Read(strings.NewReader(strings.Replace(more, "20009 172.16.0.8", "20009 172.16.0.9", 1))))(t).WriteFile(a))
	_, err := ReadFiles(b, a)
	expect.True(t, err != nil && strings.HasSuffix(err.Error(), "a.txt.gz: line 12: c to a from port 20009 takes another path than in the one before: ask again with evbench paths"), "%v", err)
}

// What is read is written so that it is read as the same.
func FuzzRead(f *testing.F) {
	f.Add(small)
	f.Add(strings.Replace(small, "|", " * ", 1))
	f.Add(strings.Replace(small, "paths 1", "paths 2", 1) + "# slow a 0.5\nc a 20001 172.16.0.2\n# slow 172.16.0.2 leaf0-spine1 0.25\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		once := written(t, p)
		again, err := Read(strings.NewReader(once))
		expect.Must(t, err)
		expect.Equal(t, written(t, again), once, "written again")
	})
}

// TestLateAnswer: an answer that came for another hop of the way is none.
func TestLateAnswer(t *testing.T) {
	var q question
	asked, silent := q.take(wire.Trail{First: firstHop, Last: maxHop}, wire.Seen{Hops: []string{"172.16.0.1", "172.16.0.2", "172.16.0.2"}, Reached: true})
	expect.Equal(t, fmt.Sprint(asked, silent, q.Hops), "4 1 [172.16.0.1 172.16.0.2 *]", "answers")
}
