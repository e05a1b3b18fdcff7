//go:build hdf5

package hdf5

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/internal/expect"
)

// FuzzRead: a file that is not as the library wrote it is an error that names it, or is read
// within its bounds; what is read can be saved, and then reads as the same.
//
// The bytes go through libhdf5, which is not made for files of strangers. It has its own
// checks; a crash inside of it is not ours to mend.
func FuzzRead(f *testing.F) {
	run := runOf(2)
	dir := f.TempDir()
	name, saved := filepath.Join(dir, "sound.h5"), filepath.Join(dir, "again.h5")
	expect.Must(f, Save(name, run))
	text, err := os.ReadFile(name)
	expect.Must(f, err)
	// Places that differ, not whole files: those are 40 KB, of which few bytes matter.
	f.Add(uint32(0), []byte{})
	f.Add(uint32(8), []byte{0xff})
	f.Add(uint32(len(text)/2), []byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, at uint32, bytes []byte) {
		changed := slices.Clone(text)
		copy(changed[int(at)%len(changed):], bytes)
		expect.Must(t, os.WriteFile(name, changed, 0o600))
		run, err := Read(name)
		if err != nil {
			expect.MustTrue(t, strings.HasPrefix(err.Error(), name+": ") && len(err.Error()) <= 64<<10, "%.500s", err)
			return
		}
		os.Remove(saved)
		expect.Must(t, Save(saved, run), "what was read cannot be saved")
		again, err := Read(saved)
		expect.MustTrue(t, err == nil && slices.Equal(again.Samples, run.Samples) && slices.Equal(again.Links, run.Links),
			"%d samples, then %v: %v", len(run.Samples), again, err)
		expect.MustTrue(t, maps.EqualFunc(again.Plans, run.Plans, slices.Equal[[]byte]), "%d plans, then %d", len(run.Plans), len(again.Plans))
	})
}
