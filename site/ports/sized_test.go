package ports

import (
	"strings"
	"testing"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
)

// TestNoPhases: what needs phases refuses a plan of sizes by name.
func TestNoPhases(t *testing.T) {
	x := expect.Value(NewExchange(surveyed(t, 4, 2, 2), Roles{}))(t)
	f := expect.Value(judge.Read(strings.NewReader(judge.First + "\n# hosts 4\n# paths sha256:0\n# sizes sha256:0\n0 0 1 - 5\n")))(t)
	expect.Error(t, (&Plan{x: x}).take(f), "its fragments differ in size, so it has no phases")
}
