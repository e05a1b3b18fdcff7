package hosts_test

import (
	"slices"
	"strings"
	"testing"

	"evbench/fabric/hosts"
)

func TestExpand(t *testing.T) {
	got, err := hosts.Expand("node[001-326],gw[1,3-5],gw1")
	if err != nil || len(got) != 331 || got[325] != "node326" || got[330] != "gw1" {
		t.Errorf("%d hosts, %v", len(got), err)
	}
	got, err = hosts.Expand("n[1-2].cluster.example,10.0.0.[7-8],fd00::1,n[9-10]-ib0")
	want := strings.Fields("n1.cluster.example n2.cluster.example 10.0.0.7 10.0.0.8 fd00::1 n9-ib0 n10-ib0")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, tt := range []struct{ list, want string }{
		{"", "a name is missing"},
		{"node[1-", "has no ]"},
		{"-oProxyCommand", `host "-oProxyCommand": the name of a host does not begin with -`},
		{"a,-b", `host "-b": the name of a host does not begin with -`},
		{"a;reboot", `host "a;reboot": ';' cannot be in the name of a host`},
		{"$(x)", "no name has the character"},
		{"a@b", `'@' cannot be in the name of a host`},
		{"a[1-60000],b[1-60000]", "120000 hosts; at most 65536"},
		{strings.Repeat("x", 254), "longer than 253"},
	} {
		if got, err := hosts.Expand(tt.list); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40s: %d hosts, %v; want %s", tt.list, len(got), err, tt.want)
		}
	}
}
