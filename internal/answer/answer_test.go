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
