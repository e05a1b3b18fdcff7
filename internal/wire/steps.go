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

var errSteps = errors.New("steps: not as they were written")

// MarshalJSON implements json.Marshaler.
func (s Steps) MarshalJSON() ([]byte, error) {
	if s == nil {
		return []byte("null"), nil
	}
	b := make([]byte, 0, 8*len(s))
	for _, x := range s {
		for _, v := range [...]int{x.To, x.ToSpine, x.From, x.FromSpine} {
			b = binary.AppendVarint(b, int64(v))
		}
	}
	return strconv.AppendQuote(nil, base64.StdEncoding.EncodeToString(b)), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Steps) UnmarshalJSON(text []byte) error {
	*s = nil
	if string(text) == "null" {
		return nil
	}
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return errSteps
	}
	b, err := base64.StdEncoding.Strict().DecodeString(string(text[1 : len(text)-1]))
	if err != nil {
		return errSteps
	}
	out := make(Steps, 0, len(b)/4)
	for len(b) > 0 {
		var v [4]int
		for i := range v {
			x, n := binary.Varint(b)
			if n <= 0 || x < math.MinInt32 || x > math.MaxInt32 {
				return errSteps
			}
			v[i], b = int(x), b[n:]
		}
		out = append(out, Step{v[0], v[1], v[2], v[3]})
	}
	*s = out
	return nil
}
