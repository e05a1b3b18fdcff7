package host

import (
	"strings"
	"testing"
	"time"

	"evbench/testing/expect"
)

var want = Needs{System: "Linux x86_64", Version: "v1", Bytes: 10 << 20, Dir: ".evbench"}

// report is what a good host says, asked for so long.
func report(host string, took time.Duration, change func(*Report)) Report {
	asked := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	r := Report{
		Host: host, System: want.System, FreeKiB: -1, Asked: asked, Answered: asked.Add(took),
		Answer: &Answer{Schema: HostSchema, Version: want.Version, Clock: asked.Add(took / 2)},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestJudge(t *testing.T) {
	clock := func(off time.Duration) func(*Report) {
		return func(r *Report) { r.Answer.Clock = r.Answer.Clock.Add(off) }
	}
	ports := func(p ...Port) func(*Report) {
		return func(r *Report) { r.Answer.Ports = p }
	}
	for _, tt := range []struct {
		name   string
		report Report
		want   string // "": good
	}{
		{"good", report("n1", time.Second, ports(Port{Port: 7000, Free: true})), ""},
		{"silent", report("n1", 0, func(r *Report) { r.Err, r.Answer = "ssh: no", nil }), "ssh: no"},
		{"nothing said", report("n1", 0, func(r *Report) { r.Answer = nil }), "it did not say anything"},
		{"system", report("n1", 0, func(r *Report) { r.System = "Linux aarch64" }), "it is Linux aarch64, and this binary is for Linux x86_64"},
		{"version", report("n1", 0, func(r *Report) { r.Answer.Version = "v0" }), "evbench there is v0 (evbench/host/1), here v1 (evbench/host/1)"},
		{"no space", report("n1", 0, func(r *Report) { r.Answer, r.FreeKiB = nil, 4 }), ".evbench has 4 KiB free, the binary needs 10240"},
		{"space that is not needed", report("n1", 0, func(r *Report) { r.FreeKiB = 4 }), ""},
		{"a second", report("n1", 0, clock(time.Second)), ""},
		{"ahead", report("n1", 0, clock(1600*time.Millisecond)), "the clock is about 2s ahead of that of this machine"},
		{"behind", report("n1", 0, clock(-time.Hour)), "the clock is about 1h0m0s behind that of this machine"},
		{"a slow answer excuses", report("n1", 2*time.Second, clock(1900*time.Millisecond)), ""},
		{"but not more", report("n1", 2*time.Second, clock(2100*time.Millisecond)), "the clock is about 2s ahead of that of this machine"},
		{"address", report("n1", 0, func(r *Report) { r.Answer.AddressError = "no interface ib0; there are lo" }), "no interface ib0; there are lo"},
		{"ports", report("n1", 0, ports(Port{Port: 1, Error: "in use"}, Port{Port: 2, Error: "in use"}, Port{Port: 3, Error: "denied"})),
			"ports [1-2]: in use; port 3: denied"},
		{"two reasons", report("n1", 0, func(r *Report) { clock(time.Minute)(r); ports(Port{Port: 7, Error: "in use"})(r) }),
			"the clock is about 1m0s ahead of that of this machine; port 7: in use"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range Judge([]Report{report("n0", 0, nil), tt.report}, want) {
				expect.True(t, p.Host == "n1", "%s: %s", p.Host, p.Reason)
				got = append(got, p.Reason)
			}
			expect.True(t, strings.Join(got, "; ") == tt.want, "%q, want %q", got, tt.want)
		})
	}
}

// One message has all hosts, by reason; a host with two reasons counts once.
func TestBadHosts(t *testing.T) {
	err := &BadHosts{What: "cannot be used", Total: 16, Problems: []Problem{
		{Host: "node003", Reason: "refused"}, {Host: "node009", Reason: "port 7000: in use"}, {Host: "node004", Reason: "refused"},
		{Host: "node003", Reason: "refused"}, {Host: "node004", Reason: "two\nlines"},
	}}
	want := "3 of 16 hosts cannot be used:\n  node[003-004]: refused\n  node009: port 7000: in use\n  node004: two\n    lines"
	got := err.Error()
	expect.True(t, got == want, "%s\nwant\n%s", got, want)
}

func TestReach(t *testing.T) {
	here := []string{"127.0.0.1", "10.0.0.1", "10.9.0.1", "fd00::1"}
	for _, tt := range []struct{ from, want string }{
		{"10.0.0.1 10.9.0.1", "10.0.0.1"},
		{"127.0.0.1 10.9.0.1", "10.9.0.1"}, // the first host is this machine
		{"127.0.0.1 127.0.0.1", "127.0.0.1"},
		{"::1", "::1"},
		{"fd00::1", "fd00::1"},
		{"192.168.7.7 10.0.0.1", ""}, // a jump host
		{"127.0.0.1 192.168.7.7", ""},
		{"- 10.0.0.1", "10.0.0.1"}, // no answer
		{"", ""},
	} {
		var reports []Report
		for _, from := range strings.Fields(tt.from) {
			r := report("n", 0, func(r *Report) { r.Answer.ReachedFrom = from })
			if from == "-" {
				r.Answer = nil
			}
			reports = append(reports, r)
		}
		expect.Equal(t, Reach(reports, here), tt.want, "%s", tt.from)
	}
}

func TestCounted(t *testing.T) {
	servers := expect.Value(Place(tree(t, 2, 2).Shape, []string{"b", "a", "b", "b"}, nil))(t)
	expect.Equal(t, Counted(servers), []Host{{Host: "b", Servers: 3}, {Host: "a", Servers: 1}}, "hosts counted")
}

// TestLacks: kernels before 5.8 lack what asks for paths by ports; where the version is not known nothing is said.
func TestLacks(t *testing.T) {
	for kernel, want := range map[string]bool{
		"Linux 4.18.0-553.el8_10.x86_64": true, "Linux 5.7.19": true, "Linux 5.8.0": false, "Linux 5.14.0-427.el9": false, "Linux 6.18.44-fc-v595": false, "Linux": false, "linux": false, "": false,
	} {
		expect.Equal(t, lacks(kernel) != "", want, "%q: %q", kernel, lacks(kernel))
	}
	var out strings.Builder
	expect.Must(t, Answer{Facts: Facts{Kernel: "Linux 5.4.0"}}.WriteText(&out))
	expect.Contains(t, out.String(), "paths    Linux 5.4.0 is older than 5.8, which tells connections what switches answer: evbench paths may find none here")
}
