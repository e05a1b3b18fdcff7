package verify

import (
	"bytes"
	"fmt"
)

// columns name the numbers of a message.
var columns = [5]string{"phase", "src", "dst", "spine", "top"}

func limitOf(column int) int32 {
	if column >= 3 {
		return maxSpine
	}
	return maxNumber
}

func (r *textReader) message(line []byte) error {
	m, err := parseMessage(line, r.file.Tree.Levels() == 3)
	if err != nil {
		return fmt.Errorf("%q: %w", shorten(line), err)
	}
	if len(r.file.Messages) >= r.limit {
		return r.tooMany(r.limit, r.file.Tree.Servers())
	}
	r.file.add(m)
	return nil
}

// parseMessage reads "phase src dst spine", in three levels also
// "phase src dst plane.top". The line has no blanks at its ends.
func parseMessage(line []byte, three bool) (m Message, err error) {
	fields := bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
	v := [5]int32{3: NoSpine, 4: NoTop}
	form := "\"phase src dst spine\""
	if three {
		form = "\"phase src dst plane.top\", without .top inside a pod"
	}
	for c := range 4 {
		switch {
		case c == len(fields):
			return m, fmt.Errorf("no %s; a message is %s", columns[c], form)
		case c == 3 && string(fields[c]) == "-":
			continue
		}
		field := fields[c]
		if plane, top, ok := bytes.Cut(field, []byte(".")); ok && c == 3 && three {
			if v[4], err = parseNumber(top, 4); err != nil {
				return m, err
			}
			field = plane
		}
		if v[c], err = parseNumber(field, c); err != nil {
			return m, err
		}
	}
	if len(fields) > 4 {
		return m, fmt.Errorf("more than four columns; a message is %s", form)
	}
	return Message{v[0], v[1], v[2], int16(v[3]), int16(v[4])}, nil
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

// quick reads the messages at the start of b that are written with single blanks, nearly all of a
// file, and returns the bytes they take. What it is not sure of, it leaves to message.
func (r *textReader) quick(b []byte) (read int) {
	for len(b)-read >= maxLine && len(r.file.Messages) < r.limit {
		m, n := quickLine(b[read:read+maxLine], r.file.Tree.Levels() == 3)
		if n == 0 {
			break
		}
		read += n
		r.input.line++
		r.file.add(m)
	}
	return read
}

// quickLine reads "0 1 2 3\n", "0 1 2 -\n" or in three levels "0 1 2 3.4\n"; n is
// 0 when it is not sure.
func quickLine(b []byte, three bool) (m Message, n int) {
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
	if b[i] == '.' && three && m.Spine != NoSpine {
		start = i + 1
		var top int32
		if top, i = digits(b, start); i == start || i > start+4 {
			return m, 0
		}
		m.Top = int16(top)
	}
	if b[i] != '\n' {
		return m, 0
	}
	return m, i + 1
}
