package host

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"evbench/internal/expect"
)

// pinTest has this program pin itself and say what came of it: pinning the
// process of the tests would slow them all.
const pinTest = "EVBENCH_PIN_TEST"

func TestMain(m *testing.M) {
	if cpus := os.Getenv(pinTest); cpus != "" {
		if err := Pin(cpus); err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(0)
		}
		os.Stdout.WriteString("threads on " + strings.Join(allowed(), " "))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// allowed lists what each thread of this process says that it may run on.
func allowed() []string {
	seen := map[string]bool{}
	var out []string
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		status, _ := os.ReadFile("/proc/self/task/" + t.Name() + "/status")
		for line := range strings.Lines(string(status)) {
			if v, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok && !seen[v] {
				seen[v] = true
				out = append(out, strings.TrimSpace(v))
			}
		}
	}
	return out
}

// one is a processor that this process may run on.
func one(t *testing.T) string {
	t.Helper()
	var set unix.CPUSet
	expect.Must(t, unix.SchedGetaffinity(0, &set))
	for n := maxCPU; n >= 0; n-- {
		if set.IsSet(n) {
			return strconv.Itoa(n)
		}
	}
	t.Fatal("this process may run nowhere")
	return ""
}

func TestPin(t *testing.T) {
	last := one(t)
	for _, tt := range []struct{ cpus, want string }{
		{last, "threads on " + last},
		{"1023", "run on processors 1023: none of them is there"},
		{last + ",1023", "run on processors " + last + ",1023: only 1 of the 2 processors are there"},
		{"x", `"x" is no list of processors`},
	} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), pinTest+"="+tt.cpus)
		out, err := cmd.Output()
		expect.True(t, err == nil && strings.Contains(string(out), tt.want), "Pin(%q): %s, %v; want %q", tt.cpus, out, err, tt.want)
	}
}
