package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/topology"
)

func tree(t *testing.T, ports, leaves int, fill ...int) *topology.Tree {
	t.Helper()
	tr := expect.Value(topology.New(topology.Options{Ports: ports, Leaves: leaves, Fill: fill}))(t)
	return tr
}

func expand(t *testing.T, list string) []string {
	t.Helper()
	out := expect.Value(Expand(list))(t)
	return out
}

// placed writes servers as "host:nth", in order of rank.
func placed(servers []Server) string {
	var out []string
	for rank, s := range servers {
		if s.Rank != rank {
			out = append(out, fmt.Sprintf("rank %d at %d", s.Rank, rank))
		}
		out = append(out, fmt.Sprintf("%s:%d", s.Host, s.Nth))
	}
	return strings.Join(out, " ")
}

// cabled has a switch of each name, with these hosts.
func cabled(t *testing.T, switches map[string]string, order ...string) *Placement {
	t.Helper()
	var all []Switch
	for _, name := range order {
		all = append(all, Switch{name, strings.Split(switches[name], ",")})
	}
	return expect.Value(Cabled(all))(t)
}

func readPlacement(t *testing.T, text string) *Placement {
	t.Helper()
	expect.MustTrue(t, IsPlacement([]byte(text)), "not taken for a placement: %s", text)
	p := expect.Value(ReadPlacement([]byte(text)))(t)
	return p
}

func TestPlace(t *testing.T) {
	net := map[string]string{
		"switch10": "n3 HCA-1,n4 HCA-1", "switch9": "n1 mlx5_0,n2 mlx5_0", "switch11": "n5.x HCA-1,n6.x HCA-1",
	}
	order := []string{"switch11", "switch10", "switch9"}
	for _, tt := range []struct {
		name  string
		tree  *topology.Tree
		hosts string
		p     *Placement
		want  string
	}{
		{"in order", tree(t, 2, 2), "n[1-4]", nil, "n1:0 n2:0 n3:0 n4:0"},
		{"one host for all", tree(t, 2, 2), "n1,n1,n1,n1", nil, "n1:0 n1:1 n1:2 n1:3"},
		{"some leaves are not full", tree(t, 2, 3, 1, 0, 2), "a,b,a", nil, "a:0 b:0 a:1"},
		{"leaves", tree(t, 2, 2), "n[1-4]", readPlacement(t, "leaf0: [n4, n2]\nleaf1: 'n[1,3]'"), "n2:0 n4:0 n1:0 n3:0"},
		{"a list of leaves", tree(t, 2, 2), "n[1-4]", readPlacement(t, "- n[3-4]\n- [n1, n2]"), "n3:0 n4:0 n1:0 n2:0"},
		{"more leaves than are used", tree(t, 2, 2), "n[1-4]", readPlacement(t, "- [n1, n2]\n- [n3, n4]\n- [n5]"), "n1:0 n2:0 n3:0 n4:0"},
		{"a leaf without servers", tree(t, 2, 3, 1, 0, 1), "a,b", readPlacement(t, "leaf0: [b]\nleaf1:\nleaf2: [a]"), "b:0 a:0"},
		{"a host twice", tree(t, 2, 2), "a,b,b,a", readPlacement(t, "leaf1: [a]\nleaf0: [b]"), "b:0 b:1 a:0 a:1"},
		{"cables", tree(t, 2, 3), "n[1-6]", cabled(t, net, order...), "n1:0 n2:0 n3:0 n4:0 n5:0 n6:0"},
		{"some switches", tree(t, 2, 2), "n[5-6],n[1-2]", cabled(t, net, order...), "n1:0 n2:0 n5:0 n6:0"},
		{"as many switches as leaves", tree(t, 2, 3, 0, 2, 1), "n[3-5]", cabled(t, net, order...), "n3:0 n4:0 n5:0"},
		{"with domain", tree(t, 2, 1), "n1.cluster,n2.cluster", cabled(t, net, order...), "n1.cluster:0 n2.cluster:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Place(tt.tree.Shape, expand(t, tt.hosts), tt.p)
			if err != nil || placed(got) != tt.want {
				t.Errorf("%s, %v; want %s", placed(got), err, tt.want)
			}
		})
	}
}

func TestPlaceRefuses(t *testing.T) {
	net := map[string]string{"s1": "n1,n2", "s2": "n3,n4", "s3": "n5"}
	order := []string{"s1", "s2", "s3"}
	for _, tt := range []struct {
		name  string
		tree  *topology.Tree
		hosts string
		p     *Placement
		want  string
	}{
		{"too few", tree(t, 4, 4), "n[1-12]", nil, "hosts: 12 names for 16 servers of FT(2;4,4)"},
		{"too many", tree(t, 2, 1), "n[1-3]", nil, "hosts: 3 names for 2 servers of FT(2;2,1)"},
		{"strangers", tree(t, 2, 1), "n[8-9]", readPlacement(t, "- [n1]"), "placement does not name n[8-9]"},
		{"counts", tree(t, 2, 2), "n[1-4]", readPlacement(t, "- n[1-3]\n- n4"),
			"placement does not fit FT(2;2,2): leaf0 has 3 hosts for 2 servers: n[1-3]; leaf1 has 1 host for 2 servers: n4"},
		{"a missing leaf", tree(t, 2, 2), "n[1-4]", readPlacement(t, "- n[1-4]"), "leaf1 has 0 hosts for 2 servers"},
		{"a leaf too high", tree(t, 2, 2), "n[1-4]", readPlacement(t, "leaf0: n[1-2]\nleaf7: n[3-4]"), "n[3-4] is on leaf7; FT(2;2,2) has leaf0..leaf1"},
		{"switches", tree(t, 2, 2), "n[1-3],n5", cabled(t, net, order...), "the hosts are on 3 leaf switches (s[1-3]); FT(2;2,2) has servers on 2"},
		{"counts of switches", tree(t, 2, 2), "n1,n[3-4],n2", cabled(t, map[string]string{"s1": "n1", "s2": "n2,n3,n4"}, "s1", "s2"),
			"leaf0 (s1) has 1 host for 2 servers: n1; leaf1 (s2) has 3 hosts for 2 servers: n[2-4]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Place(tt.tree.Shape, expand(t, tt.hosts), tt.p)
			expect.Error(t, err, tt.want)
		})
	}
}

func TestReadPlacementRefuses(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "empty"},
		{"# nothing", "empty"},
		{"just text", `line 1: is the single value "just text"; write fields`},
		{"leaf0: [a]\nspine0: [b]", "line 2: spine0: is not a leaf; write leaf0"},
		{"leaf01: [a]", "line 1: leaf01: is not a leaf"},
		{"leaf9999999: [a]", "there are at most 4096 leaves"},
		{"leaf0: [a]\nleaf0: [b]", "line 2: leaf0: given twice; first on line 1"},
		{"leaf0: [a]\nleaf1: [b, a]", "line 2: leaf1[1]: placement: a is on leaf0 and on leaf1"},
		{"leaf0: {a: b}", "line 1: leaf0: is a group of fields; write a list"},
		{"{[a]: b}", "line 1: the name of a field is one word"},
		{"leaf0: ['n[3-1]']", "is neither a number nor a range"},
		{"leaf0: [a", "line 1"},
	} {
		_, err := ReadPlacement([]byte(tt.text))
		expect.Error(t, err, tt.want)
	}
	for _, network := range []string{"notation: FT(2;2,2)", "hosts: [a]\nswitches: {}", "vendid=0x2c9\ndevid=0xbd36\n", ""} {
		expect.True(t, !IsPlacement([]byte(network)), "taken for a placement: %s", network)
	}
}

// Names of two hosts that are the same without their domains find neither.
func TestShortNames(t *testing.T) {
	p := readPlacement(t, "- [n1.a, n3.a]\n- [n1.b, n2]")
	if got, err := Place(tree(t, 1, 2).Shape, []string{"n2.c", "n3"}, p); err != nil || placed(got) != "n3:0 n2.c:0" {
		t.Errorf("%s, %v", placed(got), err)
	}
	for _, h := range []string{"n1", "n1.c", "n3.b"} {
		if got, err := Place(tree(t, 1, 2).Shape, []string{h, "n2"}, p); err == nil || !strings.HasSuffix(err.Error(), "name "+h) {
			t.Errorf("%s: %s, %v", h, placed(got), err)
		}
	}
	expect.True(t, expect.Err(Place(tree(t, 2, 1).Shape, expand(t, "10.0.0.[2-3]"), readPlacement(t, "- [10.0.0.1, 10.0.0.2]"))) != nil,
		"10.0.0.3 was found by 10")
}

func FuzzReadPlacement(f *testing.F) {
	for _, s := range []string{"leaf0: [n1, n2]\nleaf1: n3", "- n[1-4]\n- [a, b]", "leaf0:", "{leaf0: [a]}", "leaf0: &x [a]\nleaf1: *x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPlacement(data)
		expect.MustFalse(t, err == nil && p == nil || err != nil && err.Error() == "", "%v, %v", p, err)
	})
}

func TestExpand(t *testing.T) {
	got, err := Expand("node[001-326],gw[1,3-5],gw1")
	expect.True(t, err == nil && len(got) == 331 && got[325] == "node326" && got[330] == "gw1", "%d hosts, %v", len(got), err)
	got, err = Expand("n[1-2].cluster.example,10.0.0.[7-8],fd00::1,n[9-10]-ib0")
	want := strings.Fields("n1.cluster.example n2.cluster.example 10.0.0.7 10.0.0.8 fd00::1 n9-ib0 n10-ib0")
	expect.True(t, err == nil && slices.Equal(got, want), "%v, %v; want %v", got, err, want)
}

func TestExpandRefuses(t *testing.T) {
	for _, tt := range []struct{ list, want string }{
		{"", "a name is missing"},
		{"node[1-", "has no ]"},
		{"-oProxyCommand", `host "-oProxyCommand": the name of a host does not begin with -`},
		{"a,-b", `host "-b": the name of a host does not begin with -`},
		{"a;reboot", `host "a;reboot": ';' cannot be in the name of a host`},
		{"$(x)", "no name has the character"},
		{"a@b", "write HOST@ADDRESS"}, {"@10.0.0.1", "write HOST@ADDRESS"}, {"a@10.0.0.1@10.0.0.2", "write HOST@ADDRESS"},
		{"a[1-60000],b[1-60000]", "120000 hosts; at most 65536"},
		{strings.Repeat("x", 254), "longer than 253"},
	} {
		_, err := Expand(tt.list)
		expect.Error(t, err, tt.want)
	}
}

// FuzzReadProbe: whatever a host says, its report is one line for each fact, and an error is short.
func FuzzReadProbe(f *testing.F) {
	answer := expect.Value(json.Marshal(Answer{}))(f)
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
		expect.MustFalse(t, err == nil && !strings.Contains(said, probeBegin), "%q was taken for an answer", said)
	})
}

// Adapters of a host are servers of its own name, on any leaves; one comes once, and hosts are not mixed with their adapters.
func TestPlaceAdapters(t *testing.T) {
	tr := tree(t, 2, 2)
	p := expect.Value(ReadPlacement([]byte("leaf0: [a@10.0.0.1, b@10.0.0.2]\nleaf1: [a@10.1.0.1, b@10.1.0.2]\n")))(t)
	servers := expect.Value(Place(tr.Shape, expand(t, "a@10.0.0.1,a@10.1.0.1,b@10.1.0.2,b@10.0.0.2"), p))(t)
	expect.Equal(t, placed(servers), "a:0 b:0 a:1 b:1", "servers")
	expect.True(t, servers[2].Name() == "a@10.1.0.1" && servers[2].Address == "10.1.0.1" && len(Counted(servers)) == 2, "%+v", servers)
	byHost := expect.Value(ReadPlacement([]byte("leaf0: a\nleaf1: b\n")))(t)
	servers = expect.Value(Place(tr.Shape, expand(t, "b@10.0.0.2,a@10.0.0.1,a@10.1.0.1,b@10.1.0.2"), byHost))(t)
	expect.Equal(t, placed(servers), "a:0 a:1 b:0 b:1", "servers of hosts whose leaf is named")
	for list, want := range map[string]string{
		"a@10.0.0.1,a@10.0.0.1,b,c": "hosts: adapter a@10.0.0.1 is named twice",
		"a@10.0.0.1,a,b,c":          "hosts: a is named with and without",
		"a,a,a@10.0.0.1,c":          "hosts: a is named with and without",
	} {
		expect.Error(t, expect.Err(Place(tr.Shape, expand(t, list), nil)), want)
	}
}

func TestTryPortsElsewhere(t *testing.T) {
	ports := TryPorts([]string{"192.0.2.1"}, 7, 1)
	expect.True(t, !ports[0].Free && ports[0].Error == "192.0.2.1:7: no address of this machine", "%+v", ports)
}
