package wire

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// An entry of a list has signed 32-bit numbers: a fixed part, then a variable one.
type entry[T any] interface {
	*T
	fixed() []*int
	following() *[]int // nil: no variable part
}

// A list is varints in base 64 on the wire, not text: when a plan changes during event building,
// all workers wait for the slowest reader.
type list[T any, E entry[T]] []T

// The work of a rank: Steps of a row, and Turns, Takes and Tells of a Window.
type (
	Steps = list[Step, *Step]
	Turns = list[Turn, *Turn]
	Takes = list[Take, *Take]
	Tells = list[Tell, *Tell]
)

func (s *Step) fixed() []*int { return []*int{&s.To, &s.ToSpine, &s.From, &s.FromSpine} }
func (t *Turn) fixed() []*int { return []*int{&t.Exchange, &t.To, &t.Spine} }
func (t *Take) fixed() []*int { return []*int{&t.Exchange, &t.From, &t.Spine} }
func (t *Tell) fixed() []*int { return []*int{&t.After, &t.To, &t.Send} }

func (s *Step) following() *[]int { return nil }
func (t *Turn) following() *[]int { return &t.Await }
func (t *Take) following() *[]int { return nil }
func (t *Tell) following() *[]int { return nil }

var errPacked = errors.New("numbers: not as they were written")

func (l list[T, E]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("null"), nil
	}
	b := make([]byte, 0, 8*len(l))
	for i := range l {
		for _, v := range E(&l[i]).fixed() {
			b = binary.AppendVarint(b, int64(*v))
		}
		if more := E(&l[i]).following(); more != nil {
			b = binary.AppendVarint(b, int64(len(*more)))
			for _, v := range *more {
				b = binary.AppendVarint(b, int64(v))
			}
		}
	}
	return strconv.AppendQuote(nil, base64.StdEncoding.EncodeToString(b)), nil
}

// UnmarshalJSON implements json.Unmarshaler. Its memory grows with the bytes sent.
func (l *list[T, E]) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*l = nil
		return nil
	}
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return errPacked
	}
	b, err := base64.StdEncoding.Strict().DecodeString(string(text[1 : len(text)-1]))
	if err != nil {
		return errPacked
	}
	out := make([]T, 0, len(b)/4)
	for len(b) > 0 {
		var x T
		for _, v := range E(&x).fixed() {
			if b, err = number(b, v); err != nil {
				return err
			}
		}
		if more := E(&x).following(); more != nil {
			n := 0
			if b, err = number(b, &n); err != nil || n < 0 || n > len(b) {
				return errPacked
			}
			if n > 0 {
				*more = make([]int, n)
			}
			for i := range *more {
				if b, err = number(b, &(*more)[i]); err != nil {
					return err
				}
			}
		}
		out = append(out, x)
	}
	*l = out
	return nil
}

func number(b []byte, v *int) (rest []byte, err error) {
	x, n := binary.Varint(b)
	if n <= 0 || x < math.MinInt32 || x > math.MaxInt32 {
		return nil, errPacked
	}
	*v = int(x)
	return b[n:], nil
}
