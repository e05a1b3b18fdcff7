package cmdline

import (
	"strings"
	"testing"

	"evbench/testing/expect"
)

func TestFold(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for in, want := range map[string]string{
		"short": "short",
		"   --flag N  " + long: "   --flag N  " + strings.TrimSpace(strings.Repeat("word ", 17)) +
			"\n             " + strings.TrimSpace(strings.Repeat("word ", 13)),
		"     evbench plan " + long: "     evbench plan " + strings.TrimSpace(strings.Repeat("word ", 16)) +
			" \\\n       " + strings.TrimSpace(strings.Repeat("word ", 14)),
		"   " + long: "   " + strings.TrimSpace(strings.Repeat("word ", 19)) + "\n   " + strings.TrimSpace(strings.Repeat("word ", 11)),
	} {
		got := fold(strings.TrimRight(in, " "))
		expect.True(t, got == want, "%s\nis\n%s\nwant\n%s", in, got, want)
	}
}
