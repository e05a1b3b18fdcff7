package lab

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"evbench/testing/expect"
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
		{"a user is not root", checkNetwork, modeDirect, denied, facts{}, ""},
		{"root without capabilities", checkNetwork, modeDirect, denied, facts{Root: true}, "CAP_NET_ADMIN"},
		{"root of a container", checkNetwork, modeDirect, denied, facts{Root: true, Container: true}, "--cap-add SYS_ADMIN"},
		{"Debian's switch", checkUser, modeUserNamespace, denied, facts{UsernsClone: "0", AppArmor: "1"}, "kernel.unprivileged_userns_clone=1"},
		{"Ubuntu's switch", checkUser, modeUserNamespace, denied, facts{AppArmor: "1"}, "kernel.apparmor_restrict_unprivileged_userns=0"},
		{"Ubuntu's switch, found later", checkVeth, modeUserNamespace, denied, facts{UsernsClone: "1", AppArmor: "1"}, "kernel.apparmor_restrict_unprivileged_userns=0"},
		{"no user namespaces", checkUser, modeUserNamespace, denied, facts{MaxUser: "0"}, "user.max_user_namespaces"},
		{"in a container", checkUser, modeUserNamespace, denied, facts{Container: true}, "seccomp=unconfined"},
		{"seccomp filter", checkUser, modeUserNamespace, denied, facts{Seccomp: true}, "seccomp=unconfined"},
		{"nothing known", checkUser, modeUserNamespace, denied, facts{}, "security module"},
		{"limit of users", checkUser, modeUserNamespace, noSpace, facts{MaxUser: "3", MaxNet: "4"}, "user.max_net_namespaces=15000 (now 3 and 4)"},
		{"limit of networks", checkNetwork, modeDirect, noSpace, facts{MaxNet: "2"}, "user.max_net_namespaces=15000 (now 2)"},
		{"no tbf", checkBucket, modeDirect, unsupported, facts{}, "modprobe sch_tbf"},
		{"no veth", checkVeth, modeUserNamespace, unsupported, facts{}, "modprobe veth"},
		{"no multipath", checkMultipath, modeDirect, unsupported, facts{}, "CONFIG_IP_ROUTE_MULTIPATH"},
		{"read-only", checkSysctl, modeDirect, readOnly, facts{Container: true}, "read-only"},
		{"anything else", checkSysctl, modeDirect, other, facts{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := cure(test.check, test.mode, test.why, test.f)
			expect.True(t, (got == "") == (test.want == "") && strings.Contains(got, test.want), "cure %q, want %q", got, test.want)
		})
	}
}

func TestReport(t *testing.T) {
	r := Report{Mode: modeRefused, System: "Linux 6.1", Checks: []Check{
		{Name: checkNetwork, Mode: modeDirect, Reason: "operation not permitted"},
		{Name: checkUser, Mode: modeUserNamespace, OK: true},
		{Name: checkVeth, Mode: modeUserNamespace, Reason: "operation not supported", Cure: "modprobe veth"},
		{Name: checkBucket, Mode: modeUserNamespace, Reason: "no such file or directory", Cure: "modprobe sch_tbf"},
	}}
	const text = `  no    direct          create a network namespace: operation not permitted
  ok    user namespace  create a user namespace
  no    user namespace  create a veth pair: operation not supported
                        cure: modprobe veth
  no    user namespace  limit its rate (tbf): no such file or directory
                        cure: modprobe sch_tbf
`
	got := r.String()
	expect.True(t, got == text, "got\n%swant\n%s", got, text)
	a := r.Answer()
	expect.True(t, a.String() == "BAD: A lab cannot run here (Linux 6.1): user namespace: create a veth pair: operation not supported." && len(a.Why) == 1 && len(a.Next) == 1, "%+v", a)
	const line = "lab: this system refuses what it needs: direct: create a network namespace: operation not permitted; " +
		"user namespace: create a veth pair: operation not supported (cure: modprobe veth)"
	if err := r.err(); err == nil || err.Error() != line {
		t.Errorf("got  %v\nwant %s", err, line)
	}
	r.Mode = modeUserNamespace
	if a := r.Answer(); a.String() != "GOOD: A lab can run here, in a user namespace, without root (Linux 6.1)." || r.err() != nil {
		t.Errorf("a user namespace does: %v, %v", a, r.err())
	}
}

func TestParseProbe(t *testing.T) {
	checks := []Check{{Name: checkVeth, Mode: modeUserNamespace, OK: true}}
	text := expect.Value(json.Marshal(checks))(t)
	got, err := parseProbe(text)
	expect.True(t, err == nil && reflect.DeepEqual(got, checks), "got %v, %v", got, err)
	expect.True(t, expect.Err(parseProbe([]byte("usage: evbench"))) != nil, "no error for something else")
}
