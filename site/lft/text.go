package lft

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/site/network"
)

// WriteDump writes the tables as the text that OpenSM dumps (opensm-lfts.dump)
// and that its routing engine "file" loads (osm_ucast_file.c): one block a
// switch, in each a line for every LID that has an entry. Each line names the
// GUID of the port that has the LID, by which OpenSM finds it even if it has
// given that port another LID. Lanes are not part of this form.
func (t *Tables) WriteDump(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	tails := t.tails()
	line := make([]byte, 0, 64)
	for i := range t.Net.Switches() {
		s := t.Net.Info(t.Net.Switch(i))
		fmt.Fprintf(out, "Unicast lids [0-%d] of switch Lid %d guid 0x%016x ('%s'):\n", t.LIDs-1, s.LID, s.GUID, s.Name)
		for lid, p := range t.Row(i) {
			if p == NoPort || tails[lid] == "" {
				continue
			}
			line = append(line[:0], "0x"...)
			line = padded(line, uint64(lid), 16, 4)
			line = append(line, ' ')
			line = padded(line, uint64(p), 10, 3)
			line = append(line, tails[lid]...)
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "%d lids dumped\n", t.LIDs-1)
	}
	return out.Flush()
}

// tails returns the text after the port on the line of a LID. It is the same for all switches.
func (t *Tables) tails() []string {
	tails := make([]string, t.LIDs)
	for lid, v := range owners(t.Net) {
		if v != network.NoNode {
			tails[lid] = fmt.Sprintf(" # portguid 0x%016x: '%s'\n", t.Net.Info(v).Port, t.Net.Info(v).Name)
		}
	}
	return tails
}

func padded(b []byte, x uint64, base, digits int) []byte {
	for least := uint64(base); digits > 1; digits-- {
		if x < least {
			b = append(b, '0')
		}
		least *= uint64(base)
	}
	return strconv.AppendUint(b, x, base)
}

// ReadDump reads forwarding tables of a network, from WriteDump, OpenSM (opensm-lfts.dump,
// opensm.fdbs), ibdiagnet (ibdiagnet2.fdbs) or the tools dump_lfts and dump_fts. As for OpenSM, only
// lines that begin with "Unicast lids" (of fdbs, with dump_ucast_routes) or, below one, with 0x count. OpenSM
// silently accepts unknown input; ReadDump is stricter: a switch or LID that the network does not
// have, a switch or LID twice, a port that the switch does not have, a port GUID with another LID,
// a table that is cut, and a file without a table are errors, with the line. Checked against OpenSM 3.3.23 and dump_fts
// of infiniband-diags 44.
func ReadDump(r io.Reader, n *network.Network) (*Tables, error) { return readDump(r, n, 0) }

// oneFile refuses tables of a network of several files, whose LIDs are numbered anew.
func oneFile(n *network.Network) error {
	if n.Files > 1 {
		return fmt.Errorf("tables belong to one subnet, and the network is of %d files: give the file of each alone (-t), or an engine (-e)", n.Files)
	}
	return nil
}

func readDump(r io.Reader, n *network.Network, line int) (*Tables, error) {
	if err := oneFile(n); err != nil {
		return nil, err
	}
	d := dumpReader{t: New("file", n), owner: owners(n), names: map[uint64]int{}, seen: make([]bool, n.Switches()), cur: none}
	for i := range n.Switches() {
		d.names[n.Info(n.Switch(i)).GUID] = i
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<16)
	whole := true // the last line has its end
	in.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, text, err := bufio.ScanLines(data, atEOF)
		whole = n == 0 && whole || n > 0 && data[n-1] == '\n'
		return n, text, err
	})
	for in.Scan() {
		line++
		if err := d.line(in.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	if !d.any {
		return nil, errors.New(`no forwarding table in it: no line begins with "Unicast lids" (give what dump_lfts, dump_fts or OpenSM prints)`)
	}
	if d.cur != none && (!whole || d.ends) {
		return nil, fmt.Errorf("line %d: the text ends within the table of %s", line, d.t.Net.Info(d.t.Net.Switch(d.cur)).Name)
	}
	d.t.NoLanes = true
	d.lacks()
	return d.t, nil
}

// lacks notes the switches with cables that have no table in the text.
func (d *dumpReader) lacks() {
	for i := range d.seen {
		v := d.t.Net.Switch(i)
		if !d.t.Net.Isolated(v) && !slices.ContainsFunc(d.t.Row(i), func(p uint8) bool { return p != NoPort }) {
			d.t.Missing = append(d.t.Missing, v)
		}
	}
}

// toolError is a line that a tool writes to standard error.
var toolError = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:ibwarn|iberror|ibpanic|dump_l?fts|ibroute): |[\w./-]+\.c:\d+[;:])`)
})

const none = -1

type dumpReader struct {
	t     *Tables
	owner []network.Node
	names map[uint64]int // switch index by GUID
	seen  []bool
	any   bool
	ends  bool // tables have a last line
	cur   int  // switch, or none
}

// dumped ends a table, but in fdbs.
var dumped = []byte(" lids dumped")

func (d *dumpReader) line(b []byte) error {
	b = bytes.TrimSpace(b)
	switch {
	case bytes.HasPrefix(b, []byte("Unicast lids")):
		return d.header(string(b), " guid 0x")
	case bytes.Contains(b, []byte(fdbHead)):
		return d.header(string(b), fdbHead)
	case bytes.HasPrefix(b, []byte("Multicast")):
		d.cur = none
	case d.cur != none && bytes.HasPrefix(b, []byte("0x")):
		return d.entry(b)
	case bytes.HasSuffix(b, dumped):
		d.ends, d.cur = true, none
	case d.t.Said == "" && toolError().Match(b):
		d.t.Said = string(b)
	}
	return nil
}

// fdbHead begins a switch in OpenSM's opensm.fdbs and ibdiagnet's ibdiagnet2.fdbs.
const fdbHead = "dump_ucast_routes: Switch 0x"

// header begins the table of the switch whose GUID stands behind a mark.
func (d *dumpReader) header(s, mark string) error {
	d.any = true
	guid, err := hexAfter(s, mark)
	if err != nil {
		return fmt.Errorf("a switch without its GUID: %w", err)
	}
	i, ok := d.names[guid]
	if !ok {
		return fmt.Errorf("switch 0x%016x is not in the network", guid)
	}
	if d.seen[i] {
		return fmt.Errorf("switch %s (0x%016x) a second time", d.t.Net.Info(d.t.Net.Switch(i)).Name, guid)
	}
	d.seen[i], d.cur = true, i
	return nil
}

func (d *dumpReader) entry(b []byte) error {
	head, tail, _ := bytes.Cut(b, []byte(" "))
	lid, err := strconv.ParseUint(string(head[2:]), 16, 16)
	if err != nil {
		return fmt.Errorf("LID %q: not a number 0x0000..0xffff", head)
	}
	if bytes.Equal(tail, []byte(": UNREACHABLE")) { // of fdbs
		return nil
	}
	tail = bytes.TrimLeft(tail, " \t:")
	end := len(tail) - len(bytes.TrimLeft(tail, "0123456789"))
	sw := d.t.Net.Switch(d.cur)
	port, err := strconv.ParseUint(string(tail[:end]), 10, 8)
	if err != nil || int(port) > len(d.t.Net.Ends(sw)) && port != NoPort {
		return fmt.Errorf("LID %d: port %q: %s has ports 0..%d", lid, bytes.TrimSpace(first(tail)), d.t.Net.Info(sw).Name, len(d.t.Net.Ends(sw)))
	}
	if port == NoPort && int(lid) < d.t.LIDs && d.owner[lid] == network.NoNode {
		return nil // dump_fts -a prints all LIDs
	}
	if int(lid) >= len(d.owner) || d.owner[lid] == network.NoNode {
		return fmt.Errorf("no node of the network has LID %d", lid)
	}
	if err := d.sameGUID(int(lid), string(tail[end:])); err != nil {
		return err
	}
	row := d.t.Row(d.cur)
	if row[lid] != NoPort {
		return fmt.Errorf("LID %d a second time for %s", lid, d.t.Net.Info(sw).Name)
	}
	row[lid] = uint8(port)
	return nil
}

// sameGUID compares the port GUID on a line, if there is one, with the network's.
func (d *dumpReader) sameGUID(lid int, tail string) error {
	if !strings.Contains(tail, "portguid 0x") {
		return nil
	}
	guid, err := hexAfter(tail, "portguid 0x")
	if err != nil {
		return fmt.Errorf("LID %d: port GUID: %w", lid, err)
	}
	if own := d.t.Net.Info(d.owner[lid]); own.Port != guid {
		return fmt.Errorf("LID %d is of port GUID 0x%016x here, in the network of 0x%016x (%s)", lid, guid, own.Port, own.Name)
	}
	return nil
}

func first(b []byte) []byte {
	head, _, _ := bytes.Cut(b, []byte(" "))
	return head[:min(len(head), 16)]
}

func hexAfter(s, mark string) (uint64, error) {
	_, s, ok := strings.Cut(s, mark)
	if !ok {
		return 0, fmt.Errorf("no %q", strings.TrimSpace(mark))
	}
	end := len(s) - len(strings.TrimLeft(s, "0123456789abcdefABCDEF"))
	x, err := strconv.ParseUint(s[:end], 16, 64)
	if err != nil {
		return 0, fmt.Errorf("0x%.20s is not a number of 64 bits", s[:end])
	}
	return x, nil
}
