package judge

import (
	"bytes"
	"fmt"

	"evbench/topology"
)

// columns name the numbers of a message.
var columns = [6]string{"phase", "src", "dst", "spine", "top", "cable"}

const cableColumn = 5

func limitOf(column int) int32 {
	switch {
	case column == cableColumn:
		return maxCable
	case column >= 3:
		return maxSpine
	}
	return maxNumber
}

// A pathForm is how a row names a path.
type pathForm int

const (
	spineForm  pathForm = iota // "2"
	topForm                    // "2.5", "2" inside a pod
	cablesForm                 // "2.0.1": the cable up and the cable down
	noForm                     // "-" over tables
	portForm                   // "49160", a source port
)

func pathFormOf(t *topology.Shape) pathForm {
	switch {
	case t.Levels() == 3:
		return topForm
	case t.Cables() > 1:
		return cablesForm
	}
	return spineForm
}

// Top returns what follows the spine in the path of a message, as topology.Wires.Through has it.
func (f *File) Top(m *Message) int {
	if m.Top != NoTop && pathFormOf(f.Tree.Shape) == cablesForm {
		return f.Tree.Lane(m.Cables())
	}
	return int(m.Top)
}

func (f pathForm) String() string {
	return [...]string{
		"\"phase src dst spine\"", "\"phase src dst plane.top\", without .top inside a pod", "\"phase src dst spine.up.down\", cables by number",
		"\"phase src dst -\"", "\"phase src dst port\"",
	}[f]
}

// row reads a line. It has no blanks at its ends.
func (r *reader) row(line []byte) error {
	fields := bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
	if r.file.sized {
		return r.piece(fields)
	}
	m, err := parseMessage(fields, r.path)
	if err != nil {
		return fmt.Errorf("%q: %w", shorten(line), err)
	}
	if err := r.full(len(r.file.Messages)); err != nil {
		return err
	}
	r.file.add(m)
	return nil
}

// full says why a file may have no more rows than it has; nil: it may.
func (r *reader) full(rows int) error {
	switch n := r.file.Servers(); {
	case rows < r.limit:
		return nil
	case r.limit == r.room:
		return fmt.Errorf("more than %d messages: there is no space for more", r.limit)
	default:
		return fmt.Errorf("more than %d messages; all pairs of %d servers are %d", r.limit, n, pairs(n))
	}
}

func parseMessage(fields [][]byte, form pathForm) (m Message, err error) {
	var v [3]int32
	for c := range 4 {
		if c == len(fields) {
			return m, fmt.Errorf("no %s; a message is %s", columns[c], form)
		}
		if c == 3 {
			m.Spine, m.Top, err = parsePath(fields[c], form)
		} else {
			v[c], err = parseNumber(fields[c], c)
		}
		if err != nil {
			return m, err
		}
	}
	if len(fields) > 4 {
		return m, fmt.Errorf("more than four columns; a message is %s", form)
	}
	return Message{v[0], v[1], v[2], m.Spine, m.Top}, nil
}

// piece reads a row with a start and bytes. What follows bytes may be left out.
func (r *reader) piece(fields [][]byte) (err error) {
	names := r.form.started
	least := len(names)
	for least > 0 && names[least-1] != "bytes" {
		least--
	}
	if len(fields) < least || len(fields) > len(names) {
		return fmt.Errorf("%d columns; a row is %q, of which the last %d may be left out", len(fields), names, len(names)-least)
	}
	p := Piece{Message: Message{Spine: NoSpine, Top: NoTop}}
	for i, f := range fields {
		if names[i] == "path" {
			if p.Spine, p.Top, err = parsePath(f, r.path); err != nil {
				return err
			}
			continue
		}
		most := int64(maxTime)
		switch names[i] {
		case "src", "dst":
			most = maxNumber
		case "exchange":
			most = int64(r.file.Window) - 1
		}
		n, ok := count(string(f))
		if !ok || n > most {
			return fmt.Errorf("%s %q: must be a whole number, 0..%d", names[i], shorten(f), most)
		}
		p.set(names[i], n)
	}
	if len(r.file.Pieces) >= r.limit {
		return fmt.Errorf("more than %d pieces: there is no space for more", r.limit)
	}
	if p.Bytes+p.Offset > maxTime-r.sum {
		return fmt.Errorf("bytes and offsets add up to more than %d", int64(maxTime))
	}
	r.sum += p.Bytes + p.Offset
	r.file.Pieces = append(r.file.Pieces, p)
	return nil
}

func (p *Piece) set(column string, n int64) {
	switch column {
	case "start":
		p.Start = n
	case "src":
		p.Src = int32(n)
	case "dst":
		p.Dst = int32(n)
	case "bytes":
		p.Bytes = n
	case "offset":
		p.Offset = n
	case "exchange":
		p.Phase = int32(n)
	}
}

// parsePath reads the column of the path.
func parsePath(field []byte, form pathForm) (spine, top int16, err error) {
	if string(field) == "-" {
		return NoSpine, NoTop, nil
	}
	switch form {
	case noForm:
		return 0, 0, fmt.Errorf("path %q: over tables it is -", shorten(field))
	case portForm:
		n, ok := count(string(field))
		if !ok || n < 1 || n > maxPort {
			return 0, 0, fmt.Errorf("path %q: write a source port, 1..%d, or -", shorten(field), maxPort)
		}
		return int16(uint16(n)), 0, nil
	}
	above := int32(NoTop)
	if plane, rest, ok := bytes.Cut(field, []byte(".")); ok && form != spineForm {
		if above, err = parseRest(rest, form); err != nil {
			return 0, 0, err
		}
		field = plane
	}
	k, err := parseNumber(field, 3)
	return int16(k), int16(above), err
}

// parseRest reads the part after a spine: a top switch, or two cables.
func parseRest(text []byte, form pathForm) (int32, error) {
	if form == topForm {
		return parseNumber(text, 4)
	}
	first, second, ok := bytes.Cut(text, []byte("."))
	if !ok {
		return 0, fmt.Errorf("one cable; a message is %s", form)
	}
	up, err := parseNumber(first, cableColumn)
	if err != nil {
		return 0, err
	}
	down, err := parseNumber(second, cableColumn)
	return int32(topOf(int(up), int(down))), err
}

func parseNumber(field []byte, column int) (n int32, err error) {
	for _, d := range field {
		if d-'0' >= 10 {
			return 0, fmt.Errorf("%s is not a number", columns[column])
		}
		if n = n*10 + int32(d-'0'); n > limitOf(column) {
			return 0, fmt.Errorf("%s is larger than %d", columns[column], limitOf(column))
		}
	}
	if len(field) == 0 {
		return 0, fmt.Errorf("%s is not a number", columns[column])
	}
	return n, nil
}

// quick reads the messages at the start of b that have single blanks, as nearly all have, and
// returns their bytes. It leaves doubtful lines to message.
func (r *reader) quick(b []byte) (read int) {
	for r.path < portForm && len(b)-read >= maxLine && len(r.file.Messages) < r.limit {
		m, n := quickLine(b[read:read+maxLine], r.path)
		if n == 0 {
			break
		}
		read += n
		r.input.line++
		r.file.add(m)
	}
	return read
}

// quickLine reads "0 1 2 3\n", "0 1 2 -\n" or on three levels "0 1 2 3.4\n", with parallel cables
// "0 1 2 3.0.1\n"; n is 0 for a doubtful line.
func quickLine(b []byte, form pathForm) (m Message, n int) {
	var v [6]int32
	i := 0
	for c := range 3 {
		start := i
		if v[c], i = digits(b, start); i == start || b[i] != ' ' {
			return m, 0
		}
		i++
	}
	m = Message{v[0], v[1], v[2], NoSpine, NoTop}
	if b[i] == '-' && b[i+1] == '\n' {
		return m, i + 2
	}
	parts := 0
	for next := byte('.'); next == '.' && parts < [...]int{1, 2, 3, 0}[form]; parts++ {
		start := i
		if v[3+parts], i = digits(b, start); i == start || i > start+4 {
			return m, 0
		}
		next = b[i]
		i++
	}
	switch {
	case parts == 0 || b[i-1] != '\n', form == cablesForm && parts == 2, max(v[4], v[5]) > maxCable && form == cablesForm:
		return m, 0
	case parts == 2:
		m.Top = int16(v[4])
	case parts == 3:
		m.Top = topOf(int(v[4]), int(v[5]))
	}
	m.Spine = int16(v[3])
	return m, i
}
