package kept_test

import (
	"encoding/json"
	"testing"
	"time"

	"evbench/internal/kept"
	"evbench/testing/expect"
)

type inner struct {
	A int       `json:"a"`
	T time.Time `json:"t,omitzero"`
}

type outer struct {
	inner
	B    string   `json:"b,omitempty"`
	In   *inner   `json:"in"`
	List []inner  `json:"list"`
	Text []string `json:"text,omitempty"`
}

// What a type has no field for is written again where it was, and the rest as by encoding/json.
func TestKept(t *testing.T) {
	for _, tt := range []struct{ read, want string }{
		{`{"a":1,"in":null,"list":null}`, `{"a":1,"in":null,"list":null}`},
		{`{"x":[1, {"y":2}],"a":1}`, `{"a":1,"in":null,"list":null,"x":[1,{"y":2}]}`},
		{`{"A":1,"B":"2","T":"2026-01-01T00:00:00Z"}`, `{"a":1,"t":"2026-01-01T00:00:00Z","b":"2","in":null,"list":null}`},
		{`{"in":{"a":7,"x":1e400},"list":[{"a":1},{"x":"<"}]}`, `{"a":0,"in":{"a":7,"x":1e400},"list":[{"a":1},{"a":0,"x":"<"}]}`},
		{`{"text":["x"],"":1}`, `{"a":0,"in":null,"list":null,"text":["x"],"":1}`},
	} {
		var x outer
		rest := expect.Value(kept.Unmarshal([]byte(tt.read), &x))(t)
		expect.Equal(t, string(expect.Value(kept.Marshal(x, rest))(t)), tt.want, "%s", tt.read)
	}
	_, err := kept.Unmarshal([]byte(`{"a":"x"}`), &outer{})
	expect.Error(t, err, "cannot unmarshal")
}

// FuzzKept: what is written is read as the same, with the same rest.
func FuzzKept(f *testing.F) {
	f.Add(`{"x":[1, {"y":2}],"a":1,"in":{"x":1},"list":[{},{"x":"<","x":2}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var x, again outer
		rest, err := kept.Unmarshal([]byte(text), &x)
		if err != nil {
			return
		}
		first := expect.Value(kept.Marshal(x, rest))(t)
		rest, err = kept.Unmarshal(first, &again)
		expect.Must(t, err, "%s", first)
		expect.Equal(t, string(expect.Value(kept.Marshal(again, rest))(t)), string(first), "%q", text)
		expect.True(t, json.Valid(first), "%s", first)
	})
}
