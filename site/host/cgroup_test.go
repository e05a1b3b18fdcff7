package host

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"evbench/testing/expect"
)

const (
	v2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	v1 = "30 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"31 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)

// The memory that a process may take is what the machine has free, or less: what a group on
// the way up leaves. Files that are cached are not in the way.
func TestAvailableInGroups(t *testing.T) {
	const machine = 1 << 30
	for _, tt := range []struct {
		name           string
		mounts, groups string
		files          map[string]string // below sys/fs/cgroup
		want           uint64
	}{
		{"no groups", "", "", nil, machine},
		{"no limit", v2, "0::/a", map[string]string{"a/memory.max": "max\n", "a/memory.high": "max\n", "a/memory.current": "5000\n"}, machine},
		{"its own limit", v2, "0::/a", map[string]string{"a/memory.max": "8192\n", "a/memory.current": "2048\n"}, 6144},
		{"the limit of a group above", v2, "0::/slurm/job_7/step_0", map[string]string{
			"slurm/job_7/memory.max": "9000", "slurm/job_7/memory.current": "1000", "slurm/job_7/step_0/memory.max": "max", "slurm/job_7/step_0/memory.current": "10",
		}, 8000},
		{"the least of several", v2, "0::/a/b", map[string]string{
			"a/memory.max": "4000", "a/memory.current": "1000", "a/b/memory.max": "9000", "a/b/memory.current": "100",
		}, 3000},
		{"throttled before", v2, "0::/a", map[string]string{"a/memory.max": "9000", "a/memory.high": "4000", "a/memory.current": "500"}, 3500},
		{"cached files", v2, "0::/a", map[string]string{
			"a/memory.max": "9000", "a/memory.current": "8000", "a/memory.stat": "anon 1000\nfile 7000\nshmem 1000\ninactive_file 4000\nactive_file 2000\n",
		}, 7000},
		{"nothing is left", v2, "0::/a", map[string]string{"a/memory.max": "9000", "a/memory.current": "9500"}, 1},
		{"more than the machine has", v2, "0::/a", map[string]string{"a/memory.max": "99999999999", "a/memory.current": "0"}, machine},
		{"a container that sees its own group", v2, "0::/", map[string]string{"memory.max": "7000", "memory.current": "1000"}, 6000},
		{"a container whose name is that of outside", "31 23 0:28 /docker/17 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n", "4:memory:/docker/17/in", map[string]string{
			"memory/memory.limit_in_bytes": "7000", "memory/memory.usage_in_bytes": "1000", "memory/in/memory.limit_in_bytes": "9223372036854771712", "memory/in/memory.usage_in_bytes": "1",
		}, 6000},
		{"outside of what is mounted", v2, "0::/../other", map[string]string{"memory.max": "7000", "memory.current": "1000"}, 6000},
		{"version 1", v1, "5:cpu,cpuacct:/x\n4:memory:/slurm/uid_1/job_7\n", map[string]string{
			"memory/slurm/uid_1/job_7/memory.limit_in_bytes": "9000", "memory/slurm/uid_1/job_7/memory.usage_in_bytes": "8000",
			"memory/slurm/uid_1/job_7/memory.stat": "cache 5000\ninactive_file 1\ntotal_inactive_file 3000\ntotal_active_file 2000\n",
			"memory/memory.limit_in_bytes":         "9223372036854771712", "memory/memory.usage_in_bytes": "8000",
		}, 6000},
		{"both versions, memory by the first", v1 + "32 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "4:memory:/a\n0::/a\n", map[string]string{
			"memory/a/memory.limit_in_bytes": "9000", "memory/a/memory.usage_in_bytes": "1000", "unified/a/cgroup.procs": "1",
		}, 8000},
		{"damaged", v2 + "x - y\n", "0:/a\n::\n0::/a", map[string]string{"a/memory.max": "-5", "a/memory.current": "x"}, machine},
	} {
		root := fstest.MapFS{"proc/meminfo": file("MemAvailable: 1048576 kB\n"), "proc/self/mountinfo": file(tt.mounts), "proc/self/cgroup": file(tt.groups)}
		for name, text := range tt.files {
			root["sys/fs/cgroup/"+name] = file(text)
		}
		expect.Equal(t, available(root), tt.want, "bytes of %s", tt.name)
	}
	known := fstest.MapFS{"proc/self/mountinfo": file(v2), "proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("7"), "sys/fs/cgroup/memory.current": file("3")}
	expect.Equal(t, available(known), 4, "bytes of a machine that says nothing itself")
}

// TestProcessors: the least quota of a group on the way up limits what affinity allows.
func TestProcessors(t *testing.T) {
	for _, tt := range []struct {
		name           string
		mounts, groups string
		files          map[string]string // below sys/fs/cgroup
		want           int
	}{
		{"no groups", "", "", nil, 8},
		{"no limit", v2, "0::/a", map[string]string{"a/cpu.max": "max 100000\n"}, 8},
		{"two and a half", v2, "0::/a/b", map[string]string{"a/cpu.max": "250000 100000\n", "a/b/cpu.max": "600000 100000\n"}, 2},
		{"less than one", v2, "0::/a", map[string]string{"a/cpu.max": "50000 100000\n"}, 1},
		{"more than affinity", v2, "0::/a", map[string]string{"a/cpu.max": "1600000 100000\n"}, 8},
		{"version 1", v1, "5:cpu,cpuacct:/x\n", map[string]string{"cpu,cpuacct/x/cpu.cfs_quota_us": "300000\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"}, 3},
		{"version 1 without a limit", v1, "5:cpu,cpuacct:/x\n", map[string]string{"cpu,cpuacct/x/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"}, 8},
		{"damaged", v2, "0::/a", map[string]string{"a/cpu.max": "1 2 3\n", "cpu.max": "x 0\n"}, 8},
	} {
		root := fstest.MapFS{"proc/self/mountinfo": file(tt.mounts), "proc/self/cgroup": file(tt.groups)}
		for name, text := range tt.files {
			root["sys/fs/cgroup/"+name] = file(text)
		}
		expect.Equal(t, processors(root, 8), tt.want, "processors of %s", tt.name)
	}
}

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
		{"x", `"x" is not a list of processors`},
	} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), pinTest+"="+tt.cpus)
		out, err := cmd.Output()
		expect.True(t, err == nil && strings.Contains(string(out), tt.want), "Pin(%q): %s, %v; want %q", tt.cpus, out, err, tt.want)
	}
}
