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
	port map[network.Node][]uint8 // 255 and none: no entry
}

// readRoutes reads the text of OpenSM's forwarding tables.
func readRoutes(r io.Reader, n *network.Network) (*routes, error) {
	guids := map[uint64]network.Node{}
	for i := range n.Switches() {
		guids[n.Key(n.Switch(i))] = n.Switch(i)
	}
	out, at, inside := &routes{n, map[network.Node][]uint8{}}, network.NoNode, false
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for number := 1; in.Scan(); number++ {
		line := in.Text()
		if strings.HasPrefix(line, "Unicast lids") {
			_, rest, _ := strings.Cut(line, " guid ")
			word, _, _ := strings.Cut(rest, " ")
			guid, err := strconv.ParseUint(word, 0, 64)
			if at, inside = guids[guid]; !inside || err != nil {
				return nil, fmt.Errorf("line %d: no switch of the network has the GUID %q", number, word)
			}
			out.port[at] = slices.Repeat([]uint8{255}, n.MaxLID()+1)
			continue
		}
		if !inside || !strings.HasPrefix(line, "0x") {
			continue
		}
		words := strings.Fields(line)
		lid, err := strconv.ParseUint(words[0], 0, 16)
		if err == nil && len(words) > 1 && int(lid) <= n.MaxLID() {
			if port, err := strconv.ParseUint(words[1], 10, 8); err == nil {
				out.port[at][lid] = uint8(port)
			}
		}
	}
	return out, in.Err()
}

// A link is one direction of a cable: the port by which messages leave a node.
type link = network.End

// walk returns the links of a message, or nil if it does not arrive. The first is the source's.
func (r *routes) walk(src, dst network.Node) []link {
	out := []link{{Node: src, Port: 1}}
	lid := int(r.net.Info(dst).LID)
	for at := r.net.At(src, 1).Node; len(out) <= r.net.Switches()+1; {
		if at == network.NoNode || at == dst {
			break
		}
		if r.net.IsHost(at) || r.port[at] == nil || lid >= len(r.port[at]) {
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

// sum is the digest of what the tables say about the messages of a plan, as docs/reference/files.md
// defines it.
func (r *routes) sum(nodes []network.Node, meets func(src, dst int) bool) string {
	h := sha256.New()
	out := bufio.NewWriterSize(h, 1<<16)
	for i, v := range nodes {
		leaf := r.net.At(v, 1)
		fmt.Fprintf(out, "host %d %016x %d %016x %d\n", i, r.net.Key(v), r.net.Info(v).LID, r.net.Key(leaf.Node), leaf.Port)
	}
	type entry struct {
		guid      uint64
		lid, port int
	}
	var lines []entry
	for j, dst := range nodes {
		needed := map[link]bool{}
		for i, src := range nodes {
			if meets(i, j) {
				for _, l := range r.walk(src, dst)[1:] {
					needed[l] = true
				}
			}
		}
		for l := range needed {
			lines = append(lines, entry{r.net.Key(l.Node), int(r.net.Info(dst).LID), int(l.Port)})
		}
	}
	slices.SortFunc(lines, func(a, b entry) int { return cmp.Or(cmp.Compare(a.guid, b.guid), a.lid-b.lid) })
	for _, e := range lines {
		fmt.Fprintf(out, "%016x %d %d\n", e.guid, e.lid, e.port)
	}
	out.Flush()
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}
