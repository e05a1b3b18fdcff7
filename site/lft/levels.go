package lft

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"evbench/site/network"
)

// levels are the service levels of routes: bits of those of the hosts of a switch to a LID, and which hosts have one.
type levels struct {
	of      []uint16 // by source switch, then destination LID
	hosts   []uint64 // bits: by source host, then destination LID
	Missing int64    // pairs of a host and a LID of another that have none
	first   string   // the first of them
}

// levelLine is a path record on one line: source and destination LID, then its level; or the GUID of a source, the LID, the level.
var levelLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d+|0x[0-9a-fA-F]+)\s+(\d+)\s+(?:.*\bsl\.+)?(0x[0-9a-fA-F]+|\d+)$`)
})

// pathDump is a line of OpenSM's opensm-path-records.dump: a source, or one of its destination LIDs and its level.
var pathDump = sync.OnceValues(func() (source, route *regexp.Regexp) {
	return regexp.MustCompile(`^(?:Channel Adapter|Switch|Router) (0x[0-9a-f]+),`), regexp.MustCompile(`^0x([0-9a-fA-F]+)\s*:\s*(\d+)\s*(?::|$)`)
})

// ReadLevels reads the service levels of the routes, each of which is taken for the virtual lane of its number: path
// records as saquery PR prints them, or a line each, LID LID … sl…0xN; lines "0xGUID LID LEVEL", the --psl of ibdmchk and ibdiagnet,
// with GUIDs of nodes; or opensm-path-records.dump of OpenSM's plugin dump_pr, with GUIDs of ports. Pairs of other nodes than
// hosts are skipped. Checked against saquery of infiniband-diags 44; the others after the sources of ibutils (Fabric.cpp,
// parsePSLFile) and of the plugin.
func (t *Tables) ReadLevels(r io.Reader) error {
	l := &levels{of: make([]uint16, len(t.ports)), hosts: make([]uint64, (t.Net.Hosts()*t.LIDs+63)/64)}
	own, ports := owners(t.Net), map[uint64]network.Node{}
	for v := range network.Node(t.Net.Hosts()) {
		ports[t.Net.Info(v).Port], ports[t.Net.Info(v).GUID] = v, v
	}
	in, found := bufio.NewScanner(r), false
	record, source := map[string]string{}, ""
	head, route := pathDump()
	for line := 1; in.Scan(); line++ {
		from, to, level, ok := record["slid"], record["dlid"], "", false
		text := strings.TrimSpace(in.Text())
		if m := levelLine().FindStringSubmatch(text); m != nil {
			from, to, level, ok = m[1], m[2], m[3], true
		} else if m := head.FindStringSubmatch(text); m != nil {
			source = m[1]
		} else if m := route.FindStringSubmatch(text); m != nil && source != "" {
			lid, _ := strconv.ParseUint(m[1], 16, 32)
			from, to, level, ok = source, strconv.FormatUint(lid, 10), m[2], true
		} else if key, value, is := strings.Cut(text, "."); is {
			value = strings.TrimLeft(value, ".")
			record[key] = value
			level, ok = value, key == "sl" && from != "" && to != ""
		} else {
			clear(record)
		}
		if !ok {
			continue
		}
		if err := t.level(l, own, ports, from, to, level); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		found = true
	}
	if err := in.Err(); err != nil {
		return err
	}
	if !found {
		return errors.New("no service level in it: give what saquery PR prints of each pair, lines SLID DLID SL, or opensm-path-records.dump")
	}
	t.sl, t.NoLanes = l, false
	t.unleveled(own)
	return nil
}

// level takes one route.
func (t *Tables) level(l *levels, own []network.Node, ports map[uint64]network.Node, from, to, level string) error {
	sl, err := strconv.ParseUint(level, 0, 8)
	if err != nil || sl >= MaxLanes {
		return fmt.Errorf("service level %s: must be 0..%d", level, MaxLanes-1)
	}
	if from == "0" || to == "0" {
		return nil // saquery has such, of ports whose LID the manager does not know yet
	}
	dst, err := strconv.Atoi(to)
	if err != nil || dst >= len(own) || own[dst] == network.NoNode {
		return fmt.Errorf("no node of the network has LID %s", to)
	}
	src := network.NoNode
	if strings.HasPrefix(from, "0x") {
		key, _ := strconv.ParseUint(from, 0, 64)
		if v, ok := ports[key]; ok {
			src = v
		}
	} else if lid, err := strconv.Atoi(from); err == nil && lid < len(own) {
		src = own[lid]
	} else {
		return fmt.Errorf("no node of the network has LID %s", from)
	}
	if src == network.NoNode || !t.Net.IsHost(src) || !t.Net.IsHost(own[dst]) {
		return nil // no messages
	}
	if at := t.Net.Leaf(src); at.Node != network.NoNode {
		l.of[t.Net.Index(at.Node)*t.LIDs+dst] |= 1 << sl
	}
	bit := int(src)*t.LIDs + dst
	l.hosts[bit/64] |= 1 << (bit % 64)
	return nil
}

// unleveled counts the routes between hosts without a level.
func (t *Tables) unleveled(own []network.Node) {
	for src := range network.Node(t.Net.Hosts()) {
		for lid, dst := range own {
			if dst == network.NoNode || dst == src || !t.Net.IsHost(dst) {
				continue
			}
			if bit := int(src)*t.LIDs + lid; t.sl.hosts[bit/64]>>(bit%64)&1 == 0 {
				if t.sl.Missing++; t.sl.first == "" {
					t.sl.first = fmt.Sprintf("%s to LID %d of %s", t.Net.Name(src), lid, t.Net.Name(dst))
				}
			}
		}
	}
}

// lanesOf are bits of the lanes of the routes from the hosts of a switch to a LID.
func (t *Tables) lanesOf(sw int32, lid int) uint16 {
	if t.sl != nil {
		return t.sl.of[int(sw)*t.LIDs+lid]
	}
	return 1 << t.lane(int(sw), lid)
}

// most is the highest level.
func (l *levels) most() int {
	all := uint16(0)
	for _, of := range l.of {
		all |= of
	}
	return bits.Len16(all) - 1
}
