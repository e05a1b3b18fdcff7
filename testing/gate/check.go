package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evbench/internal/programs"
)

// others are the parts of what a package needs that its importers' tests do without in the inner loop.
const others = "EVBENCH_WITHOUT=lab,opensm,mpi,ssh,frr,chromium,pandas,debian13"

// check is the inner loop, make check: formatting, vet, and the tests of packages in which files differ from BASE (default: where the branch left
// main) or are new, and of all that import these, without the race detector and what is heavy. Importers do without labs and programs of others.
func check(ctx context.Context, goTool string, stdout, stderr io.Writer) (passed bool, err error) {
	runs := func(env []string, args ...string) bool {
		cmd := programs.Command(ctx, os.TempDir(), args[0], args[1:]...)
		cmd.Env = slices.Concat(os.Environ(), counting(), env)
		cmd.Stdout, cmd.Stderr = stdout, stderr
		return cmd.Run() == nil
	}
	if !runs(nil, "scripts/format") || !runs(nil, goTool, "vet", "./...") {
		return false, nil
	}
	base, files, err := changed(ctx)
	if err != nil {
		return false, err
	}
	all, err := list(ctx, goTool, "")
	if err != nil {
		return false, err
	}
	root, err := os.Getwd()
	if err != nil {
		return false, err
	}
	own, importers := affected(all, root, files)
	// Without -shuffle Go keeps what has passed: the next check runs what has changed since then.
	passed = true
	if own != nil {
		passed = runs(nil, slices.Concat([]string{goTool, "test", "-vet=off"}, own)...)
	}
	if len(importers) > 0 {
		passed = runs([]string{others}, slices.Concat([]string{goTool, "test", "-vet=off"}, importers)...) && passed
	}
	fmt.Fprintf(stdout, "check: packages with files that differ from %.8s: %d, that import them: %d; make test runs all\n", base, len(own), len(importers))
	if slices.ContainsFunc(files, ofEvidence) {
		fmt.Fprintln(stdout, "check: make -C evidence test runs those of evidence")
	}
	return passed, nil
}

// changed lists the files that differ from a base, and new ones.
func changed(ctx context.Context) (base string, files []string, err error) {
	base = os.Getenv("BASE")
	for _, branch := range []string{"main", "origin/main"} {
		if out, err := git(ctx, "merge-base", "HEAD", branch); base == "" && err == nil {
			base = strings.TrimSpace(out)
		}
	}
	base = or(base, "HEAD")
	differ, err := git(ctx, "diff", "--name-only", base)
	if err != nil {
		return "", nil, err
	}
	added, err := git(ctx, "ls-files", "--others", "--exclude-standard")
	return base, strings.FieldsFunc(differ+added, func(r rune) bool { return r == '\n' }), err
}

// ofEvidence tells files of the module beside ours.
func ofEvidence(file string) bool { return strings.HasPrefix(file, "evidence/") }

// affected are the packages that files belong to, each to the next one upward, and those that import them, also in tests and through others. Files
// of none belong to the package whose tests look at all.
func affected(all []listed, root string, files []string) (own, importers []string) {
	at, of := map[string]string{}, map[string][]string{} // a package by its folder, its importers by its path
	for _, l := range all {
		at[l.Dir] = l.ImportPath
		for _, path := range slices.Concat(l.Imports, l.TestImports, l.XTestImports) {
			of[path] = append(of[path], l.ImportPath)
		}
	}
	for _, file := range slices.DeleteFunc(slices.Clone(files), ofEvidence) {
		dir := filepath.Join(root, filepath.Dir(file))
		for at[dir] == "" && dir != root {
			dir = filepath.Dir(dir)
		}
		own = append(own, or(at[dir], "evbench/internal/layers"))
	}
	slices.Sort(own)
	own = slices.Compact(own)
	reached := slices.Clone(own)
	for i := 0; i < len(reached); i++ {
		for _, path := range of[reached[i]] {
			if !slices.Contains(reached, path) {
				reached = append(reached, path)
			}
		}
	}
	return own, reached[len(own):]
}
