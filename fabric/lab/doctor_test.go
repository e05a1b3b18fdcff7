package lab

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestCure(t *testing.T) {
	for _, test := range []struct {
		name  string
		check string
		mode  Mode
		why   refusal
		f     facts
		want  string // in the cure; "" means no cure
	}{
		{"a user is not root", checkNetwork, Direct, denied, facts{}, ""},
		{"root without capabilities", checkNetwork, Direct, denied, facts{Root: true}, "CAP_NET_ADMIN"},
		{"root of a container", checkNetwork, Direct, denied, facts{Root: true, Container: true}, "--cap-add SYS_ADMIN"},
		{"Debian's switch", checkUser, UserNamespace, denied, facts{UsernsClone: "0", AppArmor: "1"}, "kernel.unprivileged_userns_clone=1"},
		{"Ubuntu's switch", checkUser, UserNamespace, denied, facts{AppArmor: "1"}, "kernel.apparmor_restrict_unprivileged_userns=0"},
		{"Ubuntu's switch, found later", checkVeth, UserNamespace, denied, facts{UsernsClone: "1", AppArmor: "1"}, "kernel.apparmor_restrict_unprivileged_userns=0"},
		{"no user namespaces", checkUser, UserNamespace, denied, facts{MaxUser: "0"}, "user.max_user_namespaces"},
		{"in a container", checkUser, UserNamespace, denied, facts{Container: true}, "seccomp=unconfined"},
		{"seccomp filter", checkUser, UserNamespace, denied, facts{Seccomp: true}, "seccomp=unconfined"},
		{"nothing known", checkUser, UserNamespace, denied, facts{}, "security module"},
		{"limit of users", checkUser, UserNamespace, noSpace, facts{MaxUser: "3", MaxNet: "4"}, "user.max_net_namespaces=15000 (now 3 and 4)"},
		{"limit of networks", checkNetwork, Direct, noSpace, facts{MaxNet: "2"}, "user.max_net_namespaces=15000 (now 2)"},
		{"no tbf", checkBucket, Direct, unsupported, facts{}, "modprobe sch_tbf"},
		{"no veth", checkVeth, UserNamespace, unsupported, facts{}, "modprobe veth"},
		{"no multipath", checkMultipath, Direct, unsupported, facts{}, "CONFIG_IP_ROUTE_MULTIPATH"},
		{"read-only", checkSysctl, Direct, readOnly, facts{Container: true}, "read-only"},
		{"anything else", checkSysctl, Direct, other, facts{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := cure(test.check, test.mode, test.why, test.f)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("cure %q, want %q", got, test.want)
			}
		})
	}
}

func TestReport(t *testing.T) {
	r := Report{Mode: Refused, System: "Linux 6.1", Checks: []Check{
		{Name: checkNetwork, Mode: Direct, Reason: "operation not permitted"},
		{Name: checkUser, Mode: UserNamespace, OK: true},
		{Name: checkVeth, Mode: UserNamespace, Reason: "operation not supported", Cure: "modprobe veth"},
		{Name: checkBucket, Mode: UserNamespace, Reason: "no such file or directory", Cure: "modprobe sch_tbf"},
	}}
	const text = `lab: cannot run here (Linux 6.1)
  no    direct          create a network namespace: operation not permitted
  ok    user namespace  create a user namespace
  no    user namespace  create a veth pair: operation not supported
                        cure: modprobe veth
  no    user namespace  limit its rate (tbf): no such file or directory
                        cure: modprobe sch_tbf
`
	if got := r.String(); got != text {
		t.Errorf("got\n%swant\n%s", got, text)
	}
	const line = "lab: this system refuses what it needs: direct: create a network namespace: operation not permitted; " +
		"user namespace: create a veth pair: operation not supported (cure: modprobe veth)"
	if err := r.Err(); err == nil || err.Error() != line {
		t.Errorf("got  %v\nwant %s", err, line)
	}
	r.Mode = UserNamespace
	if !strings.HasPrefix(r.String(), "lab: can run here, in a user namespace (Linux 6.1)\n") || r.Err() != nil {
		t.Errorf("a user namespace does: %v, %v", r, r.Err())
	}
}

func TestParseProbe(t *testing.T) {
	checks := []Check{{Name: checkVeth, Mode: UserNamespace, OK: true}}
	text, err := json.Marshal(checks)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := parseProbe(text); err != nil || !reflect.DeepEqual(got, checks) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := parseProbe([]byte("usage: evbench")); err == nil {
		t.Error("no error for something else")
	}
}
