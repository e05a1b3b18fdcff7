package wrapped

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"evbench/internal/proc"
)

// The library runs MPI_Alltoall and MPI_Alltoallv of any program in the order of a plan. It is
// loaded into that program (LD_PRELOAD), so it is compiled where the program's MPI is.
//
//go:embed c
var sources embed.FS

// libraryOf is the file of the library for an MPI; scripts/build uses the same name.
func libraryOf(mpi string) string { return "libevbench-" + mpi + ".so" }

// libraryName is a library built for one job.
const libraryName = "libevbench.so"

// flags are the same in scripts/build.
var flags = []string{"-O2", "-fPIC", "-shared", "-pthread"}

// compiling is how long that may take.
const compiling = 5 * time.Minute

// Build compiles the library in a directory with the command mpicc, and returns its file.
func Build(ctx context.Context, mpicc, dir string) (string, error) {
	files, err := sources.ReadDir("c")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, libraryName)
	args := append(append([]string{}, flags...), "-o", out)
	for _, f := range files {
		text, err := sources.ReadFile("c/" + f.Name())
		if err != nil {
			return "", err
		}
		file := filepath.Join(dir, f.Name())
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", err
		}
		if strings.HasSuffix(file, ".c") {
			args = append(args, file)
		}
	}
	args = append(args, "-ldl") // separate in older C libraries
	_, err = proc.Call{Limit: compiling, Most: 1 << 20}.Answer(ctx, mpicc, args...)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("libevbench is not built and cannot be: no %s (Debian: libopenmpi-dev or libmpich-dev, gcc)", mpicc)
	case err != nil:
		return "", fmt.Errorf("%s does not build libevbench (Debian: libopenmpi-dev or libmpich-dev, gcc): %w", mpicc, err)
	}
	return out, nil
}
