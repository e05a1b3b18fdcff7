package verify

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

// A pathForm is how the last column names a path.
type pathForm int

const (
	spineForm  pathForm = iota // "2"
	topForm                    // "2.5", "2" inside a pod
	cablesForm                 // "2.0.1": the cable up and the cable down
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
	}[f]
}

func (r *textReader) message(line []byte) error {
	m, err := parseMessage(line, r.form)
	if err != nil {
		return fmt.Errorf("%q: %w", shorten(line), err)
	}
	if len(r.file.Messages) >= r.limit {
		return r.tooMany(r.limit, r.file.Tree.Servers())
	}
	r.file.add(m)
	return nil
}

// parseMessage reads a line of one of the forms. It has no blanks at its ends.
func parseMessage(line []byte, form pathForm) (m Message, err error) {
	fields := bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
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

// parsePath reads the column of the path.
func parsePath(field []byte, form pathForm) (spine, top int16, err error) {
	if string(field) == "-" {
		return NoSpine, NoTop, nil
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
func (r *textReader) quick(b []byte) (read int) {
	for len(b)-read >= maxLine && len(r.file.Messages) < r.limit {
		m, n := quickLine(b[read:read+maxLine], r.form)
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
	var i, start int
	m.Spine, m.Top = NoSpine, NoTop
	if m.Phase, i = digits(b, 0); i == 0 || b[i] != ' ' {
		return m, 0
	}
	start = i + 1
	if m.Src, i = digits(b, start); i == start || b[i] != ' ' {
		return m, 0
	}
	start = i + 1
	if m.Dst, i = digits(b, start); i == start || b[i] != ' ' {
		return m, 0
	}
	start = i + 1
	if b[start] == '-' {
		i = start + 1
	} else {
		var k int32
		if k, i = digits(b, start); i == start || i > start+4 {
			return m, 0
		}
		m.Spine = int16(k)
	}
	if b[i] == '.' && form != spineForm && m.Spine != NoSpine {
		start = i + 1
		var top int32
		if top, i = digits(b, start); i == start || i > start+4 {
			return m, 0
		}
		m.Top = int16(top)
		if form == cablesForm {
			var down int32
			start = i + 1
			if b[i] != '.' {
				return m, 0
			}
			if down, i = digits(b, start); i == start || top > maxCable || down > maxCable {
				return m, 0
			}
			m.Top = topOf(int(top), int(down))
		}
	}
	if b[i] != '\n' {
		return m, 0
	}
	return m, i + 1
}
