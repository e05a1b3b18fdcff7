package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evbench/topology"
)

// Ports are the paths that source ports lead over, as they were asked for: those on which a plan by ports is judged.
type Ports struct {
	Sum   string   // digest of the paths, which the plan states
	Hosts []string // name and address of each rank
	To    int      // destination port
	// Ways are the links between the hosts of a message, by name: by source, destination and port, 0 for none. A port whose way
	// is not known, or has several, has nil.
	Ways map[[3]int][]string
	Back map[[3]int]bool // of these, ways back of connections, which an exchange does not choose
	// Shares are those of the rate of a message that slow links have, by name, and slow hosts, as Hosts has them; Slow are their cables, as
	// a plan states them.
	Shares map[string]float64
	Slow   string
}

// Suits says why a plan is none by these ports, between these hosts; nil: it is one.
func (p *Ports) Suits(f *File) error {
	switch {
	case f.Over == nil || !f.ByPorts():
		return fmt.Errorf("is no plan over paths by ports, which has a line %q", "# paths")
	case f.Servers() != len(p.Hosts):
		return fmt.Errorf("the plan is for %d hosts, the paths are for %d", f.Servers(), len(p.Hosts))
	}
	for _, line := range f.hosts {
		number, host, _ := strings.Cut(line, " ")
		if i, ok := count(number); !ok || int(i) >= len(p.Hosts) || p.Hosts[i] != host {
			return fmt.Errorf("the plan has host %s, which is another host in the paths", shorten([]byte(line)))
		}
	}
	for _, to := range f.to {
		if to != strconv.Itoa(p.To) {
			return fmt.Errorf("the plan is for connections to port %s, the paths are those to port %d", shorten([]byte(to)), p.To)
		}
	}
	return nil
}

// overPorts prepares a plan over paths by ports.
func (j *judge) overPorts(p *Ports) {
	j.linkOf = map[string]int32{}
	for _, way := range p.Ways {
		for _, name := range way {
			if _, there := j.linkOf[name]; !there {
				j.linkOf[name] = int32(len(j.links))
				j.links = append(j.links, name)
			}
		}
	}
	j.wires = append(j.wires, make([]load, len(j.links))...)
	if j.file.stated["paths"] != p.Sum {
		j.note("the plan was made for another paths file: older or newer than this one")
	}
	if stated := j.file.stated["slow"]; stated != p.Slow {
		j.claim(OtherRates, "the plan was made for the slow cables %q, the paths have %q", shorten([]byte(stated)), shorten([]byte(p.Slow)))
	}
	if p.Slow != "" {
		j.slowPorts(p)
	}
	if j.file.sized || p.Slow != "" {
		j.portsNeed(p)
	}
}

// slowPorts gives phases lengths, in which messages may share links.
func (j *judge) slowPorts(p *Ports) {
	j.Report.Slow, j.rate = len(p.Shares), slices.Repeat([]float64{1}, len(j.wires))
	j.opt.AllowContention = j.opt.AllowContention || !j.file.sized
	for name, share := range p.Shares {
		if l, between := j.linkOf[name]; between {
			j.rate[j.link(l)] = share
		} else if h := int32(slices.Index(p.Hosts, name)); h >= 0 {
			j.rate[j.from(h)], j.rate[j.to(h)] = share, share
		}
	}
}

// rateOf is how many messages a wire carries in a message time.
func (j *judge) rateOf(w topology.Wire) float64 {
	if j.rate == nil {
		return 1
	}
	return j.rate[w]
}

// portsNeed finds what messages or fragments take at least, whichever of their ports they leave from: the time of the busiest host,
// or what the weights of the file prove. With weights of links each byte puts at least the weight of the lightest way of its pair
// on them, and a byte time takes off at most the sum of all weights, each times the rate of its link.
func (j *judge) portsNeed(p *Ports) {
	weight, all := map[string]float64{}, 0.0
	for _, line := range j.file.weights {
		number, link, _ := strings.Cut(line, " ")
		l, there := j.linkOf[link]
		if n, ok := count(number); ok && there {
			weight[link] += float64(n)
			all += float64(n) * j.rateOf(j.link(l))
		}
	}
	lightest := map[[2]int]float64{}
	for key, way := range p.Ways {
		sum := 0.0
		for _, link := range way {
			sum += weight[link]
		}
		pair := [2]int{key[0], key[1]}
		if least, there := lightest[pair]; way != nil && !p.Back[key] && (!there || sum < least) {
			lightest[pair] = sum
		}
	}
	s, weighs := j.Report.Servers, 0.0
	load := make([]float64, 2*s) // that hosts send, and receive
	for i, m := range j.messages {
		size := 1.0
		if j.file.sized {
			size = float64(j.pieces[i].Bytes)
		}
		if src, dst := int(j.at(m.Src).rank), int(j.at(m.Dst).rank); src >= 0 && dst >= 0 && j.meets(src, dst) {
			load[src] += size
			load[s+dst] += size
			weighs += size * lightest[[2]int{src, dst}]
		}
	}
	whole := func(x float64) float64 {
		if j.file.sized {
			return float64(up(x))
		}
		return x
	}
	for h, x := range load {
		if rate := j.rateOf(j.from(int32(h % s))); rate < 1 { // both ways of a cable have it
			x = whole(x / rate)
		}
		if x > j.needs {
			j.needs, j.busiest = x, fmt.Sprintf("what %s %s", j.file.HostName(h%s), [...]string{"sends", "receives"}[h/s])
		}
	}
	if x := whole(weighs / max(1, all)); x > j.needs {
		j.needs, j.busiest = x, "what the links of "+WeightKey+" carry"
	}
}

// leaving is the links of a message from its source port, until the next call.
func (j *judge) leaving(i int32, p *Ports, src, dst seat) (out []int32) {
	m := &j.messages[i]
	way, there := p.Ways[[3]int{int(src.rank), int(dst.rank), m.Port()}]
	switch {
	case !there && m.Port() == 0:
		j.message(MissingPort, i, "server%d sends to server%d from no port, and both are not behind one switch", m.Src, m.Dst)
	case !there:
		j.message(NoSuchPort, i, "server%d sends to server%d from port %d, which nobody has asked about", m.Src, m.Dst, m.Port())
	case way == nil:
		j.message(Undelivered, i, "server%d sends to server%d from port %d, whose path is not known or has several", m.Src, m.Dst, m.Port())
	}
	slowest := min(1, j.rateOf(j.from(src.rank)), j.rateOf(j.to(dst.rank)))
	for _, name := range way {
		out = append(out, j.linkOf[name])
		slowest = min(slowest, j.rateOf(j.link(j.linkOf[name])))
	}
	if j.file.sized && slowest < 1 {
		j.took = up(float64(j.took) / slowest)
	}
	return out
}

// linkName is the name of a link of a plan that has no tree.
func (j *judge) linkName(w topology.Wire) string {
	l := int32(w) - int32(2*j.Report.Servers)
	if j.opt.Ports != nil {
		return j.links[l]
	}
	return j.opt.Tables.name(l)
}

// located reports whether the links of messages are known, in a plan that has no tree.
func (o Options) located() bool { return o.Tables != nil || o.Ports != nil }
