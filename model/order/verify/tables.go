package verify

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/site/network"
)

// routes are the tables that the judge reads itself: by switch and LID the port.
type routes struct {
	net  *network.Network
	port [][]uint8 // by node; 255 and none: no entry
	bits []int     // by node: what a source adds to the first LID of a destination; nil: nothing
	way  []link    // memory of walk
}

// readRoutes reads the text of OpenSM's forwarding tables.
func readRoutes(r io.Reader, n *network.Network) (*routes, error) {
	guids := map[uint64]network.Node{}
	for i := range n.Switches() {
		guids[n.Key(n.Switch(i))] = n.Switch(i)
	}
	out, at, inside := &routes{net: n, port: make([][]uint8, n.Nodes())}, network.NoNode, false
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	last := n.MaxLID() // looks at all nodes
	for number := 1; in.Scan(); number++ {
		line := in.Text()
		if strings.HasPrefix(line, "Unicast lids") {
			_, rest, _ := strings.Cut(line, " guid ")
			word, _, _ := strings.Cut(rest, " ")
			guid, err := strconv.ParseUint(word, 0, 64)
			if at, inside = guids[guid]; !inside || err != nil {
				return nil, fmt.Errorf("line %d: no switch of the network has the GUID %q", number, word)
			}
			out.port[at] = slices.Repeat([]uint8{255}, last+1)
			continue
		}
		if !inside || !strings.HasPrefix(line, "0x") {
			continue
		}
		words := strings.Fields(line)
		lid, err := strconv.ParseUint(words[0], 0, 16)
		if err == nil && len(words) > 1 && int(lid) <= last {
			if port, err := strconv.ParseUint(words[1], 10, 8); err == nil {
				out.port[at][lid] = uint8(port)
			}
		}
	}
	return out, in.Err()
}

// A link is one direction of a cable: the port by which messages leave a node.
type link = network.End

// counts is a number for each link, at the place of at.
func (r *routes) counts() []int32 { return make([]int32, r.net.Nodes()<<8) }

func at(l link) int { return int(l.Node)<<8 | int(l.Port) }

func linkAt(i int) link { return link{Node: network.Node(i >> 8), Port: uint8(i)} }

// walk returns the links of a message until the next call, or nil if it does not arrive. The first is the source's.
func (r *routes) walk(src, dst network.Node) []link {
	out := append(r.way[:0], link{Node: src, Port: 1})
	defer func() { r.way = out }()
	lid := int(r.net.Info(dst).LID) + r.offset(src, dst)
	for at := r.net.At(src, 1).Node; len(out) <= r.net.Switches()+1; {
		if at == network.NoNode || at == dst {
			break
		}
		if int(at) >= len(r.port) || r.net.IsHost(at) || r.port[at] == nil || lid >= len(r.port[at]) {
			return nil
		}
		port := r.port[at][lid]
		if port == 0 || port == 255 {
			return nil
		}
		out = append(out, link{Node: at, Port: port})
		if int(port) > len(r.net.Ends(at)) {
			return nil
		}
		if at = r.net.At(at, int(port)).Node; at == dst {
			return out
		}
	}
	return nil
}

// offset is what src adds to the first LID of dst: as many of its path bits as dst has (LMC).
func (r *routes) offset(src, dst network.Node) int {
	if r.bits == nil || r.net.Info(dst).LID == 0 {
		return 0
	}
	return r.bits[src] % (1 << r.net.Info(dst).LMC)
}

// sum is the digest of what the tables say about the messages of a plan, as docs/reference/files.md
// defines it.
func (r *routes) sum(nodes []network.Node, meets func(src, dst int) bool) string {
	h := sha256.New()
	out := bufio.NewWriterSize(h, 1<<16)
	for i, v := range nodes {
		leaf, guid := r.net.At(v, 1), uint64(0)
		if leaf.Node != network.NoNode {
			guid = r.net.Key(leaf.Node)
		}
		fmt.Fprintf(out, "host %d %016x %d %016x %d\n", i, r.net.Key(v), r.net.Info(v).LID, guid, leaf.Port)
	}
	type entry struct {
		guid      uint64
		lid, port int
	}
	var lines []entry
	seen, passed := r.counts(), int32(0) // the last LID whose messages pass a link
	for j, dst := range nodes {
		for offset := range 1 << r.net.Info(dst).LMC {
			passed++
			for i, src := range nodes {
				if !meets(i, j) || r.offset(src, dst) != offset {
					continue
				}
				way := r.walk(src, dst)
				for _, l := range way[min(1, len(way)):] {
					if seen[at(l)] != passed {
						seen[at(l)] = passed
						lines = append(lines, entry{r.net.Key(l.Node), int(r.net.Info(dst).LID) + offset, int(l.Port)})
					}
				}
			}
		}
	}
	slices.SortFunc(lines, func(a, b entry) int { return cmp.Or(cmp.Compare(a.guid, b.guid), a.lid-b.lid) })
	for _, e := range lines {
		fmt.Fprintf(out, "%016x %d %d\n", e.guid, e.lid, e.port)
	}
	out.Flush()
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}
