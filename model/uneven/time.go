package uneven

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/scheduler"
	"evbench/topology"
)

// rates say how long messages take.
type rates struct {
	t    *topology.Tree
	leaf []int
	host []float64 // by rank
	link map[topology.Link]float64
}

func newRates(t *topology.Tree, r topology.Rates) *rates {
	x := &rates{t, t.LeafOfRanks(), slices.Repeat([]float64{1}, t.Servers()), map[topology.Link]float64{}}
	for _, s := range r.Slow {
		x.link[s.Link] = 1 / s.Share
	}
	for _, h := range r.Hosts {
		x.host[h.Rank] = 1 / h.Share
	}
	return x
}

func (x *rates) time(m scheduler.Message) float64 {
	time := max(x.host[m.Src], x.host[m.Dst])
	if m.Spine != scheduler.None && len(x.link) > 0 {
		for _, l := range x.t.PathLinks(x.leaf[m.Src], x.leaf[m.Dst], x.t.PathOf(m.Spine, m.Top)) {
			time = max(time, x.link[l])
		}
	}
	return time
}

// Time returns how long all phases of a pinned schedule last, in message times. A phase lasts as
// long as its slowest message. O(messages).
func Time(s *scheduler.Schedule, t *topology.Tree, r topology.Rates) (sum float64) {
	if len(r.Slow)+len(r.Hosts) == 0 {
		return float64(s.Phases)
	}
	x, phase := newRates(t, r), slices.Repeat([]float64{1}, s.Phases)
	for m := range s.All() {
		phase[m.Phase] = max(phase[m.Phase], x.time(m))
	}
	for _, x := range phase {
		sum += x
	}
	return sum
}

// InPhases returns what no schedule in phases takes less than, in message times, and with how many phases one
// may take that. Least is below the phases of any; with full, no links of a leaf or a pod carry more at once
// than there are. O(servers² · shares + leaves · phases).
//
// Of a share, let slow hosts be those with no more, which have it. A phase is slow if a slow host takes part.
// There are as many slow phases as a slow host has messages, or as the slow messages of a leaf or pod need for
// its links. In others the links of a leaf carry no more than one message of each fast host.
func InPhases(t *topology.Tree, hosts []topology.SlowHost, least int, full bool) (time float64, choices []choice, by proof) {
	time, choices = float64(least), []choice{{time: float64(least), phases: least}}
	leaf, slow, nested, most := t.LeafOfRanks(), make([]bool, t.Servers()), 0.0, 0
	var own, all proof // of the slow phases of a share, and of all shares
	hosts = slices.SortedFunc(slices.Values(hosts), func(a, b topology.SlowHost) int { return cmp.Compare(a.Share, b.Share) })
	for i, h := range hosts {
		slow[h.Rank] = true
		if n := t.Load(h.Rank); n > most {
			most, own = n, proof{[]string{t.HostName(h.Rank)}, []string{fmt.Sprintf("%s has %d messages to send or to receive, and phases with one take %.3g times as long", t.HostName(h.Rank), n, 1/h.Share)}}
		}
		next := 1.0
		if i < len(hosts)-1 {
			next = hosts[i+1].Share
		}
		if next == h.Share {
			continue
		}
		var cuts []cut
		if full {
			cuts = across(t, leaf, slow)
		}
		for _, c := range cuts {
			if n := ceil(c.slow, c.links); n > most {
				most, own = n, proof{[]string{c.name(t)}, []string{fmt.Sprintf("%s, and %d at once: in %d phases at least, which take %.3g times as long", c.words(t, c.slow, " with a slow host"), c.links, n, 1/h.Share)}}
			}
		}
		least, nested = max(least, most), nested+float64(most)*(1/h.Share-1/next)
		all = all.and(own)
		var those []choice
		for n := most; n <= least; n++ { // slow phases
			x, quick := choice{slow: n, phases: least}, cut{}
			for _, c := range cuts {
				if few := min(c.links, c.fast); few > 0 && n+ceil(c.all-n*c.links, few) > x.phases {
					x.phases, quick = n+ceil(c.all-n*c.links, few), c
				}
			}
			if x.time, x.proof = float64(x.phases)+float64(n)*(1/h.Share-1), own; quick.all > 0 {
				x.proof = own.and(proof{[]string{quick.name(t)}, []string{fmt.Sprintf("%s, and %d at once, %d in phases without slow hosts", quick.words(t, quick.all, ""), quick.links, min(quick.links, quick.fast))}})
			}
			those = append(those, x)
		}
		slices.SortStableFunc(those, func(a, b choice) int { return cmp.Compare(a.time, b.time) })
		if those[0].time > time {
			time, choices, by = those[0].time, those, those[0].proof
		}
	}
	if x := float64(least) + nested; x > time {
		time, by = x, all
	}
	return time, choices, by
}

// A proof says what proves a bound: the names of leaves and the like, and sentences.
type proof struct{ of, why []string }

func (p proof) and(q proof) proof {
	join := func(a, b []string) []string {
		return append(slices.Clip(a), slices.DeleteFunc(slices.Clone(b), func(s string) bool { return slices.Contains(a, s) })...)
	}
	return proof{join(p.of, q.of), join(p.why, q.why)}
}

// A choice is a time that a plan may have, of which so many phases are slow.
type choice struct {
	time         float64
	slow, phases int
	proof
}

func ceil(a, b int) int { return (a + b - 1) / b }

// A cut is what leaves a leaf or a pod, or what enters it: messages, those of them that are slow, fast hosts on
// the side that has fewer, and live links.
type cut struct {
	all, slow, fast, links int
	group                  int // a leaf, or a pod beyond
	in                     bool
}

func (c *cut) name(t *topology.Tree) string {
	if c.group >= t.Leaves() {
		return fmt.Sprintf("pod%d", c.group-t.Leaves())
	}
	return t.SwitchName(c.group)
}

func (c *cut) words(t *topology.Tree, messages int, which string) string {
	way, others := "for", "leaves"
	if c.in {
		way = "from"
	}
	if c.group >= t.Leaves() {
		others = "pods"
	}
	return fmt.Sprintf("%s has %d messages%s %s other %s", c.name(t), messages, which, way, others)
}

func across(t *topology.Tree, leaf []int, slow []bool) (cuts []cut) {
	n := t.Leaves()
	group := func(leaf int) [2]int { return [2]int{leaf, n + t.Pod(leaf)} }
	out, in := make([]cut, n+t.Pods()), make([]cut, n+t.Pods())
	for id := range t.AllLinks() {
		if l := t.LinkOf(id); t.LinkAlive(l) && l.Above {
			out[n+l.Leaf].links++
		} else if t.LinkAlive(l) {
			out[l.Leaf].links++
		}
	}
	var reads, builds int
	for src, a := range leaf {
		if t.Reads(src) && !slow[src] {
			reads++
		}
		if t.Builds(src) && !slow[src] {
			builds++
		}
		for i, g := range group(a) {
			if t.Reads(src) && !slow[src] {
				out[g].fast++
			}
			if t.Builds(src) && !slow[src] {
				in[g].fast++
			}
			for dst, b := range leaf {
				if to := group(b)[i]; to != g && t.Reads(src) && t.Builds(dst) {
					out[g].all++
					in[to].all++
					if slow[src] || slow[dst] {
						out[g].slow++
						in[to].slow++
					}
				}
			}
		}
	}
	for g := range out {
		fast := [2]int{out[g].fast, in[g].fast}
		out[g].group, in[g].group, in[g].in, in[g].links = g, g, true, out[g].links
		out[g].fast, in[g].fast = min(fast[0], builds-fast[1]), min(fast[1], reads-fast[0])
		if out[g].links > 0 {
			cuts = append(cuts, out[g], in[g])
		}
	}
	return cuts
}

// Over returns which of some slow links have a message. O(messages).
func Over(s *scheduler.Schedule, t *topology.Tree, slow []topology.SlowLink) (used []topology.SlowLink) {
	if len(slow) == 0 {
		return nil
	}
	has, leaf := map[topology.Link]bool{}, t.LeafOfRanks()
	for m := range s.All() {
		if m.Spine != scheduler.None {
			for _, l := range t.PathLinks(leaf[m.Src], leaf[m.Dst], t.PathOf(m.Spine, s.Top(m.Src, m.Dst))) {
				has[l] = true
			}
		}
	}
	for _, x := range slow {
		if has[x.Link] {
			used = append(used, x)
		}
	}
	return used
}
