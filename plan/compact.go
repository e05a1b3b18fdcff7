package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"evbench/scheduler"
)

// WriteCompact writes the plan file, compact form: the header of the text form, then
// a row "phase src run run …" for neighbouring servers of a leaf. The runs are the
// messages of src and the servers after it, in order. "71/7" is one, to server 71 over
// spine 7; "71-127/7-63" are 57, destination and spine each one more than before;
// without a spine they are "1" and "1-63". In three levels "8-11/0-3.2" are over planes
// 0 to 3 and top switch 2. The hash is that of the text form.
func (p *Plan) WriteCompact(w io.Writer) error {
	if p.Schedule == nil {
		return errors.New("a plan without a schedule has no compact form")
	}
	if _, err := io.WriteString(w, p.header(firstCompact, p.Hash())); err != nil {
		return err
	}
	r, through := rows{ports: p.Tree.Ports()}, p.through()
	for m := range p.Schedule.All() {
		m.Spine, m.Top = through(m.Src, m.Dst)
		m.Src, m.Dst = p.Tree.Position(m.Src), p.Tree.Position(m.Dst)
		if r.add(m); len(r.text) >= block {
			if _, err := w.Write(r.text); err != nil {
				return err
			}
			r.text = r.text[:0]
		}
	}
	r.end()
	if len(r.text) > 0 {
		r.text = append(r.text, '\n')
	}
	_, err := w.Write(r.text)
	return err
}

// rows writes messages in order of phase and source. The last run is kept until it is
// known how far it goes.
type rows struct {
	text  []byte
	ports int // of a leaf
	first scheduler.Message
	n     int // messages of the run
}

func (r *rows) add(m scheduler.Message) {
	f := &r.first
	next := r.n > 0 && m.Phase == f.Phase && m.Src == f.Src+r.n && m.Src%r.ports != 0 // the row goes on
	if next && m.Dst == f.Dst+r.n && m.Top == f.Top && (m.Spine == f.Spine+r.n && f.Spine >= 0 || m.Spine == f.Spine && f.Spine < 0) {
		r.n++
		return
	}
	r.end()
	if !next {
		if r.n > 0 {
			r.text = append(r.text, '\n')
		}
		r.text = strconv.AppendInt(r.text, int64(m.Phase), 10)
		r.text = strconv.AppendInt(append(r.text, ' '), int64(m.Src), 10)
	}
	r.first, r.n = m, 1
}

// end writes the run.
func (r *rows) end() {
	if r.n == 0 {
		return
	}
	r.text = append(r.text, ' ')
	r.span(r.first.Dst)
	if r.first.Spine == scheduler.None {
		return
	}
	r.text = append(r.text, '/')
	r.span(r.first.Spine)
	if r.first.Top != scheduler.None {
		r.text = strconv.AppendInt(append(r.text, '.'), int64(r.first.Top), 10)
	}
}

// span writes "7", or "7-63" for the numbers of the run.
func (r *rows) span(from int) {
	r.text = strconv.AppendInt(r.text, int64(from), 10)
	if r.n > 1 {
		r.text = strconv.AppendInt(append(r.text, '-'), int64(from+r.n-1), 10)
	}
}

// row reads "phase src run run …".
func (r *textReader) row(line []byte) error {
	var v [2]int
	for i := range v {
		var field []byte
		var ok bool
		field, line = cut(line)
		if v[i], ok = digits(field); !ok {
			return fmt.Errorf("%s %q is not a number below %d; a row is \"phase src dst/spine dst/spine …\"", columns[i], shorten(string(field)), maxNumber)
		}
	}
	if len(line) == 0 {
		return errors.New("no message; a row is \"phase src dst/spine dst/spine …\"")
	}
	for src := v[1]; len(line) > 0; {
		var field []byte
		field, line = cut(line)
		m, n, ok := parseRun(field)
		if !ok {
			return fmt.Errorf("%q: a run is dst, dst/spine, first-last/first-last with as many destinations as spines, "+
				"or in three levels first-last/first-last.top", shorten(string(field)))
		}
		m.Phase = v[0]
		for i := range n {
			one := m
			one.Src, one.Dst = src, m.Dst+i
			if src++; m.Spine != scheduler.None {
				one.Spine += i
			}
			if err := r.hold(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseRun reads the first message of a run, and how many there are.
func parseRun(field []byte) (m scheduler.Message, n int, ok bool) {
	m = scheduler.Message{Spine: scheduler.None, Top: scheduler.None}
	dst, path, routed := bytes.Cut(field, []byte("/"))
	if m.Dst, n, ok = parseSpan(dst); !ok || !routed {
		return m, n, ok
	}
	path, top, two := bytes.Cut(path, []byte("."))
	var spines int
	if m.Spine, spines, ok = parseSpan(path); ok && two {
		m.Top, ok = digits(top)
	}
	return m, n, ok && spines == n
}

// parseSpan reads "7" or "7-63": the first number, and how many there are.
func parseSpan(field []byte) (from, n int, ok bool) {
	first, last, two := bytes.Cut(field, []byte("-"))
	if from, ok = digits(first); !ok || !two {
		return from, 1, ok
	}
	to, ok := digits(last)
	return from, to - from + 1, ok && to >= from
}

// place names the line of message i and, where that has several, which it is.
func (r *textReader) place(i int) string {
	n := 1
	for n <= i && r.lines[i-n] == r.lines[i] {
		n++
	}
	if r.runs {
		return fmt.Sprintf("line %d, message %d", r.lines[i], n)
	}
	return fmt.Sprintf("line %d", r.lines[i])
}
