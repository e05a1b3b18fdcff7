package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"evbench/internal/proc"
)

// Doctor tries the requirements of a lab, first directly and then in a user namespace, and reports
// refusals, their reasons and cures. It leaves nothing behind. The second part starts this program
// again; its main must call Helper first.
func Doctor() Report {
	f := gatherFacts()
	r := Report{Mode: modeRefused, System: system()}
	direct := probe(modeDirect, f)
	user := probeUserNamespace(f)
	switch {
	case allOK(direct):
		r.Mode = modeDirect
	case allOK(user):
		r.Mode = modeUserNamespace
	}
	r.Checks = append(direct, user...)
	return r
}

// Helper does the work of a process started by Doctor, and reports whether this is such a process:
// main then returns at once.
func Helper() bool {
	if os.Getenv(marker) != markProbe {
		return false
	}
	// An error of the write shows as a missing answer at the other end.
	json.NewEncoder(os.Stdout).Encode(probe(modeUserNamespace, gatherFacts()))
	return true
}

func probe(mode Mode, f facts) []Check {
	home, err := openNamespace()
	if err != nil {
		return []Check{check(checkNetwork, mode, err, f)}
	}
	defer unix.Close(home)
	var checks []Check
	// The steps report through checks; the remaining error is irrelevant.
	_ = onThread(home, func() error {
		checks = probeSteps(mode, f)
		return nil
	})
	return checks
}

func probeSteps(mode Mode, f facts) []Check {
	var c *conn
	defer func() {
		if c != nil {
			c.close()
		}
	}()
	const near, far = 10, 20
	s := newShape(100e6, 0)
	steps := []struct {
		name string
		do   func() error
	}{
		{checkNetwork, func() (err error) {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return err
			}
			c, err = dial()
			return err
		}},
		{checkVeth, func() error {
			ns, err := openNamespace()
			if err != nil {
				return err
			}
			defer unix.Close(ns)
			return c.addCable(cable{times: 1, ends: [2]end{{name: "near", index: near, mac: mac(0, 0)}, {name: "far", index: far, mac: mac(0, 1)}}}, ns, 9000, s)
		}},
		{checkBucket, func() error { return c.addBucket(near, s) }},
		{checkSysctl, func() error {
			return errors.Join(set(everySysctls), set(switchSysctls), set(HashHeaders.settings(0)), set(serverSysctls))
		}},
		{checkMultipath, func() error { return c.addMultipath(near, far) }},
	}
	var checks []Check
	for _, st := range steps {
		if c == nil && len(checks) > 0 {
			return checks // without a namespace the rest cannot be tried
		}
		checks = append(checks, check(st.name, mode, st.do(), f))
	}
	return checks
}

// addMultipath adds a route over two interfaces, as ecmp does.
func (c *conn) addMultipath(near, far int) error {
	for _, i := range []int{loopback, near, far} {
		if err := c.setUp(i, true); err != nil {
			return err
		}
	}
	hop := func(index int) *netlink.NexthopInfo {
		return &netlink.NexthopInfo{LinkIndex: index, Gw: gateway(index).AsSlice(), Flags: unix.RTNH_F_ONLINK}
	}
	return c.handle.RouteReplace(&netlink.Route{
		Dst:       &net.IPNet{IP: net.IPv4(10, 0, 0, 0), Mask: net.CIDRMask(16, 32)},
		MultiPath: []*netlink.NexthopInfo{hop(near), hop(far)},
	})
}

func check(name string, mode Mode, err error, f facts) Check {
	c := Check{Name: name, Mode: mode, OK: err == nil}
	if start, ok := errors.AsType[*os.PathError](err); ok && start.Op == "fork/exec" {
		err = start.Err // a failure of the program itself is irrelevant
	}
	if err != nil {
		c.Reason = err.Error()
		c.Cure = cure(name, mode, classify(err), f)
	}
	return c
}

func classify(err error) refusal {
	for _, e := range []struct {
		errno unix.Errno
		why   refusal
	}{
		{unix.EPERM, denied}, {unix.EACCES, denied},
		{unix.ENOSPC, noSpace}, {unix.EUSERS, noSpace},
		{unix.EINVAL, unsupported}, {unix.ENOSYS, unsupported}, {unix.EOPNOTSUPP, unsupported}, {unix.ENOENT, unsupported},
		{unix.EROFS, readOnly},
	} {
		if errors.Is(err, e.errno) {
			return e.why
		}
	}
	return other
}

const probeTime = time.Minute

const maxAnswer = 1 << 20

// probeUserNamespace starts this program in a user namespace, only as a test.
func probeUserNamespace(f facts) []Check {
	if os.Getenv(marker) == markProbe {
		return []Check{{Name: checkUser, Mode: modeUserNamespace, Reason: "main does not call lab.Helper"}}
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	var messages proc.Tail
	cmd := again(ctx, markProbe)
	cmd.Stderr = &messages
	answer, err := proc.Output(cmd, maxAnswer)
	if cmd.Process == nil {
		return []Check{check(checkUser, modeUserNamespace, err, f)}
	}
	checks := []Check{check(checkUser, modeUserNamespace, nil, f)}
	inner, bad := parseProbe(answer)
	if err = errors.Join(err, bad); err != nil {
		if m := messages.String(); m != "" {
			err = fmt.Errorf("%w: %s", err, m)
		}
		return append(checks, check(checkNetwork, modeUserNamespace, err, f))
	}
	return append(checks, inner...)
}

func gatherFacts() facts {
	knob := func(path string) string {
		text, err := os.ReadFile("/proc/sys/" + path)
		if err != nil {
			return "" // a kernel without this setting
		}
		return strings.TrimSpace(string(text))
	}
	return facts{
		Root:        os.Geteuid() == 0,
		UsernsClone: knob("kernel/unprivileged_userns_clone"),
		AppArmor:    knob("kernel/apparmor_restrict_unprivileged_userns"),
		MaxUser:     knob("user/max_user_namespaces"),
		MaxNet:      knob("user/max_net_namespaces"),
		Container:   inContainer(),
		Seccomp:     underSeccomp(),
	}
}

func inContainer() bool {
	return slices.ContainsFunc([]string{"/.dockerenv", "/run/.containerenv"}, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

func underSeccomp() bool {
	status, err := os.ReadFile("/proc/self/status")
	return err == nil && strings.Contains(string(status), "\nSeccomp:\t2")
}

func system() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "Linux"
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
