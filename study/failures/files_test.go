package failures_test

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/study/failures"
)

const log = "Mar 08 10:00:00 000001 [1] -> x\n"

func file(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	f, err := os.Create(name)
	expect.Must(t, err)
	if z := gzip.NewWriter(f); strings.HasSuffix(name, ".gz") && text != "" {
		_, err = z.Write([]byte(text))
		text = ""
		if err == nil {
			err = z.Close()
		}
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	expect.Must(t, err)
	return name
}

func TestRead(t *testing.T) {
	plain, packed := file(t, "opensm.log", log), file(t, "opensm.log.gz", log)
	for _, tt := range []struct {
		name  string
		words failures.Words
		want  string // of the error
	}{
		{"a log", failures.Words{Logs: []string{plain}, Year: 2024}, ""},
		{"a rotated log", failures.Words{Logs: []string{packed}, Year: 2024}, ""},
		{"no year", failures.Words{Logs: []string{plain}}, plain + ": its times have no year"},
		{"no year, by a flag", failures.Words{Logs: []string{plain}, Flag: "--log"}, "--log " + plain + ": its times have no year"},
		{"no file", failures.Words{Logs: []string{"/missing"}}, "open /missing: no such file"},
		{"no file, by a flag", failures.Words{Logs: []string{"/missing"}, Flag: "--log"}, "--log: open /missing"},
		{"not packed", failures.Words{Logs: []string{file(t, "a.gz", "")}}, "a.gz: "},
		{"no cables", failures.Words{Logs: []string{plain}, Year: 2024, Cables: "/missing"}, "--cables: /missing: no such file"},
		{"no cable", failures.Words{Logs: []string{plain}, Year: 2024, Cables: plain}, "--cables: " + plain + ": line 1"},
	} {
		h, err := tt.words.Read(nil)
		switch {
		case tt.want == "" && (err != nil || h.From.Year() != 2024):
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestPeriods(t *testing.T) {
	p, err := (failures.Words{Exclude: []string{"2024-03-08..2024-03-09"}}).Periods()
	expect.True(t, err == nil && len(p) == 1, "%v, %v", p, err)
	if _, err := (failures.Words{Exclude: []string{"yesterday"}}).Periods(); err == nil || !strings.HasPrefix(err.Error(), `--exclude "yesterday": `) {
		t.Error(err)
	}
}
