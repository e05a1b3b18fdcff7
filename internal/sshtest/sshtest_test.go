package sshtest_test

import (
	"strings"
	"testing"

	"evbench/internal/sshtest"
)

// Every name leads to the server by its own address, and no further.
func TestHostsLeadToTheServer(t *testing.T) {
	s := sshtest.Start(t)
	for i, host := range s.Hosts[:2] {
		out, err := s.Command(host, "echo $SSH_CONNECTION").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", host, err, out)
		}
		if f := strings.Fields(string(out)); len(f) != 4 || f[2] != sshtest.Addr(i) {
			t.Errorf("%s: SSH_CONNECTION is %q, want address %s", host, out, sshtest.Addr(i))
		}
	}
	if out, err := s.Command(sshtest.Closed, "true").CombinedOutput(); err == nil || !strings.Contains(string(out), "Connection refused") {
		t.Errorf("%s: %v: %s", sshtest.Closed, err, out)
	}
}
