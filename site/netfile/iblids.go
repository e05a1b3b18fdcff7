package netfile

import (
	"bufio"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"

	"evbench/site/network"
)

// WriteGUID2LID writes the file guid2lid, OpenSM's source of the LIDs of ports: a line of port
// GUID, first and last LID for each, and an empty one. It leaves out nodes without LIDs.
func WriteGUID2LID(w io.Writer, n *network.Network) error {
	out := bufio.NewWriter(w)
	for v := range network.Node(n.Nodes() + n.Others()) {
		i := n.Info(v)
		if i.LID == 0 {
			continue
		}
		fmt.Fprintf(out, "0x%016x 0x%04x 0x%04x\n\n", i.Port, i.LID, int(i.LID)+n.LIDs(v)-1)
	}
	return out.Flush()
}

// A pin is a line of guid2lid.
type pin struct{ line, lid, lmc int }

// ReadGUID2LID returns the network with the LIDs of a file guid2lid. Every port of the network must
// be in the file; other lines are skipped.
func ReadGUID2LID(r io.Reader, n *network.Network) (*network.Network, error) {
	pins, err := readPins(r)
	if err != nil {
		return nil, err
	}
	info := make([]network.Info, n.Nodes()+n.Others())
	given := lids{}
	for v := range network.Node(len(info)) {
		i := n.Info(v)
		p, ok := pins[i.Port]
		switch {
		case !ok:
			return nil, fmt.Errorf("no LID for %s, port GUID 0x%016x", brief(i.Name), i.Port)
		case p.lmc > 0 && !n.IsHost(v) && !n.IsOther(v):
			return nil, fmt.Errorf("line %d: switch %s with %d LIDs: a switch has one", p.line, brief(i.Name), 1<<p.lmc)
		}
		if err := given.claim(p.line, i.Name, p.lid, p.lmc); err != nil {
			return nil, err
		}
		i.LID, i.LMC = uint16(p.lid), uint8(p.lmc)
		info[v] = i
	}
	return n.WithInfo(info), nil
}

func readPins(r io.Reader) (map[uint64]pin, error) {
	p, pins := reader{}, map[uint64]pin{}
	return pins, p.each(r, func(line string) error {
		f := strings.Fields(line)
		if len(f) == 0 || f[0][0] == '#' {
			return nil
		}
		guid, x, err := readPin(p.line, f)
		switch first, twice := pins[guid]; {
		case err != nil:
			return err
		case twice:
			return fmt.Errorf("port GUID 0x%016x is given twice; first on line %d", guid, first.line)
		case len(pins) >= maxNodes:
			return fmt.Errorf("more than %d ports", maxNodes)
		}
		pins[guid] = x
		return nil
	})
}

func readPin(line int, f []string) (uint64, pin, error) {
	if len(f) != 3 {
		return 0, pin{}, fmt.Errorf("%d fields; write port GUID, first and last LID", len(f))
	}
	guid, err := strconv.ParseUint(f[0], 0, 64)
	if err != nil {
		return 0, pin{}, fmt.Errorf("%s is not a GUID", brief(f[0]))
	}
	low, err0 := strconv.ParseUint(f[1], 0, 16)
	high, err1 := strconv.ParseUint(f[2], 0, 16)
	count := int(high) - int(low) + 1
	if err0 != nil || err1 != nil || low < 1 || high > maxLID || count < 1 || bits.OnesCount(uint(count)) != 1 {
		return 0, pin{}, fmt.Errorf("LIDs %s to %s: must be 1, 2, 4, … within 1..0x%x", brief(f[1]), brief(f[2]), maxLID)
	}
	return guid, pin{line, int(low), bits.TrailingZeros(uint(count))}, nil
}
