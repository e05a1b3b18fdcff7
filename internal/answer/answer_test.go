package answer_test

import (
	"strings"
	"testing"

	"evbench/internal/answer"
	"evbench/testing/expect"
)

func TestWriteText(t *testing.T) {
	var b strings.Builder
	a := answer.Answer{Verdict: answer.Bad, Sentence: "It is slow.", Why: []string{"a link is dead"}, Next: []string{answer.Typed("evbench", "plan", "-t", "FT(2;4,4)", "it's", "")}}
	expect.Must(t, a.WriteText(&b))
	want := "BAD: It is slow.\n  because  a link is dead\n  next     evbench plan -t 'FT(2;4,4)' 'it'\\''s' ''\n\n"
	expect.True(t, b.String() == want, "got %q, want %q", b.String(), want)
}

// What has no fields beside its answer is JSON, too.
func TestJSON(t *testing.T) {
	for want, fields := range map[string]any{
		`{"schema":"x/1"}`: struct{}{},
		`{"schema":"x/1","n":1}`: struct {
			N int `json:"n"`
		}{1},
	} {
		var out strings.Builder
		expect.Must(t, answer.Document{Schema: "x/1", Fields: fields}.Write(&out, "json"))
		expect.Equal(t, out.String(), want+"\n", "document")
	}
}
