package scenario_test

import (
	"strings"
	"testing"

	"evbench/scenario"
	"evbench/testing/expect"
)

func TestRoles(t *testing.T) {
	const head = "topology: FT(2;4,4)\ncases: [{}]\n"
	for _, tt := range []struct{ text, want string }{
		{"readers: server16\n", `readers: readers "server16": FT(2;4,4) has server0..server15`},
		{"builders: spine0\n", `builders: builders "spine0": write servers and leaves`},
		{"builders: ''\n", "builders"},
		{"readers: server1\nbuilders: leaf0\n", "the only reader builds, too"},
	} {
		_, err := shapes.Read("x.yaml", strings.NewReader(head+tt.text))
		expect.Error(t, err, tt.want)
	}
	s := expect.Value(shapes.Read("x.yaml", strings.NewReader(head+"readers: leaf0-2\nbuilders: leaf3\n")))(t)
	expect.True(t, s.Tree.Readers() == 12 && s.Tree.Builders() == 4, "%d readers, %d builders", s.Tree.Readers(), s.Tree.Builders())
	expect.OK(t, s.Override(scenario.Overrides{"readers": "leaf0", "builders": "leaf1-3"}))
	expect.True(t, s.Tree.Readers() == 4 && s.Tree.Builders() == 12, "overridden: %d readers, %d builders", s.Tree.Readers(), s.Tree.Builders())
	expect.Error(t, s.Override(scenario.Overrides{"readers": "leaf9"}), "--readers")
}
