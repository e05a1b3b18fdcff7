package verify

import "fmt"

// row reads a line of the compact form, "phase src run run …": the messages of src and
// of the servers after it.
func (r *textReader) row(line []byte) error {
	var head [2]int32
	for c := range head {
		n, end := digits(line, 0)
		if end == 0 || end < len(line) && !blank(line[end]) {
			return r.wrong("%q: %s is not a number of at most 7 digits; a row is \"phase src dst/spine dst/spine …\"", shorten(line), columns[c])
		}
		head[c], line = n, skipBlanks(line[end:])
	}
	if len(line) == 0 {
		return r.wrong("no message; a row is \"phase src dst/spine dst/spine …\"")
	}
	for src := head[1]; len(line) > 0; {
		first, n, end := parseRun(line)
		if end == 0 || first.Top != NoTop && r.file.Pods == nil {
			return r.wrong("%q: a run is %s", shorten(fieldOf(line)), runForm(r.file.Pods != nil))
		}
		if int64(src)+int64(n) > maxNumber+1 {
			return r.wrong("%q: src is larger than %d", shorten(fieldOf(line)), maxNumber)
		}
		first.Phase, first.Src = head[0], src
		if err := r.expand(first, int(n)); err != nil {
			return err
		}
		src, line = src+n, skipBlanks(line[end:])
	}
	return nil
}

// expand adds the messages of a run: source, destination and spine, where there is
// one, grow by one.
func (r *textReader) expand(m Message, n int) error {
	if n > r.limit-len(r.file.Messages) {
		return r.tooMany(r.limit, r.file.Tree.Servers())
	}
	step := int16(1)
	if m.Spine == NoSpine {
		step = 0
	}
	for range n {
		r.file.add(m)
		m.Src, m.Dst, m.Spine = m.Src+1, m.Dst+1, m.Spine+step
	}
	return nil
}

// parseRun reads the run at the start of b: its first message, how many there are, and
// where it ends, which is 0 when it is wrong.
func parseRun(b []byte) (m Message, n int32, end int) {
	m.Spine, m.Top = NoSpine, NoTop
	if m.Dst, n, end = parseSpan(b, 0); end == 0 {
		return m, 0, 0
	}
	if end < len(b) && b[end] == '/' {
		k, spines, i := parseSpan(b, end+1)
		if i == 0 || spines != n || k+n-1 > maxSpine {
			return m, 0, 0
		}
		if m.Spine, end = int16(k), i; end < len(b) && b[end] == '.' {
			top, i := digits(b, end+1)
			if i == end+1 || top > maxSpine {
				return m, 0, 0
			}
			m.Top, end = int16(top), i
		}
	}
	if end < len(b) && !blank(b[end]) {
		return m, 0, 0
	}
	return m, n, end
}

// parseSpan reads "7" or "7-63" at b[i:]: the first number, how many there are, and
// where it ends, which is 0 when it is wrong.
func parseSpan(b []byte, i int) (from, n int32, end int) {
	if from, end = digits(b, i); end == i {
		return 0, 0, 0
	}
	to := from
	if end < len(b) && b[end] == '-' {
		i = end + 1
		if to, end = digits(b, i); end == i || to < from {
			return 0, 0, 0
		}
	}
	return from, to - from + 1, end
}

func runForm(three bool) string {
	form := fmt.Sprintf("dst, dst/spine, or first-last/first-last with as many destinations as spines, which are at most %d", maxSpine)
	if three {
		form += "; between pods a spine is plane.top, first-last.top"
	}
	return form
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func skipBlanks(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	return b
}

// fieldOf returns b up to the first blank.
func fieldOf(b []byte) []byte {
	for i, c := range b {
		if blank(c) {
			return b[:i]
		}
	}
	return b
}
