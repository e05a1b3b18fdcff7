package judge

import (
	"fmt"
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
	if j.file.sized {
		j.portsNeed(p)
	}
}

// portsNeed finds what fragments take at least, whichever of their ports they leave from: the bytes of the busiest host, or what
// the weights of the file prove. With weights of links each byte puts at least the weight of the lightest way of its pair
// on them, and a byte time takes off at most the sum of all weights.
func (j *judge) portsNeed(p *Ports) {
	weight, all := map[string]float64{}, 0.0
	for _, line := range j.file.weights {
		number, link, _ := strings.Cut(line, " ")
		if n, ok := count(number); ok {
			weight[link] += float64(n)
			all += float64(n)
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
	bytes := make([]float64, 2*s) // that hosts send, and receive
	for _, m := range j.pieces {
		if src, dst := int(j.at(m.Src).rank), int(j.at(m.Dst).rank); src >= 0 && dst >= 0 && j.meets(src, dst) {
			bytes[src] += float64(m.Bytes)
			bytes[s+dst] += float64(m.Bytes)
			weighs += float64(m.Bytes) * lightest[[2]int{src, dst}]
		}
	}
	for h, x := range bytes {
		if x > j.needs {
			j.needs, j.busiest = x, fmt.Sprintf("what %s %s", j.file.HostName(h%s), [...]string{"sends", "receives"}[h/s])
		}
	}
	if x := float64(up(weighs / max(1, all))); x > j.needs {
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
	for _, name := range way {
		out = append(out, j.linkOf[name])
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
