package lft

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"evbench/internal/jsondoc"
	"evbench/site/network"
)

// schema is the version of the document form of WriteJSON.
const schema = "evbench/routes/1"

type document struct {
	Schema   string          `json:"schema"`
	Engine   string          `json:"engine"`
	Network  string          `json:"network"`
	LIDs     int             `json:"lids"`
	Switches []switchEntries `json:"switches"`
}

type switchEntries struct {
	Name  string  `json:"name"`
	GUID  string  `json:"guid"`
	Ports []int16 `json:"ports"`
	Lanes []int16 `json:"lanes,omitempty"`
}

// WriteJSON writes the tables as one JSON document, one line a switch: its ports by LID from 0, -1
// for none, and the lanes of the routes that begin at its hosts unless all are 0.
func (t *Tables) WriteJSON(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, `{"schema":%s,"engine":%s,"network":%s,"lids":%d,"switches":[`, quoted(schema), quoted(t.Engine), quoted(t.Net.Notation), t.LIDs)
	for i := range t.Net.Switches() {
		info := t.Net.Info(t.Net.Switch(i))
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n"+`{"name":%s,"guid":"0x%016x","ports":`, quoted(info.Name), info.GUID)
		writeBytes(out, t.Row(i))
		if t.vl != nil {
			out.WriteString(`,"lanes":`)
			writeBytes(out, t.LaneRow(i))
		}
		out.WriteByte('}')
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

// quoted returns a string in the form of JSON, which all strings have.
func quoted(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}

func writeBytes(out *bufio.Writer, row []uint8) {
	buf := make([]byte, 0, 4)
	for lid, p := range row {
		sep := byte(',')
		if lid == 0 {
			sep = '['
		}
		x := int64(p)
		if p == NoPort {
			x = -1
		}
		buf = strconv.AppendInt(append(buf[:0], sep), x, 10)
		out.Write(buf)
	}
	if len(row) == 0 {
		out.WriteByte('[')
	}
	out.WriteByte(']')
}

// readJSON reads the output of WriteJSON for the same network. It finds switches by their GUID;
// every switch must be there.
func readJSON(r io.Reader, n *network.Network) (*Tables, error) {
	if err := oneFile(n); err != nil {
		return nil, err
	}
	var d document
	if err := jsondoc.Read(r, &d); err != nil {
		return nil, fmt.Errorf("routes: %w", err)
	}
	if d.Schema != schema {
		return nil, fmt.Errorf("schema %.40q, not %q", d.Schema, schema)
	}
	t := New(d.Engine, n)
	if d.LIDs != t.LIDs || len(d.Switches) != n.Switches() {
		return nil, fmt.Errorf("%d switches with %d entries; the network has %d and needs %d", len(d.Switches), d.LIDs, n.Switches(), t.LIDs)
	}
	index := map[string]int{}
	for i := range n.Switches() {
		index[fmt.Sprintf("0x%016x", n.Info(n.Switch(i)).GUID)] = i
	}
	for k, s := range d.Switches {
		i, ok := index[s.GUID]
		if !ok {
			return nil, fmt.Errorf("switches[%d]: %.40q is not in the network, or is there twice", k, s.GUID)
		}
		delete(index, s.GUID)
		if err := t.take(i, s); err != nil {
			return nil, fmt.Errorf("switches[%d] %.40q: %w", k, s.Name, err)
		}
	}
	return t, nil
}

func (t *Tables) take(i int, s switchEntries) error {
	if len(s.Ports) != t.LIDs || s.Lanes != nil && len(s.Lanes) != t.LIDs {
		return fmt.Errorf("%d ports and %d lanes for %d LIDs", len(s.Ports), len(s.Lanes), t.LIDs)
	}
	most := len(t.Net.Ends(t.Net.Switch(i)))
	for lid, p := range s.Ports {
		if p < -1 || int(p) > most {
			return fmt.Errorf("LID %d: port %d: must be -1..%d", lid, p, most)
		}
		t.Row(i)[lid] = uint8(p) // -1 becomes NoPort
	}
	for lid, l := range s.Lanes {
		if l < 0 || l >= MaxLanes {
			return fmt.Errorf("LID %d: lane %d: must be 0..%d", lid, l, MaxLanes-1)
		}
		t.LaneRow(i)[lid] = uint8(l)
	}
	return nil
}

// Read reads tables in either form: JSON where the text begins with a brace.
func Read(r io.Reader, n *network.Network) (*Tables, error) {
	in := bufio.NewReader(r)
	for {
		b, err := in.Peek(1)
		if err != nil || !bytes.ContainsAny(b, " \t\r\n{") {
			return ReadDump(in, n)
		}
		if lst, _ := in.Peek(16); b[0] == '{' && !bytes.Contains(lst, []byte("Ports:")) { // of opensm-subnet.lst
			return readJSON(in, n)
		}
		if b[0] == '\n' || b[0] == '{' {
			return ReadDump(in, n)
		}
		if _, err := in.Discard(1); err != nil {
			return nil, err
		}
	}
}
