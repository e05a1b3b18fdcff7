package show_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"unicode/utf8"

	"evbench/internal/show"
	"evbench/testing/expect"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"leaf0 – ±3 %":                   "leaf0 – ±3 %",
		"two\n\tlines":                   "two\n\tlines",
		"\x1b[2J\x1b]0;title\x07":        `\x1b[2J\x1b]0;title\x07`,
		"a\rb\x00\x7f":                   `a\x0db\x00\u007f`,
		"\u009b31m":                      `\u009b31m`, // CSI in one character
		"\x9b31m\xff":                    `\x9b31m\xff`,
		"user\u202etxt.exe\u2028":        `user\u202etxt.exe\u2028`,
		"\ufffd":                         "\ufffd",
		strings.Repeat("x", 100):         strings.Repeat("x", 100),
		strings.Repeat("x", 101):         strings.Repeat("x", 60) + "… (41 more bytes)",
		strings.Repeat("ä", 51):          strings.Repeat("ä", 30) + "… (42 more bytes)",
		strings.Repeat("\x1b", 10<<20):   strings.Repeat(`\x1b`, 15) + "… (10485745 more bytes)",
		strings.Repeat("x", 99) + "\x1b": strings.Repeat("x", 60) + "… (40 more bytes)",
	} {
		expect.Equal(t, show.Text(in, 100), want, "%.60q", in)
	}
	expect.Equal(t, show.Line("a\n\tb\x1b"), `a\n\tb\x1b`, "a line")
}

// What is written in pieces comes out as what is written at once.
func TestWriter(t *testing.T) {
	text := "a – b" + show.Paint(show.Red, "red") + "\x1b[31m\x1b[2J\xe2\x80\nend \u202e\r\n\xe2"
	const want = "a – b\x1b[31mred\x1b[0m" + `\x1b[31m\x1b[2J\xe2\x80` + "\nend " + `\u202e\x0d` + "\n" + `\xe2`
	var whole, pieces bytes.Buffer
	for _, c := range []struct {
		to   *bytes.Buffer
		text []string
	}{{&whole, []string{text}}, {&pieces, strings.SplitAfter(text, "\x80")}} {
		w := &show.Writer{To: c.to}
		for _, s := range c.text {
			n, err := w.Write([]byte(s))
			expect.MustTrue(t, n == len(s) && err == nil, "%v %v", n, err)
		}
		if err := w.Flush(); err != nil || c.to.String() != want {
			t.Errorf("%q, %v, want %q", c.to.String(), err, want)
		}
	}
}

func TestWriterCutsLines(t *testing.T) {
	var out bytes.Buffer
	w := &show.Writer{To: &out, Most: 10}
	for _, s := range []string{"short\n", strings.Repeat("x", 8), strings.Repeat("y", 1<<20) + "\n", "1234567890\n", "no end of the line"} {
		expect.Must(t, expect.Err(w.Write([]byte(s))))
	}
	want := "short\nxxxxxxxxyy… (1048574 more bytes)\n1234567890\nno end of … (8 more bytes)"
	if err := w.Flush(); err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", out.String(), err, want)
	}
}

// A style has no width, and ends where its text is cut. A style that a file has is text.
func TestCut(t *testing.T) {
	expect.Equal(t, show.Screen(show.Cut("ab"+show.Paint(show.Red, "cdéfgh")+"ij", 5)), "ab\x1b[31mcdé\x1b[0m", "cut")
	expect.Equal(t, show.Screen(show.Cut("ab\x1b[31mcd", 8)), `ab\x1b[31mc`, "a style of a file")
}

func TestCSV(t *testing.T) {
	var b strings.Builder
	expect.Must(t, show.WriteCSV(&b, [][]string{{"name", "value"}, {"=1+1", "-1"}, {"+a", "+1"}, {"@a", ""}, {`a "b", c`, " x"}, {"plain", "1.5"}}))
	expect.Equal(t, b.String(), "name,value\n\"=1+1\",-1\n\"+a\",\"+1\"\n\"@a\",\n\"a \"\"b\"\", c\",\" x\"\nplain,1.5\n", "CSV")
	lines := expect.Value(csv.NewReader(strings.NewReader(b.String())).ReadAll())(t)
	expect.Equal(t, lines[1][0]+lines[4][0], `=1+1a "b", c`, "read back")
}

// FuzzText: nothing hidden is left, nothing is longer than it may be, what was shown stays as
// it is, and the writer makes the same of it however it comes.
func FuzzText(f *testing.F) {
	f.Add("plain", 3)
	f.Add("\x1b]0;x\x07\u009b\xe2\x80\u202e\n", 5)
	f.Add(strings.Repeat("ä\x00", 200), 101)
	f.Fuzz(func(t *testing.T, s string, at int) {
		const most = 200
		got := show.Text(s, most)
		expect.MustTrue(t, len(got) <= most && utf8.ValidString(got), "%q became %q", s, got)
		for _, r := range got {
			expect.MustFalse(t, r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0, "%q became %q with %q", s, got, r)
		}
		again := show.Text(got, most)
		expect.MustTrue(t, again == got, "%q, and again %q", got, again)
		var out bytes.Buffer
		w := &show.Writer{To: &out}
		at = max(0, min(at, len(s)))
		w.Write([]byte(s[:at]))
		w.Write([]byte(s[at:]))
		if w.Flush(); out.String() != show.Text(s, 6*len(s)+most) {
			t.Fatalf("%q, cut at %d, was written as %q", s, at, out.String())
		}
	})
}
