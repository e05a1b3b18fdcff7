package host

import (
	"encoding/json"
	"strings"
	"testing"

	"evbench/internal/expect"
)

// FuzzReadProbe: whatever a host says, its report is one line for each fact, and an error is short.
func FuzzReadProbe(f *testing.F) {
	answer, err := json.Marshal(Answer{})
	expect.Must(f, err)
	begin := "welcome\n" + probeBegin + "\n" + probeSystem + "Linux x86_64\n" + probeSpace + "/dev/x 100 1 99 1% /tmp\n"
	f.Add(begin + probeReady + "\n" + string(answer))
	f.Add(begin + probeCopy + "\n")
	f.Add(begin + probeReady + "\n{\"clock\":\"" + strings.Repeat("x", 5000) + "\"}")
	f.Add("login:")
	f.Fuzz(func(t *testing.T, said string) {
		r := Report{FreeKiB: -1}
		err := r.read(said)
		if err != nil && len(err.Error()) > 4000 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		expect.MustTrue(t, !strings.Contains(r.System, "\n") && r.FreeKiB >= -1, "%q: %+v", said, r)
		if err == nil && !strings.Contains(said, probeBegin) {
			t.Fatalf("%q was taken for an answer", said)
		}
	})
}
