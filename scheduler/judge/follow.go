package judge

import (
	"fmt"
	"math"
	"slices"

	"evbench/topology"
)

// overTables prepares a plan over tables: who meets whom and, where the tables are given, what each link needs.
func (j *judge) overTables() {
	x, s := j.over, j.Report.Servers
	j.Report.Hosts, j.Report.LeftOut = x.Hosts(), x.Lost
	j.reads, j.builds = x.Reads, x.Builds
	for r := range s {
		j.seats = append(j.seats, seat{int32(r), int32(-1 - r)})
	}
	for at := range s * s {
		if x.Meets(at/s, at%s) {
			j.expected++
		}
	}
	ends := make([]int, 2*s) // messages that each server sends, and receives
	for _, m := range j.messages {
		if src, dst := j.at(m.Src).rank, j.at(m.Dst).rank; src >= 0 && dst >= 0 {
			ends[src]++
			ends[int(dst)+s]++
		}
	}
	j.ideal = slices.Max(ends)
	t := j.opt.Tables
	if t == nil {
		if j.wires = make([]load, 2*s); j.opt.Ports != nil {
			j.overPorts(j.opt.Ports)
		}
		return
	}
	j.wires = make([]load, 2*s+len(t.owner))
	for r := range s {
		j.rate = append(j.rate, 1, 1)
		if ports := t.net.Nodes[t.Nodes[r]].Ports; len(ports) > 0 {
			own := t.first[t.Nodes[r]]
			j.rate[2*r] = t.share[own]
			if far := ports[0]; far.Node >= 0 {
				j.rate[2*r+1] = t.share[t.first[far.Node]+int32(far.Port)-1]
			}
		}
	}
	j.rate = append(j.rate, t.share...)
	j.needed()
}

// link is the wire of a link between switches, or to a host.
func (j *judge) link(l int32) topology.Wire {
	return topology.Wire(2*j.Report.Servers) + topology.Wire(l)
}

// way is the links between switches of a message over tables, until the next call, and sets how long a piece takes.
func (j *judge) way(i int32, src, dst seat) []int32 {
	if j.file.sized {
		j.took = j.pieces[i].Bytes
	}
	t := j.opt.Tables
	switch {
	case j.over != nil && j.opt.Ports != nil:
		return j.leaving(i, j.opt.Ports, src, dst)
	case j.over == nil || t == nil:
		return nil
	}
	way := t.walk(t.Nodes[src.rank], t.Nodes[dst.rank])
	if way == nil {
		j.message(Undelivered, i, "the tables do not deliver the message from server%d to server%d", j.messages[i].Src, j.messages[i].Dst)
		return nil
	}
	if j.file.sized {
		j.took = up(float64(j.took) / t.slowest(way))
	}
	return way[1 : len(way)-1]
}

// slowest is the least share of a way, at most 1.
func (t *Tables) slowest(way []int32) float64 {
	least := 1.0
	for _, l := range way {
		least = min(least, t.share[l])
	}
	return least
}

// up rounds up, but for what division makes of whole numbers.
func up(x float64) int64 { return int64(math.Ceil(x * (1 - 1e-12))) }

// needed finds what the busiest link needs for the messages of an exchange, in message times or, where sizes differ, byte
// times. Where a link is slower than a message, phases have lengths and messages may share links. It compares the tables
// with those that the plan states.
func (j *judge) needed() {
	t, s, lost, lengths := j.opt.Tables, j.Report.Servers, 0, false
	need, goes := make([]float64, len(t.owner)), make([]bool, s*s)
	add := func(src, dst int, amount float64) {
		way := t.walk(t.Nodes[src], t.Nodes[dst])
		if way == nil {
			lost++
			return
		}
		goes[src*s+dst] = true
		if j.file.sized {
			j.needs = max(j.needs, float64(up(amount/t.slowest(way))))
		}
		for _, l := range way {
			need[l] += amount
			lengths = lengths || t.share[l] < 1
		}
	}
	if j.file.sized {
		for _, p := range j.pieces {
			if src, dst := j.at(p.Src), j.at(p.Dst); src.rank >= 0 && dst.rank >= 0 && j.meets(int(src.rank), int(dst.rank)) {
				add(int(src.rank), int(dst.rank), float64(p.Bytes))
			}
		}
	} else {
		for at := range s * s {
			if j.over.Meets(at/s, at%s) {
				add(at/s, at%s, 1)
			}
		}
		if lost != j.over.Lost {
			j.claim(Undelivered, "the tables do not deliver %d messages, and the file states %d", lost, j.over.Lost)
		}
	}
	j.longestLink(need, lengths)
	if lengths {
		j.opt.AllowContention = j.opt.AllowContention || !j.file.sized
		for l, x := range t.share {
			if x < 1 && int(t.owner[l]) < t.far(int32(l)) {
				j.Report.Slow++
			}
		}
	}
	if sum := t.sum(func(src, dst int) bool { return goes[src*s+dst] }); sum != j.over.Tables {
		j.claim(OtherTables, "the plan was made for other tables: these have the sum %s", sum)
	}
}

// longestLink finds the link that needs longest for what it carries.
func (j *judge) longestLink(need []float64, lengths bool) {
	t := j.opt.Tables
	for v := len(t.net.Nodes) - 1; v >= 0; v-- { // switches before hosts
		for l := t.first[v]; l < t.first[v+1]; l++ {
			if need[l] == 0 {
				continue
			}
			x := need[l] / t.share[l]
			switch {
			case j.file.sized:
				x = float64(up(x))
			case !lengths:
				x = max(1, math.Ceil(x-1e-9))
			default:
				x = max(1, x)
			}
			if x > j.needs*(1+1e-9) || j.busiest == "" && x >= j.needs {
				j.needs, j.busiest = x, t.name(l)
			}
		}
	}
}

// overBound compares the stated bound of a plan over tables, or over ports where links are slow or sizes differ, with what the
// busiest link needs.
func (j *judge) overBound() {
	if j.opt.Tables == nil && j.rate == nil && (j.opt.Ports == nil || !j.file.sized) {
		return
	}
	b := j.file.Bound
	j.Report.Bound = &BoundReport{Value: j.needs, Kind: j.busiest, Proven: true, Gap: j.Report.Duration - j.needs}
	if !equal(j.needs, b.Value) {
		j.claim(WrongBound, "%s needs %s, and the file states a bound of %s", j.busiest, j.Amount(j.needs), j.Amount(b.Value))
	}
	if !equal(j.Report.Duration, j.file.Time) {
		j.claim(WrongTime, "the plan takes %s, and the file states %s", j.Amount(j.Report.Duration), j.Amount(j.file.Time))
	}
}

// Amount is a time of the plan with its unit: byte times are whole.
func (r *Report) Amount(x float64) string {
	if r.File.sized {
		return fmt.Sprintf("%.16g byte times", x)
	}
	return fmt.Sprintf("%.6g message times", x)
}

// equal compares numbers of which one was written with six digits.
func equal(a, b float64) bool { return math.Abs(a-b) <= 1e-5*max(1, math.Abs(a)) }
