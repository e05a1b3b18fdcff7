package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"evbench/scheduler"
)

// maxJSON bounds a plan in JSON, which is held as a whole: one of 8,192 servers has
// less.
const maxJSON = 2 << 30

// readJSON reads the JSON form. Figures that follow from the rest are not
// looked at: they are computed anew.
func (d *draft) readJSON(in io.Reader, most int64) error {
	d.at = func(key string) string { return key }
	d.line = func(i int) string { return fmt.Sprintf("messages[%d]", i) }
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	if int64(len(text)) > most {
		return fmt.Errorf("longer than %d bytes", most)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("%s: %w", lineOf(text, err), err)
	}
	var stated string
	target := d.targets(&stated)
	body := fields["messages"]
	delete(fields, "messages") // read last, when their number is known
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if to, ok := target[key]; ok {
			err = json.Unmarshal(fields[key], to)
		} else if !strings.HasPrefix(key, "x-") {
			err = errors.New("unknown field; x-… is for your own")
		}
		if err != nil {
			return fmt.Errorf("%q: %w", shorten(key), err)
		}
	}
	if stated != schema {
		return fmt.Errorf("schema %q; %q is read", shorten(stated), schema)
	}
	if body == nil {
		return d.fromJSON()
	}
	if err := d.bounded(); err != nil {
		return err
	}
	if err := d.readMessages(body); err != nil {
		return fmt.Errorf("\"messages\": %w", err)
	}
	return d.fromJSON()
}

// targets returns where each field goes.
func (d *draft) targets(stated *string) map[string]any {
	var ignored any
	return map[string]any{
		"schema": stated, "topology": &d.topology, "fill": &d.fill, "spines": &d.spines, "down": &d.down,
		"unreachable": &d.unreachable, "schedule": &d.schedule, "objective": &d.objective, "routing": &d.routing,
		"phases": &d.phases, "bound": &d.bound, "moved": &d.moved, "hash": &d.hash,
		"gap": &ignored, "duration": &ignored, "predicted_efficiency": &ignored,
		"unsynchronised_efficiency_at_most": &ignored, "paths": &ignored,
	}
}

// fromJSON completes what this form leaves out.
func (d *draft) fromJSON() error {
	if d.objective == "" && d.schedule == scheduler.NameFORS {
		d.objective = scheduler.FewestPhases
	}
	if _, err := (Options{Schedule: d.schedule, Objective: d.objective}).objective(); err != nil {
		return err
	}
	if d.moved < 0 {
		return d.wrong("moved", "%d messages", d.moved)
	}
	return nil
}

// lineOf says where encoding/json stopped.
func lineOf(text []byte, err error) string {
	at := len(text)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = min(at, int(wrong.Offset))
	}
	return fmt.Sprintf("line %d", 1+bytes.Count(text[:at], []byte("\n")))
}

// readMessages reads [[phase,src,dst,spine],…], in three levels [phase,src,dst,plane,top],
// number by number, which is some ten times faster than encoding/json. The text is
// known to be one JSON value.
func (d *draft) readMessages(text []byte) error {
	s := scanner{text: text}
	s.take('[')
	for i := 0; !s.end(); i++ {
		m := scheduler.Message{Top: scheduler.None}
		s.take('[')
		s.number(&m.Phase, false)
		s.take(',')
		s.number(&m.Src, false)
		s.take(',')
		s.number(&m.Dst, false)
		s.take(',')
		s.number(&m.Spine, true)
		if s.peek() == ',' {
			s.take(',')
			s.number(&m.Top, true)
		}
		s.take(']')
		if s.wrong {
			return fmt.Errorf("messages[%d]: must be [phase,src,dst,spine], or [phase,src,dst,plane,top], spine and top -1 for none", i)
		}
		if err := d.add(m); err != nil {
			return err
		}
	}
	if s.wrong {
		return errors.New("must be a list of messages")
	}
	return nil
}

// A scanner reads a list of lists of numbers. After the first surprise it reads
// nothing more.
type scanner struct {
	text  []byte
	wrong bool
}

// peek returns the next byte that is not blank, or 0.
func (s *scanner) peek() byte {
	for len(s.text) > 0 {
		switch c := s.text[0]; c {
		case ' ', '\t', '\r', '\n':
			s.text = s.text[1:]
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) take(want byte) {
	if s.wrong || s.peek() != want {
		s.wrong = true
		return
	}
	s.text = s.text[1:]
}

// end takes what stands between two lists, and reports the end of them all.
func (s *scanner) end() bool {
	switch {
	case s.wrong:
		return true
	case s.peek() == ']':
		return true
	case s.peek() == ',':
		s.take(',')
	}
	return false
}

// number reads digits, or -1 where that may stand.
func (s *scanner) number(to *int, none bool) {
	c := s.peek()
	if none && c == '-' {
		s.take('-')
		if s.number(to, false); *to != 1 {
			s.wrong = true
		}
		*to = scheduler.None
		return
	}
	i := 0
	for i < len(s.text) && s.text[i] >= '0' && s.text[i] <= '9' {
		i++
	}
	n, ok := digits(s.text[:i])
	if !ok {
		s.wrong = true
	}
	*to, s.text = n, s.text[i:]
}
