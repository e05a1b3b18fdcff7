package wrapped

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// TestPorts: connections leave from the ports of the plan, others as before, and the library says which is which.
func TestPorts(t *testing.T) {
	program := checked(t, "-pthread", "testdata/ports.c", "c/ports.c", "c/next.c", "c/reason.c", "-ldl")
	open := func(at string) (net.Listener, string) {
		l := expect.Value(net.Listen("tcp4", at))(t)
		t.Cleanup(func() { l.Close() })
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return l, port
	}
	_, to := open("127.0.0.2:0")
	_, elsewhere := open("127.0.0.2:0")
	open("127.0.0.3:" + to)
	_, held := open("127.0.0.1:0")
	_, two := open("127.0.0.9:0") // numbers that are free on 127.0.0.1
	_, three := open("127.0.0.9:0")
	plan := fmt.Sprintf("# evbench plan 4\n# hosts 4\n# x-host 0 a 127.0.0.1\n# x-host 1 b 127.0.0.2\n# x-host 2 c 127.0.0.3\n# x-host 3 d 127.0.0.4\n"+
		"# x-port %s\n# x-spare 0 2 %s\n# phases 1\n# hash x\n0 0 1 %s\n0 1 0 %s\n0 0 2 %s\n0 0 3 -\n", to, three, two, two, held)
	file := filepath.Join(t.TempDir(), "plan.txt")
	expect.Must(t, os.WriteFile(file, []byte(plan), 0o600))
	for _, tt := range []struct{ do, want string }{
		{"connect 127.0.0.2 " + to, "connect " + two + "\nports 1 1 a to b\nports 0 1 a to c\n"},
		{"address 127.0.0.2 " + to, "address " + two + "\nports 1 1 a to b\n"},
		{"six 127.0.0.2 " + to, "six " + two + "\nports 1 1 a to b\n"},
		{"connect 127.0.0.3 " + to, "connect " + three + "\nports 0 1 a to b\nports 2 1 a to c\n"},
		{"threads 127.0.0.3 " + to, "threads 1\nports 0 1 a to b\nports 3 1 a to c\n"},
		{"asked 127.0.0.2 " + to, "asked N\nports 4 1 a to b\n"},
		{"port 127.0.0.2 " + to, "port N\nports 4 1 a to b\n"},
		{"connect 127.0.0.2 " + elsewhere, "connect N\nports 5 1 a to b\n"},
		{"udp 127.0.0.2 " + to, "udp N\nports 0 1 a to b\n"},
		{"listen", "listen " + to + "\n"},
	} {
		cmd := exec.Command(program, strings.Fields(tt.do)...)
		cmd.Env = []string{"EVBENCH_PORTS=" + file}
		got := string(expect.Value(cmd.CombinedOutput())(t))
		for _, port := range []string{to, two, three} { // any other is N
			tt.want, got = strings.ReplaceAll(tt.want, " "+port+"\n", " #"+port+"\n"), strings.ReplaceAll(got, " "+port+"\n", " #"+port+"\n")
		}
		got = regexp.MustCompile(`(?m)^(\w+) [0-9]{4,5}$`).ReplaceAllString(got, "$1 N")
		expect.True(t, strings.HasPrefix(got, tt.want), "%s: %s\nwant %s", tt.do, got, tt.want)
		cmd = exec.Command(program, strings.Fields(tt.do)...) // without a plan nothing is steered, and nothing said
		got = string(expect.Value(cmd.CombinedOutput())(t))
		expect.True(t, !strings.Contains(got, "ports") && !strings.Contains(got, two), "%s without a plan: %s", tt.do, got)
	}
	cmd := exec.Command(program, "connect", "127.0.0.2", to)
	cmd.Env = []string{"EVBENCH_PORTS=" + file + ".gone"}
	got := string(expect.Value(cmd.CombinedOutput())(t))
	expect.True(t, strings.Contains(got, "plan.txt.gone cannot be read on this host: its connections leave from any port"), "%s", got)
}

// TestPortsOverIPv6: likewise where hosts have addresses of IPv6, of which one leads to this one again.
func TestPortsOverIPv6(t *testing.T) {
	need.Namespaces(t)
	program := checked(t, "-pthread", "testdata/ports.c", "c/ports.c", "c/next.c", "c/reason.c", "-ldl")
	file := filepath.Join(t.TempDir(), "plan.txt")
	expect.Must(t, os.WriteFile(file, []byte("# evbench plan 4\n# hosts 2\n# x-host 0 a fd00::1\n# x-host 1 b fd00::2\n# x-port 7100\n0 0 1 20011\n0 1 0 20011\n"), 0o600))
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--net", "sh", "-c",
		"ip link set lo up && ip -6 address add fd00::1/128 dev lo && ip -6 route add local fd00::2/128 dev lo && exec $0 six fd00::2 7100", program)
	cmd.Env = append(os.Environ(), "EVBENCH_PORTS="+file)
	expect.Equal(t, string(expect.Value(cmd.CombinedOutput())(t)), "six 20011\nports 1 1 a to b\n", "what it says")
}
