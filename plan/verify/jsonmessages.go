package verify

import "fmt"

// jsonForms say what a message is, by the numbers it has.
var jsonForms = map[int]string{4: "[phase,src,dst,spine]", 5: "[phase,src,dst,plane,top]"}

// columnsOf returns how many numbers a message of a JSON file has.
func columnsOf(f *File) int {
	if f.Pods != nil {
		return 5
	}
	return 4
}

// messages reads [[phase,src,dst,spine],…] or [[phase,src,dst,plane,top],…].
func (r *jsonReader) messages() error {
	if err := r.expect('['); err != nil {
		return err
	}
	if end, err := r.empty(']'); end || err != nil {
		return err
	}
	servers := maxServers
	if f, err := r.h.fabric(); err == nil { // stated before the messages, as in a written file
		servers = f.tree.Servers()
	}
	r.limit = min(r.room, most(servers))
	for {
		m, err := r.message()
		if err != nil {
			return fmt.Errorf("messages[%d]: %w", len(r.file.Messages), err)
		}
		if len(r.file.Messages) >= r.limit {
			return r.tooMany(r.limit, servers)
		}
		r.file.add(m)
		if more, err := r.more(']'); !more || err != nil {
			return err
		}
		ahead, _ := r.Peek(r.Buffered())
		r.Discard(r.quick(ahead))
	}
}

// message reads one message. The first says how many numbers all have.
func (r *jsonReader) message() (m Message, err error) {
	if err := r.expect('['); err != nil {
		return m, err
	}
	v := [5]int32{4: NoTop}
	for c := 0; ; c++ {
		if v[c], err = r.integer(columns[c], c); err != nil {
			return m, err
		}
		after, err := r.next()
		end, mayEnd := c == 4 || c+1 == r.columns, r.columns == 0 && c == 3
		switch {
		case err != nil:
			return m, err
		case after == ']' && (end || mayEnd):
			r.columns = c + 1
			return Message{v[0], v[1], v[2], int16(v[3]), int16(v[4])}, nil
		case end && after != ']':
			return m, r.wrong("%q where ']' should be", after)
		case !end && after != ',':
			return m, r.wrong("%q where ',' should be", after)
		}
	}
}

// integer reads digits; the path's numbers may also be -1 for "none".
func (r *jsonReader) integer(column string, c int) (int32, error) {
	limit, none := limitOf(c), c >= 3
	b, err := r.next()
	if err != nil {
		return 0, err
	}
	negative := none && b == '-'
	if negative {
		if b, err = r.ReadByte(); err != nil {
			return 0, r.ended(err)
		}
	}
	var n int32
	digits := 0
	for ; b-'0' < 10; digits++ {
		if n = n*10 + int32(b-'0'); n > limit {
			return 0, r.wrong("%s is larger than %d", column, limit)
		}
		if b, err = r.ReadByte(); err != nil {
			return 0, r.ended(err)
		}
	}
	switch {
	case negative && (digits != 1 || n != 1):
		return 0, r.wrong("%s is neither a number nor -1", column)
	case digits == 0:
		return 0, r.wrong("%s is not a whole number", column)
	case negative:
		n = -1
	}
	return n, r.UnreadByte()
}

// quick reads the messages at the start of b that are written without blanks and
// followed by a comma, nearly all of a file, and returns the bytes they take. What
// it is not sure of, it leaves to message.
func (r *jsonReader) quick(b []byte) (read int) {
	for len(b)-read >= maxLine && len(r.file.Messages) < r.limit {
		m, n := quickElement(b[read:read+maxLine], r.columns)
		if n == 0 {
			break
		}
		read += n
		r.file.add(m)
	}
	return read
}

// quickElement reads "[0,1,2,3]," or "[0,1,2,3,4],"; n is 0 when it is not sure.
func quickElement(b []byte, columns int) (m Message, n int) {
	if b[0] != '[' {
		return m, 0
	}
	v, i := [5]int32{4: NoTop}, 1
	for c := range columns {
		start := i
		if c >= 3 && b[i] == '-' && b[i+1] == '1' {
			v[c], i = -1, i+2
		} else if v[c], i = digits(b, i); i == start || c >= 3 && i-start > 4 {
			return m, 0
		}
		if c < columns-1 {
			if b[i] != ',' {
				return m, 0
			}
			i++
		}
	}
	if b[i] != ']' || b[i+1] != ',' {
		return m, 0
	}
	return Message{v[0], v[1], v[2], int16(v[3]), int16(v[4])}, i + 2
}
