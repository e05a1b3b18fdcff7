package verify_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"evbench/plan/verify"
)

const headRows = "# evbench plan 1 compact\n# topology FT(2;2,2)\n"

// A row is what its messages are line by line, in any order, with gaps.
func TestReadRows(t *testing.T) {
	for _, tt := range []struct{ name, head, rows, lines string }{
		{"one each", "FT(2;2,2)", "0 0 1 2/0", "0 0 1 -\n0 1 2 0\n"},
		{"runs", "FT(2;2,2)", "0 0 2-3/0-1 \t0-1/0-1\r\n1 0 1-2\n", "0 0 2 0\n0 1 3 1\n0 2 0 0\n0 3 1 1\n1 0 1 -\n1 1 2 -\n"},
		{"one by one", "FT(2;2,2)", "3 2 0-0/1-1\n0 3 1/0\n", "3 2 0 1\n0 3 1 0\n"},
		{"nonsense is for the judge", "FT(2;2,2)", "0 3 3-9/7-13\n", "0 3 3 7\n0 4 4 8\n0 5 5 9\n0 6 6 10\n0 7 7 11\n0 8 8 12\n0 9 9 13\n"},
		{"three levels", "FT(3;2,2,2)", "0 0 2-3/0-1 4-5/0-1.1\n", "0 0 2 0\n0 1 3 1\n0 2 4 0.1\n0 3 5 1.1\n"},
	} {
		head := "\n# topology " + tt.head + "\n## rows\n\n"
		want, err := verify.Read(strings.NewReader("# evbench plan 1" + head + tt.lines))
		if err != nil {
			t.Fatal(err)
		}
		got, err := verify.Read(strings.NewReader("# evbench plan 1  compact" + head + tt.rows))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if !reflect.DeepEqual(got.Messages, want.Messages) {
			t.Errorf("%s: %v, want %v", tt.name, got.Messages, want.Messages)
		}
	}
}

func TestReadRowsErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no source", headRows + "0\n", `line 3: "": src is not a number`},
		{"word", headRows + "0 x 1\n", "src is not a number"},
		{"huge", headRows + "12345678 0 1\n", "phase is not a number of at most 7 digits"},
		{"no run", headRows + "0 0 \n", "line 3: no message"},
		{"dash", headRows + "0 0 -\n", `line 3: "-": a run is dst`},
		{"open range", headRows + "0 0 1-\n", `"1-": a run is`},
		{"backwards", headRows + "0 0 3-2\n", `"3-2": a run is`},
		{"no spine", headRows + "0 0 1 2/\n", `"2/": a run is`},
		{"dash for spine", headRows + "0 0 2/-\n", `"2/-": a run is`},
		{"fewer spines", headRows + "0 0 2-3/0\n", `"2-3/0": a run is`},
		{"spine too large", headRows + "0 0 2-3/32767-32768\n", "which are at most 32767"},
		{"run together", headRows + "0 0 1x\n", `"1x": a run is`},
		{"top on two levels", headRows + "0 0 2/1.0\n", `"2/1.0": a run is dst, dst/spine`},
		{"no top", strings.Replace(headRows, "FT(2;2,2)", "FT(3;2,2,2)", 1) + "0 0 4/1.\n", "between pods a spine is plane.top"},
		{"far source", headRows + "0 9999999 0-9999998\n", "src is larger than 16777216"},
		{"endless run", headRows + "0 0 0-9999998\n", "line 3: more than 65560 messages; all pairs of 4 servers are 12"},
		{"endless runs", headRows + strings.Repeat("0 0 1-3\n", 30000), "more than 65560 messages"},
		{"late header", headRows + "0 0 1\n# phases 3\n", "line 4: \"# phases 3\": header lines come before"},
	} {
		_, err := verify.Read(strings.NewReader(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	for _, text := range []string{headRows + "0 0 1-3\n", head + "0 0 1 -\n0 1 2 0\n0 2 3 -\n"} {
		if _, err := verify.ReadAtMost(strings.NewReader(text), 2); err == nil || !strings.Contains(err.Error(), "more than 2 messages: there is no room") {
			t.Errorf("three messages where two have room: error %v", err)
		}
	}
}

func zip(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, text)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A packed file is read; one that is cut off or damaged anywhere is an error about that.
func TestReadGzip(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for _, d := range drafts(t, 2, 3) {
		for _, text := range []string{d.text(), string(d.json(t))} {
			file := zip(t, text)
			want, err := verify.Read(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := verify.Read(iotest.OneByteReader(bytes.NewReader(file)))
			if err != nil || !reflect.DeepEqual(got.Messages, want.Messages) {
				t.Fatalf("error %v", err)
			}
			for _, n := range []int{2, 3, 12, len(file) / 2, len(file) - 8, len(file) - 1} {
				if _, err := verify.Read(bytes.NewReader(file[:n])); err == nil || !strings.Contains(err.Error(), "the gzip data ends too early") {
					t.Fatalf("cut to %d of %d bytes: error %v", n, len(file), err)
				}
			}
			file[len(file)-8+rng.IntN(8)] ^= 1 // of checksum and length
			if _, err := verify.Read(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), "the gzip data is damaged") {
				t.Fatalf("damaged: error %v", err)
			}
		}
	}
	if _, err := verify.Read(bytes.NewReader(zip(t, ""))); err == nil || !strings.Contains(err.Error(), "empty: a plan file") {
		t.Errorf("an empty file: error %v", err)
	}
	if _, err := verify.Read(strings.NewReader("\x1f\x8bnonsense")); err == nil || !strings.Contains(err.Error(), "the gzip data") {
		t.Errorf("no gzip: error %v", err)
	}
}
