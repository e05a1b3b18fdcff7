package lft

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/site/network"
)

// saved begins a text that names the network of its tables.
const saved = "# network:"

// WriteSaved writes comments that describe the network of the tables, then the output of WriteDump.
// For each switch they give its ports with the GUIDs and ports on the remote side (Zahavi and Kalka
// 2005, §7), one cable a line:
//
//	# network: 32 hosts, 12 switches, 63 cables
//	# host 0x0002c90300000001 0x0002c90300000000 1 0 h0
//	# switch 0x0002c90401000000 0x0002c90401000000 33 8 s1_0
//	# other 0x0002c90500000000 0x0002c90500000000 45 0 0x0002c90401000000/8 Mellanox Technologies Aggregation Node
//	# root 0x0002c90402000000
//	# cable 0x0002c90300000001/1 0x0002c90401000000/1
//
// that is: port GUID, node GUID, LID, LMC and name of a host; GUID, GUID of port 0, LID, number of
// ports and name of a switch; of a port that is no host and has LIDs the same as of a host, with its
// switch and port there, or - where it has no cable; a top switch that the engine found or was given; two ends. OpenSM
// skips comments, and reads lines of less than 1024 characters, as these are.
func (t *Tables) WriteSaved(w io.Writer) error {
	n := t.Net
	out := bufio.NewWriterSize(w, 1<<16)
	cables := n.Cables()
	fmt.Fprintf(out, saved+" %d hosts, %d switches, %d cables\n", n.Hosts(), n.Switches(), len(cables))
	for v := range network.Node(n.Nodes()) {
		i := n.Info(v)
		if n.IsHost(v) {
			fmt.Fprintf(out, "# host 0x%016x 0x%016x %d %d %s\n", i.Port, i.GUID, i.LID, i.LMC, oneLine(i.Name))
		} else {
			fmt.Fprintf(out, "# switch 0x%016x 0x%016x %d %d %s\n", i.GUID, i.Port, i.LID, len(n.Ends(v)), oneLine(i.Name))
		}
	}
	for k := range n.Others() {
		i, at := n.Info(n.Other(k)), "-"
		if e := n.Leaf(n.Other(k)); e.Node != network.NoNode {
			at = fmt.Sprintf("0x%016x/%d", n.Key(e.Node), e.Port)
		}
		fmt.Fprintf(out, "# other 0x%016x 0x%016x %d %d %s %s\n", i.Port, i.GUID, i.LID, i.LMC, at, oneLine(i.Name))
	}
	for _, s := range t.Roots {
		fmt.Fprintf(out, "# root 0x%016x\n", n.Info(s).GUID)
	}
	for _, c := range cables {
		fmt.Fprintf(out, "# cable 0x%016x/%d 0x%016x/%d\n", n.Key(c.A.Node), c.A.Port, n.Key(c.B.Node), c.B.Port)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return t.WriteDump(w)
}

func oneLine(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, name)
	return name[:min(len(name), 256)]
}

// ReadSaved reads the output of WriteSaved: tables, and the network that they were made for. Errors
// name the line. Other texts, such as OpenSM's dumps, it reads as Read with the network other; said
// is then false.
func ReadSaved(r io.Reader, other *network.Network) (t *Tables, said bool, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if begin, _ := in.Peek(len(saved)); string(begin) != saved {
		t, err = Read(in, other)
		return t, false, err
	}
	s := savedReader{nodes: map[uint64]network.Node{}}
	for {
		if next, err := in.Peek(1); err != nil || next[0] != '#' {
			break
		}
		text, err := in.ReadSlice('\n')
		s.lines++
		if err == nil {
			err = s.line(string(bytes.TrimSpace(text[1:])))
		}
		if err != nil {
			return nil, true, fmt.Errorf("line %d: %w", s.lines, err)
		}
	}
	n := s.b.Build()
	if s.hosts != n.Hosts() || s.switches != n.Switches() || s.cables != 0 {
		return nil, true, fmt.Errorf("line %d: %d hosts, %d switches and %d cables differ from the numbers on line 1", s.lines, n.Hosts(), n.Switches(), len(n.Cables()))
	}
	if t, err = readDump(in, n, s.lines); err == nil {
		t.Roots = s.roots
	}
	return t, true, err
}

type savedReader struct {
	b                       network.Builder
	lines                   int
	hosts, switches, cables int // that the first line has announced; cables still to come
	given                   [1 << 16]bool
	nodes                   map[uint64]network.Node
	ports                   []int // of a node
	roots                   []network.Node
}

func (s *savedReader) line(text string) error {
	kind, rest, _ := strings.Cut(text, " ")
	fields := 5
	if kind == "other" {
		fields = 6
	}
	f := strings.SplitN(rest, " ", fields)
	switch {
	case s.lines == 1:
		if k, err := fmt.Sscanf(rest, "%d hosts, %d switches, %d cables", &s.hosts, &s.switches, &s.cables); k != 3 {
			return fmt.Errorf("not \"network: N hosts, N switches, N cables\": %w", err)
		}
	case kind == "host" && len(f) == 5, kind == "switch" && len(f) == 5:
		return s.node(kind == "host", f)
	case kind == "other" && len(f) == 6:
		return s.other(f)
	case kind == "root" && len(f) == 1:
		v, err := s.named(f[0])
		if err != nil {
			return err
		}
		s.roots = append(s.roots, v)
	case kind == "cable" && len(f) == 2:
		s.cables--
		return s.cable(f)
	case kind == "host", kind == "switch", kind == "root", kind == "cable", kind == "other":
		return fmt.Errorf("%.40q: not the fields of a %s", rest, kind)
	}
	return nil
}

const (
	maxLID   = 0xBFFF // the last unicast LID
	maxPorts = 254
	maxLMC   = 7
)

// node reads a host, whose key is the GUID of its port, or a switch.
func (s *savedReader) node(host bool, f []string) error {
	key, noKey := guid(f[0])
	other, noOther := guid(f[1])
	lid, noLID := number(f[2], "LID", 0, maxLID)
	err := cmp.Or(noKey, noOther, noLID)
	if err != nil {
		return err
	}
	if _, twice := s.nodes[key]; twice {
		return fmt.Errorf("GUID %s a second time", f[0])
	}
	i := network.Info{Name: f[4], GUID: key, Port: other, LID: uint16(lid)}
	ports, size := 1, 1
	if host {
		if len(s.nodes) >= s.hosts {
			return fmt.Errorf("more than %d hosts, or one after a switch", s.hosts)
		}
		lmc, err := number(f[3], "LMC", 0, maxLMC)
		if err != nil {
			return err
		}
		i.GUID, i.Port, i.LMC = other, key, uint8(lmc)
		size = 1 << lmc
	} else if len(s.nodes) < s.hosts {
		return fmt.Errorf("a switch after %d of %d hosts", len(s.nodes), s.hosts)
	} else if ports, err = number(f[3], "number of ports", 0, maxPorts); err != nil {
		return err
	}
	if err := s.claim(lid, size); err != nil {
		return err
	}
	if host {
		s.nodes[key] = s.b.Host(i)
	} else {
		s.nodes[key] = s.b.Switch(i, ports)
	}
	s.ports = append(s.ports, ports)
	return nil
}

// other reads a port that is no host.
func (s *savedReader) other(f []string) error {
	port, noPort := guid(f[0])
	own, noOwn := guid(f[1])
	lid, noLID := number(f[2], "LID", 0, maxLID)
	lmc, noLMC := number(f[3], "LMC", 0, maxLMC)
	err := cmp.Or(noPort, noOwn, noLID, noLMC)
	if err != nil {
		return err
	}
	at := network.End{Node: network.NoNode}
	if f[4] != "-" {
		if at, err = s.end(f[4]); err != nil {
			return err
		}
	}
	if err := s.claim(lid, 1<<lmc); err != nil {
		return err
	}
	return s.b.Other(network.Info{Name: f[5], GUID: own, Port: port, LID: uint16(lid), LMC: uint8(lmc)}, at, false)
}

// claim notes LIDs from one on, 0 being none.
func (s *savedReader) claim(lid, size int) error {
	for x := lid; lid > 0 && x < lid+size; x++ {
		if x > maxLID || s.given[x] {
			return fmt.Errorf("LID %d a second time, or beyond the last one, %d", x, maxLID)
		}
		s.given[x] = true
	}
	return nil
}

func (s *savedReader) named(text string) (network.Node, error) {
	key, err := guid(text)
	if err != nil {
		return network.NoNode, err
	}
	v, ok := s.nodes[key]
	if !ok {
		return network.NoNode, fmt.Errorf("%s has no line of its own before this one", text)
	}
	return v, nil
}

func (s *savedReader) cable(f []string) error {
	var ends [2]network.End
	for i, text := range f {
		var err error
		if ends[i], err = s.end(text); err != nil {
			return err
		}
	}
	return s.b.Cable(ends[0], ends[1])
}

func (s *savedReader) end(text string) (network.End, error) {
	name, port, _ := strings.Cut(text, "/")
	v, err := s.named(name)
	if err != nil {
		return network.End{}, err
	}
	p, err := number(port, "port", 1, s.ports[v])
	return network.End{Node: v, Port: uint8(p)}, err
}

func guid(s string) (uint64, error) {
	hex, ok := strings.CutPrefix(s, "0x")
	x, err := strconv.ParseUint(hex, 16, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("%.24q is not a GUID", s)
	}
	return x, nil
}

func number(s, what string, least, most int) (int, error) {
	x, err := strconv.Atoi(s)
	if err != nil || x < least || x > most {
		return 0, fmt.Errorf("%s %.12q: must be %d..%d", what, s, least, most)
	}
	return x, nil
}
