package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evbench/testing/expect"
)

var oddWords = []string{"plain", "", "two words", "it's", `a"b`, `back\slash`, "$HOME", "`id`", "a;b", "*", "~", "new\nline", "-o", "ä", `\'`, `'"'"'`}

// A shell reads back what was quoted, word by word.
func TestQuote(t *testing.T) {
	var quoted []string
	for _, w := range oddWords {
		quoted = append(quoted, quoteWord(w))
	}
	for _, script := range []string{
		`printf "%s\0" ` + strings.Join(quoted, " "),
		inShell(`printf "%s\0" ` + doubleQuote(oddWords)),
	} {
		out, err := exec.Command("sh", "-c", script).Output()
		expect.Must(t, err, "%s", script)
		got := strings.Split(string(out), "\x00")
		expect.True(t, strings.Join(got[:len(got)-1], "|") == strings.Join(oddWords, "|"), "%s: %q", script, got)
	}
}

// Scripts are one line without what csh and fish read otherwise.
func TestScriptsSuitEveryShell(t *testing.T) {
	r := remote{dir: "/x", sum: strings.Repeat("0", 64)}
	for _, s := range []string{r.probe([]string{"--port", "1"}), r.receive("u"), r.worker([]string{"--id", "1"})} {
		expect.True(t, !strings.ContainsAny(s, "'!\n") && !strings.Contains(s, `\\`), "not for every shell: %s", s)
	}
}

func TestRemoteDir(t *testing.T) {
	for dir, want := range map[string]string{
		".evbench": ".evbench", "/scratch/x": "/scratch/x", "~/x": "x", "~": ".", "~/": ".", "~root/x": "", "-x": "",
	} {
		got, err := remoteDir(dir)
		expect.True(t, got == want && (err != nil) == (want == ""), "%s: %q, %v", dir, got, err)
	}
	expect.Equal(t, (remote{dir: "x", sum: strings.Repeat("a", 64)}).binary(), "./x/evbench-aaaaaaaaaaaa", "")
}

func TestWithoutHost(t *testing.T) {
	for said, want := range map[string]string{
		"ssh: connect to host 10.0.0.3 port 22: Connection refused":        "ssh: connect to host … port 22: Connection refused",
		"ssh: Could not resolve hostname n3: Name or service not known":    "ssh: Could not resolve hostname …: Name or service not known",
		"u@n3: Permission denied (publickey).":                             "u@…: Permission denied (publickey).",
		"mkdir: cannot create directory '/n3/x': Permission denied":        "mkdir: cannot create directory '/n3/x': Permission denied",
		"kex_exchange_identification: read: Connection reset by peer\r\nA": "kex_exchange_identification: read: Connection reset by peer\nA",
	} {
		expect.Equal(t, withoutHost(said, "n3"), want, "without the host")
	}
}

func TestReadProbe(t *testing.T) {
	for _, tt := range []struct {
		said, err, system string
		free              int64
		answer            bool
	}{
		{said: "hello\nevbench-probe 1\nsystem Linux x86_64\nspace /dev/sda1 9 8 7654 5% /\ncopy\n", system: "Linux x86_64", free: 7654},
		{said: "evbench-probe 1\nsystem Linux x86_64\nspace some fs - - 12 3% /a b\ncopy\n", system: "Linux x86_64", free: 12},
		{said: "evbench-probe 1\nsystem Linux x86_64\nspace odd\ncopy\n", system: "Linux x86_64", free: -1},
		{said: "evbench-probe 1\nsystem Linux x86_64\nready\n{\"schema\":\"s\"}\n", system: "Linux x86_64", free: -1, answer: true},
		{said: "evbench-probe 1\nsystem Linux x86_64\nready\nsegfault", system: "Linux x86_64", free: -1, err: `evbench host printed "segfault"`},
		{said: "evbench-probe 1\nsystem", free: -1, err: `the answer ends with "system"`},
		{said: "This account is closed.\n", free: -1, err: "its shell does not run a command"},
	} {
		r := Report{FreeKiB: -1}
		err := r.read(tt.said)
		expect.ErrorIf(t, err, tt.err)
		expect.True(t, r.System == tt.system && r.FreeKiB == tt.free && (r.Answer != nil) == tt.answer, "%q: %+v", tt.said, r)
	}
}

// The binary is there whole or not at all.
func TestReceive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	expect.Must(t, os.Mkdir(dir, 0o755))
	binary := []byte("#!/bin/sh\necho \"$@\"\n")
	sum := sha256.Sum256(binary)
	r := remote{dir: dir, sum: hex.EncodeToString(sum[:])}
	send := func(b []byte) (string, error) {
		cmd := exec.Command("sh", "-c", inShell(r.receive("unique")))
		cmd.Stdin = bytes.NewReader(b)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	probe := func() string {
		cmd := exec.Command("sh", "-c", inShell(r.probe([]string{"--network", "a b"})))
		cmd.Stdin = strings.NewReader("\n")
		out, err := cmd.CombinedOutput()
		expect.MustTrue(t, err == nil, "%v: %s", err, out)
		return string(out)
	}
	said := probe()
	expect.False(t, !strings.HasSuffix(said, "%\ncopy\n") && !strings.HasSuffix(said, "\ncopy\n"), "without a binary: %s", said)
	if said, err := send(binary[:5]); err == nil || !strings.Contains(said, "damaged on its way") {
		t.Errorf("half a binary: %v: %s", err, said)
	}
	left, err := os.ReadDir(dir)
	expect.True(t, err == nil && len(left) == 0, "left behind: %v, %v", left, err)
	expect.Equal(t, expect.Value(send(binary))(t), "", "said of the binary")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if said := probe(); !strings.HasSuffix(said, "\nready\nhost --json --network a b\n") {
		t.Errorf("with the binary: %s", said)
	}
	expect.Must(t, os.WriteFile(r.binary(), []byte("other"), 0o755))
	if said := probe(); !strings.HasSuffix(said, "copy\n") {
		t.Errorf("with another binary: %s", said)
	}
}
