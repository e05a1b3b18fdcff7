package csv

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"evbench/internal/atomicfile"
	"evbench/results"
)

// ReadKilled reads what a run left that was killed, and has no summary: its
// manifest and its samples, with the summary that results.Salvage makes of
// them. A last line that was being written is left out. Notes say all that.
func ReadKilled(dir string) (run *results.Run, notes []string, err error) {
	run = &results.Run{}
	err = readFile(dir, ManifestFile, func(r io.Reader) (err error) { run.Manifest, err = results.ReadManifest(r); return err })
	if err != nil {
		return nil, nil, err
	}
	name := filepath.Join(dir, SamplesFile)
	text, err := atomicfile.Read(name, maxFile)
	if err != nil {
		return nil, nil, err
	}
	notes = append(notes, fmt.Sprintf("%s holds no %s: the run was killed. What follows is read from its samples and marked incomplete.", dir, SummaryFile))
	if end := bytes.LastIndexByte(text, '\n') + 1; end < len(text) {
		notes = append(notes, fmt.Sprintf("%s: its last line is cut off and left out.", name))
		text = text[:end]
	}
	if run.Samples, err = ReadSamples(bytes.NewReader(text)); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	run.Summary = results.Salvage(run.Manifest, run.Samples)
	return run, notes, nil
}
