package open

import (
	"strings"
	"testing"
)

// FuzzReadPlace: whatever a launcher puts into the environment, a place is one of those that there are.
func FuzzReadPlace(f *testing.F) {
	f.Add("OMPI_COMM_WORLD_RANK=3\nOMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_LOCAL_RANK=1")
	f.Add("SLURM_PROCID=1\nSLURM_STEP_ID=0\nSLURM_NTASKS=9\nSLURM_NODEID=2\nSLURM_STEP_NODELIST=rack[2-3]n[01-16],b7\nSLURM_STEP_TASKS_PER_NODE=3(x2),1")
	f.Fuzz(func(t *testing.T, text string) {
		env := map[string]string{}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			env[name] = value
		}
		p, err := ReadPlace(func(name string) string { return env[name] })
		if err == nil && (p.Rank < 0 || p.Size < 0 || p.Size > 0 && p.Rank >= p.Size || p.Local < 0 || p.Locals < 0 || strings.ContainsAny(p.first, "[")) {
			t.Fatalf("%q: %+v", text, p)
		}
	})
}
