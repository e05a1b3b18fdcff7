package verify

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"evbench/site/network"
)

// A Fragment is a line of a plan with sizes. Times are byte times.
type Fragment struct {
	Start, Bytes int64
	Src, Dst     int32
}

// most is the largest number of such a line.
const most = 1 << 53

// fragment reads "start source destination bytes".
func (f *File) fragment(words []string) error {
	var n [4]int64
	for i, w := range words {
		var err error
		if n[i], err = strconv.ParseInt(w, 10, 64); err != nil || n[i] < 0 || n[i] > most || i%3 != 0 && n[i] >= mostHosts {
			return fmt.Errorf("%.20q is no number from 0", w)
		}
	}
	f.Fragments = append(f.Fragments, Fragment{n[0], n[3], int32(n[1]), int32(n[2])})
	return nil
}

// sized judges who sends what to whom, without the network. sizes are by source·hosts + destination, nil if they are
// not known.
func (r *Report) sized(f *File, sizes []int64) {
	r.Messages = len(f.Fragments)
	sent := make([]int64, f.Hosts*f.Hosts)
	for _, x := range f.Fragments {
		src, dst := int(x.Src), int(x.Dst)
		switch {
		case src >= f.Hosts || dst >= f.Hosts:
			r.accuse("no such host", -1, "at %d: a fragment from %d to %d, and there are hosts 0 to %d", x.Start, src, dst, f.Hosts-1)
			continue
		case !f.meets(src, dst):
			r.accuse("no message", -1, "at %d: %d sends to %d, which no exchange of these roles has", x.Start, src, dst)
		case sent[src*f.Hosts+dst] > 0:
			r.accuse("sent twice", -1, "at %d: %d has sent to %d before", x.Start, src, dst)
		case x.Bytes == 0:
			r.accuse("no bytes", -1, "at %d: %d sends no bytes to %d", x.Start, src, dst)
		}
		sent[src*f.Hosts+dst] = x.Bytes
	}
	h := sha256.New()
	for at, n := range sent {
		if n > 0 {
			fmt.Fprintf(h, "%d,%d,%d\n", at/f.Hosts, at%f.Hosts, n)
		}
		if sizes != nil && n != sizes[at] && f.meets(at/f.Hosts, at%f.Hosts) {
			r.accuse("size", -1, "%d bytes from %d to %d, and the sizes say %d", n, at/f.Hosts, at%f.Hosts, sizes[at])
		}
	}
	if sum := fmt.Sprintf("sha256:%x", h.Sum(nil)); sum != f.Header["sizes"] {
		r.accuse("sizes", -1, "the sizes have the sum %s, and the plan states %s", sum, f.Header["sizes"])
	}
	r.hash(f, func(out *bufio.Writer) {
		for _, x := range f.Fragments {
			fmt.Fprintf(out, "%d %d %d %d\n", x.Start, x.Src, x.Dst, x.Bytes)
		}
	})
}

// intervals judges the times of fragments over the tables: that no link has more at a time than it has room for, the
// bound and the end.
func (r *Report) intervals(f *File, t *routes, nodes []network.Node, rate float64) {
	type moment struct {
		at  int64
		end bool
		of  Fragment
	}
	on, need, end := map[link][]moment{}, map[link]float64{}, int64(0)
	for _, x := range f.Fragments {
		if int(x.Src) >= f.Hosts || int(x.Dst) >= f.Hosts || x.Src == x.Dst {
			continue
		}
		way := t.walk(nodes[x.Src], nodes[x.Dst])
		if way == nil {
			r.accuse("undelivered", -1, "at %d: the tables do not deliver the fragment from %d to %d", x.Start, x.Src, x.Dst)
			continue
		}
		slowest := 1.0
		for _, l := range way {
			slowest = min(slowest, t.rate(rate, l))
		}
		took := up(float64(x.Bytes) / slowest)
		end, r.Bound = max(end, x.Start+took), max(r.Bound, float64(took))
		for _, l := range way {
			on[l] = append(on[l], moment{x.Start, false, x}, moment{x.Start + took, true, x})
			need[l] += float64(x.Bytes) / t.rate(rate, l)
		}
	}
	for _, l := range slices.SortedFunc(maps.Keys(need), func(a, b link) int { return cmp.Or(int(b.Node-a.Node), int(a.Port)-int(b.Port)) }) {
		if x := float64(up(need[l])); x > r.Bound || x == r.Bound && r.Witness == "" {
			if r.Bound, r.Witness = x, t.net.EndName(l); t.net.IsHost(l.Node) {
				r.Witness = t.net.Name(l.Node)
			}
		}
		ends := on[l]
		slices.SortFunc(ends, func(a, b moment) int {
			if a.at == b.at && a.end != b.end {
				return map[bool]int{true: -1, false: 1}[a.end]
			}
			return cmp.Or(cmp.Compare(a.at, b.at), int(a.of.Src-b.of.Src), int(a.of.Dst-b.of.Dst))
		})
		under, room := 0, max(1, int(t.rate(rate, l)))
		for _, m := range ends {
			if m.end {
				under--
			} else if under++; under > room {
				r.accuse(SharedLink, -1, "at %d: the fragment from %d to %d is one more on %s than it has room for", m.at, m.of.Src, m.of.Dst, t.net.EndName(l))
				break
			}
		}
	}
	if r.Time = float64(end); r.Time != f.Time {
		r.accuse("time", -1, "the last fragment ends at %d, and the plan states %.0f", end, f.Time)
	}
	if !equal(r.Bound, f.Bound) {
		r.accuse("bound", -1, "%s needs %.0f byte times, and the plan states a bound of %.0f", r.Witness, r.Bound, f.Bound)
	}
}

func up(x float64) int64 { return int64(math.Ceil(x * (1 - 1e-12))) }

// unit is the unit in which the report states times.
func (r *Report) unit() string {
	if r.bytes {
		return "byte times"
	}
	return "message times"
}

// digits is how many of a time are written: byte times are whole.
func (r *Report) digits() int {
	if r.bytes {
		return 16
	}
	return 6
}

func sizedLine(words []string) bool { return len(words) == 4 && !strings.HasPrefix(words[3], "-") }
