package jsondoc_test

import (
	"testing"

	"evbench/internal/jsondoc"
	"evbench/testing/expect"
)

func TestOnce(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"a":2}`: `"a" is there twice`,
		`{"a":{"b":[{"c":1},{"c":2,"d":1,"c":3}]}}`: `"c" is there twice`,
		"{\"a\":1}\n{\"b\":1,\n\"b\":2}":            `"b" is there twice`,
		`{"\u0061":1,"a":2}`:                        `"a" is there twice`,
		`{"a":{"x":1,"x":2},"b":1}`:                 `"x" is there twice`,
	} {
		expect.Error(t, jsondoc.Once([]byte(text)), want)
		expect.Error(t, jsondoc.Unmarshal([]byte(text), new(any)), want)
	}
	for _, text := range []string{`{"a":"a","b":{"a":["a","a"]},"c":null}`, `[{"a":1},{"a":1}]`, "{\"a\":1}{\"a\":1}", `{"a":1,`, "no JSON", ""} {
		expect.Must(t, jsondoc.Once([]byte(text)), "%s", text)
	}
}
