package lab

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/answer"
)

// A Mode is how this process gets its namespaces.
type Mode string

// The modes, in the order in which they are tried.
const (
	modeDirect        Mode = "direct"         // as root, or with the capabilities of root
	modeUserNamespace Mode = "user namespace" // as root of a user namespace of its own; no privilege needed
	modeRefused       Mode = "refused"
)

// A Check is one requirement of a lab, tried in a throw-away namespace.
type Check struct {
	Name   string `json:"name"`
	Mode   Mode   `json:"mode"` // how it was tried
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"` // the kernel's text, unchanged
	Cure   string `json:"cure,omitempty"`   // the remedy
}

// A Report lists what this system permits, with reasons for refusals.
type Report struct {
	Mode   Mode    `json:"mode"` // the first in which everything works
	System string  `json:"system"`
	Checks []Check `json:"checks"`
}

func (r Report) Possible() bool { return r.Mode != modeRefused }

func (r Report) String() string {
	var b strings.Builder
	for _, c := range r.Checks {
		if c.OK {
			fmt.Fprintf(&b, "  ok    %-14s  %s\n", c.Mode, c.Name)
			continue
		}
		fmt.Fprintf(&b, "  no    %-14s  %s: %s\n", c.Mode, c.Name, c.Reason)
		if c.Cure != "" {
			fmt.Fprintf(&b, "        %-14s  cure: %s\n", "", c.Cure)
		}
	}
	return b.String()
}

// err returns nil if a lab can run, else the first refusal of each mode with its cure, on one line.
func (r Report) err() error {
	if r.Possible() {
		return nil
	}
	var parts []string
	said := map[Mode]bool{}
	for _, c := range r.Checks {
		if c.OK || said[c.Mode] {
			continue
		}
		said[c.Mode] = true
		part := fmt.Sprintf("%s: %s: %s", c.Mode, c.Name, c.Reason)
		if c.Cure != "" {
			part += " (cure: " + c.Cure + ")"
		}
		parts = append(parts, part)
	}
	return fmt.Errorf("lab: this system refuses what it needs: %s", strings.Join(parts, "; "))
}

func allOK(checks []Check) bool {
	return len(checks) > 0 && !slices.ContainsFunc(checks, func(c Check) bool { return !c.OK })
}

// The names of the checks.
const (
	checkUser      = "create a user namespace"
	checkNetwork   = "create a network namespace"
	checkVeth      = "create a veth pair"
	checkBucket    = "limit its rate (tbf)"
	checkSysctl    = "write settings under /proc/sys/net"
	checkMultipath = "add a multipath route"
)

// facts are the system's settings that explain a refusal.
type facts struct {
	Root            bool
	UsernsClone     string // kernel.unprivileged_userns_clone; "" if it does not exist
	AppArmor        string // kernel.apparmor_restrict_unprivileged_userns
	MaxUser, MaxNet string // user.max_user_namespaces, user.max_net_namespaces
	Container       bool
	Seccomp         bool
}

type refusal int

const (
	other       refusal = iota
	denied              // EPERM, EACCES
	noSpace             // ENOSPC, EUSERS: a limit
	unsupported         // EINVAL, ENOSYS, EOPNOTSUPP, ENOENT: not in this kernel
	readOnly            // EROFS
)

func cure(check string, mode Mode, why refusal, f facts) string {
	if why == denied {
		return cureDenied(check, mode, f)
	}
	type key struct {
		check string
		why   refusal
	}
	return map[key]string{
		{checkUser, noSpace}:          "sysctl -w user.max_user_namespaces=15000 user.max_net_namespaces=15000 (now " + f.MaxUser + " and " + f.MaxNet + ")",
		{checkUser, unsupported}:      "a kernel with CONFIG_USER_NS",
		{checkNetwork, noSpace}:       "sysctl -w user.max_net_namespaces=15000 (now " + f.MaxNet + ")",
		{checkNetwork, unsupported}:   "a kernel with CONFIG_NET_NS",
		{checkVeth, unsupported}:      "modprobe veth",
		{checkBucket, unsupported}:    "modprobe sch_tbf",
		{checkMultipath, unsupported}: "a kernel with CONFIG_IP_ROUTE_MULTIPATH",
		{checkSysctl, readOnly}:       "the container mounts /proc/sys read-only: start it with --security-opt systempaths=unconfined (podman: unmask=ALL) or --privileged",
	}[key{check, why}]
}

// cureDenied prefers a known disabled setting to a guess.
func cureDenied(check string, mode Mode, f facts) string {
	switch {
	case mode == modeDirect && !f.Root:
		return "" // root is not needed: a user namespace suffices
	case mode == modeDirect && f.Container:
		return "start the container with --cap-add SYS_ADMIN --cap-add NET_ADMIN"
	case mode == modeDirect:
		return "give the process CAP_SYS_ADMIN and CAP_NET_ADMIN"
	case f.UsernsClone == "0":
		return "sysctl -w kernel.unprivileged_userns_clone=1"
	case f.AppArmor == "1":
		return "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	case f.MaxUser == "0":
		return "sysctl -w user.max_user_namespaces=15000"
	case f.Container || f.Seccomp && check == checkUser:
		return "a seccomp filter refuses it: start the container with --security-opt seccomp=unconfined"
	}
	return "a security module refuses it: ask the administrator, or run as root"
}

// marker is the environment variable that tells a process started by this package its purpose.
const marker = "EVBENCH_LAB"

const (
	markInside = "inside" // the program again, in a user namespace
	markProbe  = "probe"  // only to test what a user namespace permits
)

func parseProbe(text []byte) ([]Check, error) {
	var checks []Check
	if err := json.Unmarshal(text, &checks); err != nil {
		return nil, fmt.Errorf("the program started in it gave no answer (%w)", err)
	}
	return checks, nil
}

// Answer says whether a lab can run here, and why not.
func (r Report) Answer() answer.Answer {
	how := "with the rights of this process"
	if r.Mode == modeUserNamespace {
		how = "in a user namespace, without root"
	}
	can := answer.Finding{Text: fmt.Sprintf("a lab can run here, %s (%s)", how, r.System), Place: answer.At}
	if r.Possible() {
		return answer.Decide(answer.Lab, answer.Evidence{Findings: []answer.Finding{can}, Next: []string{"evbench run quickstart"}})
	}
	cannot := answer.Finding{Text: fmt.Sprintf("a lab cannot run here (%s)", r.System), Place: answer.Below}
	e := answer.Evidence{Next: []string{"evbench run --fabric emulate quickstart"}}
	no := func(c Check) bool { return !c.OK }
	i := slices.IndexFunc(r.Checks, func(c Check) bool { return no(c) && c.Mode == modeUserNamespace }) // needs no privilege
	if i < 0 {
		i = slices.IndexFunc(r.Checks, no)
	}
	if i >= 0 {
		c := r.Checks[i]
		cannot.Cause = fmt.Sprintf("%s: %s: %s", c.Mode, c.Name, c.Reason)
		if c.Cure != "" {
			e.Why = []string{"cure: " + c.Cure}
		}
	}
	e.Findings = []answer.Finding{cannot}
	return answer.Decide(answer.Lab, e)
}
