package wire

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// Steps are a row. On the wire they are numbers in base 64, not text: with a plan that
// changes while events are built, all workers wait for the slowest to have read its row.
type Steps []Step

var errPacked = errors.New("numbers: not as they were written")

// MarshalJSON implements json.Marshaler.
func (s Steps) MarshalJSON() ([]byte, error) {
	if s == nil {
		return []byte("null"), nil
	}
	b := make(packed, 0, 8*len(s))
	for _, x := range s {
		b.add(x.To, x.ToSpine, x.From, x.FromSpine)
	}
	return b.quoted(), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Steps) UnmarshalJSON(text []byte) (err error) {
	*s, err = readPacked(text, func(b *packed) (x Step, err error) {
		err = b.take(&x.To, &x.ToSpine, &x.From, &x.FromSpine)
		return x, err
	})
	return err
}

// packed are whole numbers of 32 bits with a sign, as varints.
type packed []byte

func (b *packed) add(all ...int) {
	for _, v := range all {
		*b = binary.AppendVarint(*b, int64(v))
	}
}

func (b packed) quoted() []byte {
	return strconv.AppendQuote(nil, base64.StdEncoding.EncodeToString(b))
}

func (b *packed) take(all ...*int) error {
	for _, v := range all {
		x, n := binary.Varint(*b)
		if n <= 0 || x < math.MinInt32 || x > math.MaxInt32 {
			return errPacked
		}
		*v, *b = int(x), (*b)[n:]
	}
	return nil
}

// readPacked reads entries until there are no more numbers; null are none. What it
// allocates grows with what was sent.
func readPacked[T any](text []byte, one func(*packed) (T, error)) ([]T, error) {
	if string(text) == "null" {
		return nil, nil
	}
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return nil, errPacked
	}
	bytes, err := base64.StdEncoding.Strict().DecodeString(string(text[1 : len(text)-1]))
	if err != nil {
		return nil, errPacked
	}
	b, out := packed(bytes), make([]T, 0, len(bytes)/4)
	for len(b) > 0 {
		x, err := one(&b)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}
