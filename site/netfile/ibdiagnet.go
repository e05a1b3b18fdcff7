package netfile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/site/network"
)

var tables = regexp.MustCompile(`(?m)^START_NODES\s*$`)

// A table of ibdiagnet: columns by name, and lines.
type table struct {
	columns map[string]int
	rows    []row
}

type row struct {
	line   int
	fields []string
	of     *table
}

// wanted are the tables that make a network, with their required columns.
var wanted = map[string][]string{
	"NODES": {"nodedesc", "numports", "nodetype", "nodeguid"},
	"PORTS": {"nodeguid", "portguid", "portnum", "lid"},
	"LINKS": {"nodeguid1", "portnum1", "nodeguid2", "portnum2"},
	// which may be missing: e is whether a switch routes adaptively
	"AR_INFO": {"nodeguid"},
}

// ReadIbdiagnet reads a network in the tables that ibdiagnet writes into ibdiagnet2.db_csv: nodes,
// ports with LIDs and rates, and links. It finds columns by name, and skips other tables. Hosts and
// errors are as in ReadIB. After the names of columns in public files; not checked against
// ibdiagnet, which is not free.
func ReadIbdiagnet(r io.Reader) (*network.Network, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	found, err := readTables(strings.Split(string(text), "\n"))
	if err != nil {
		return nil, err
	}
	p := &reader{byID: map[string]*node{}}
	for _, step := range []struct {
		table string
		read  func(row) error
	}{{"NODES", p.tableNode}, {"PORTS", p.tablePort}, {"LINKS", p.tableLink}} {
		t := found[step.table]
		if t == nil {
			return nil, fmt.Errorf("no table %s", step.table)
		}
		for _, x := range t.rows {
			if err := step.read(x); err != nil {
				return nil, fmt.Errorf("line %d: %w", x.line, err)
			}
		}
	}
	for _, n := range p.nodes {
		n.links = slices.DeleteFunc(n.links, func(l link) bool { return l.peer == "" })
	}
	n, err := p.network()
	if t := found["AR_INFO"]; err == nil && t != nil && slices.ContainsFunc(t.rows, func(x row) bool { on, err := x.number("e"); return err == nil && on > 0 }) {
		n.Adaptive = true
		n.Notes = append(n.Notes, "switches route adaptively (AR_INFO), as with --adaptive")
	}
	return n, err
}

func readTables(lines []string) (map[string]*table, error) {
	found := map[string]*table{}
	var in string
	var t *table // nil before its columns
	for i, line := range lines {
		line = strings.TrimSpace(line)
		fail := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %w", i+1, fmt.Errorf(format, args...))
		}
		name, begins := strings.CutPrefix(line, "START_")
		switch {
		case in == "" && begins:
			if in = name; found[name] != nil {
				return nil, fail("table %s is given twice", brief(name))
			}
		case in == "" || line == "":
		case line == "END_"+in:
			in, t = "", nil
		case begins:
			return nil, fail("table %s begins within table %s", brief(name), brief(in))
		case wanted[in] != nil:
			c := csv.NewReader(strings.NewReader(line))
			c.LazyQuotes, c.TrimLeadingSpace = true, true
			fields, err := c.Read()
			if err != nil {
				return nil, fail("cannot read %s: %w", brief(line), err)
			}
			if t != nil {
				t.rows = append(t.rows, row{i + 1, fields, t})
				continue
			}
			t = &table{columns: map[string]int{}}
			found[in] = t
			for k, f := range fields {
				t.columns[strings.ToLower(strings.TrimSpace(f))] = k
			}
			for _, f := range wanted[in] {
				if _, ok := t.columns[f]; !ok {
					return nil, fail("table %s has no column %s", in, f)
				}
			}
		}
	}
	if in != "" {
		return nil, fmt.Errorf("line %d: the text ends within table %s", len(lines), brief(in))
	}
	return found, nil
}

func (r row) text(column string) string {
	if k, ok := r.of.columns[column]; ok && k < len(r.fields) {
		return strings.TrimSpace(r.fields[k])
	}
	return ""
}

// number returns a column's number, 0 where the column is missing or says N/A.
func (r row) number(column string) (uint64, error) {
	s := r.text(column)
	if s == "" || s == "N/A" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s %s: no number", column, brief(s))
	}
	return n, nil
}

// numbers returns the numbers of columns, all up to most.
func (r row) numbers(most uint64, columns ...string) (out []uint64, err error) {
	for _, c := range columns {
		n, err := r.number(c)
		if err == nil && n > most {
			err = fmt.Errorf("%s %d: more than %d", c, n, most)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func (p *reader) tableNode(r row) error {
	guid, err := r.number("nodeguid")
	if err != nil {
		return err
	}
	x, err := r.numbers(maxPorts, "numports", "nodetype")
	if err != nil {
		return err
	}
	k, known := map[uint64]kind{1: adapter, 2: aSwitch, 3: router}[x[1]]
	switch {
	case !known:
		return fmt.Errorf("nodetype %d: there are 1, an adapter, 2, a switch, and 3, a router", x[1])
	case guid == 0 || x[0] == 0:
		return errors.New("no GUID, or no ports")
	}
	return p.enter(&node{line: r.line, kind: k, id: tableID(guid), name: r.text("nodedesc"), guid: guid, portGUID: guid, ports: int(x[0])})
}

func tableID(guid uint64) string { return fmt.Sprintf("0x%016x", guid) }

// tableEnd returns the node and the port in these columns; a switch also has port 0.
func (p *reader) tableEnd(r row, guid, port string) (n *node, number int, err error) {
	g, err := r.number(guid)
	if err != nil {
		return nil, 0, err
	}
	k, err := r.number(port)
	if n = p.byID[tableID(g)]; err == nil && n == nil {
		err = fmt.Errorf("node %s is not in table NODES", tableID(g))
	} else if err == nil && k > uint64(n.ports) {
		err = fmt.Errorf("port %d: %s has ports 1..%d", k, brief(n.name), n.ports)
	}
	return n, int(k), err
}

// tablePort stores the data of a port until table LINKS gives its other end.
func (p *reader) tablePort(r row) error {
	n, port, err := p.tableEnd(r, "nodeguid", "portnum")
	if err != nil {
		return err
	}
	guid, err := r.number("portguid")
	if err != nil {
		return err
	}
	x, err := r.numbers(1<<31-1, "lid", "lmc", "linkwidthactv", "linkspeedactv")
	switch {
	case err != nil:
		return err
	case n.kind == aSwitch && port == 0:
		n.portGUID, n.lid = guid, int(x[0])
		return nil
	}
	l := link{line: r.line, port: port, rate: tableRate(x[2], x[3])}
	if n.kind != aSwitch {
		l.portGUID, l.lid, l.lmc = guid, int(x[0]), int(x[1])
	}
	return n.add(l)
}

// tableRate is the rate for a width of InfiniBand's PortInfo and a speed: a byte each of PortInfo's
// speeds, the extended ones, those of Mellanox and the second extended ones (ibdm's IBLinkSpeed); 0 if
// unknown.
func tableRate(width, speed uint64) float64 {
	wide := map[uint64]float64{1: 1, 2: 4, 4: 8, 8: 12, 16: 2}[width]
	return wide * lanes[map[uint64]string{
		1: "SDR", 2: "DDR", 4: "QDR", 1 << 8: "FDR", 1 << 9: "EDR", 1 << 10: "HDR", 1 << 11: "NDR", 1 << 16: "FDR10", 1 << 24: "XDR",
	}[speed]]
}

func (p *reader) tableLink(r row) error {
	a, x, err := p.tableEnd(r, "nodeguid1", "portnum1")
	if err != nil {
		return err
	}
	b, y, err := p.tableEnd(r, "nodeguid2", "portnum2")
	if err != nil {
		return err
	}
	if err := a.leads(r.line, x, b, y); err != nil {
		return err
	}
	return b.leads(r.line, y, a, x)
}

// leads stores the other end of a port.
func (n *node) leads(line, port int, peer *node, peerPort int) error {
	i := slices.IndexFunc(n.links, func(l link) bool { return l.port == port })
	switch {
	case i < 0:
		return fmt.Errorf("port %d of %s is not in table PORTS", port, brief(n.name))
	case n.links[i].peer != "":
		return fmt.Errorf("port %d of %s is given twice; first on line %d", port, brief(n.name), n.links[i].line)
	}
	n.links[i].line, n.links[i].peer, n.links[i].peerPort = line, peer.id, peerPort
	return nil
}
