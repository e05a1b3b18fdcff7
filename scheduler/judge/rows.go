package judge

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evbench/topology"
)

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
	return [...]string{"spine", "plane.top, without .top inside a pod", "spine.up.down, cables by number", "-", "port"}[f]
}

// row reads a line. It has no blanks at its ends.
func (r *reader) row(line []byte) error {
	p, err := r.parse(bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' }))
	if err != nil {
		return fmt.Errorf("%q: %w", shorten(line), err)
	}
	if err := r.full(len(r.file.Messages) + len(r.file.Pieces)); err != nil {
		return err
	}
	if !r.file.sized {
		r.file.add(p.Message)
		return nil
	}
	if p.Bytes+p.Offset > maxTime-r.sum {
		return fmt.Errorf("bytes and offsets add up to more than %d", int64(maxTime))
	}
	r.sum += p.Bytes + p.Offset
	r.file.Pieces = append(r.file.Pieces, p)
	return nil
}

// parse reads the columns of a row. What follows bytes may be left out.
func (r *reader) parse(fields [][]byte) (p Piece, err error) {
	names := r.form.phased
	if r.file.sized {
		names = r.form.started
	}
	if len(fields) > len(names) || len(fields) < cmp.Or(1+slices.Index(names, "bytes"), len(names)) {
		row := strings.Replace(strings.Join(names, " "), "path", r.path.String(), 1)
		if len(fields) > len(names) {
			return p, fmt.Errorf("more than %d columns; a row is %q", len(names), row)
		}
		return p, fmt.Errorf("no %s; a row is %q", names[len(fields)], row)
	}
	p.Spine, p.Top = NoSpine, NoTop
	for i, f := range fields {
		n := int64(0)
		switch names[i] {
		case "path":
			p.Spine, p.Top, err = parsePath(f, r.path)
		case "phase", "src", "dst":
			n, err = number(names[i], f, maxNumber)
		case "exchange":
			n, err = number(names[i], f, int64(r.file.Window)-1)
		default:
			n, err = number(names[i], f, maxTime)
		}
		if err != nil {
			return p, err
		}
		p.set(names[i], n)
	}
	return p, nil
}

// full says why a file may have no more rows than it has; nil: it may.
func (r *reader) full(rows int) error {
	switch n := r.file.Servers(); {
	case rows < r.limit:
		return nil
	case r.file.sized || r.limit == r.room:
		return fmt.Errorf("more than %d rows: there is no space for more", r.limit)
	default:
		return fmt.Errorf("more than %d messages; all pairs of %d servers are %d", r.limit, n, pairs(n))
	}
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
	case "phase", "exchange":
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
		n, err := number("port", field, maxPort)
		if err == nil && n == 0 {
			err = fmt.Errorf("port 0: write a source port, 1..%d, or -", maxPort)
		}
		return int16(uint16(n)), 0, err
	}
	plane, rest, more := bytes.Cut(field, []byte("."))
	if form == spineForm {
		plane, more = field, false
	}
	k, err := number("spine", plane, maxSpine)
	above := int16(NoTop)
	if err == nil && more {
		above, err = parseRest(rest, form)
	}
	return int16(k), above, err
}

// parseRest reads the part after a spine: a top switch, or two cables.
func parseRest(text []byte, form pathForm) (int16, error) {
	if form == topForm {
		n, err := number("top", text, maxSpine)
		return int16(n), err
	}
	first, second, ok := bytes.Cut(text, []byte("."))
	if !ok {
		return 0, fmt.Errorf("one cable; a path is %s", form)
	}
	up, err := number("cable", first, maxCable)
	down, other := number("cable", second, maxCable)
	return topOf(int(up), int(down)), cmp.Or(err, other)
}

// number reads a whole number of a column.
func number(column string, field []byte, most int64) (n int64, err error) {
	for _, d := range field {
		if d-'0' >= 10 {
			return 0, fmt.Errorf("%s is not a number", column)
		}
		if n = n*10 + int64(d-'0'); n > most {
			return 0, fmt.Errorf("%s is larger than %d", column, most)
		}
	}
	if len(field) == 0 {
		return 0, fmt.Errorf("%s is not a number", column)
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
