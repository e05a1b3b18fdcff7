package host

import (
	"fmt"
	"strings"

	"evbench/internal/lists"
)

// quoteWord quotes a word such that every shell reads it unchanged: POSIX shells, csh and fish
// alike.
func quoteWord(w string) string {
	if w != "" && strings.Trim(w, plainLetters) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// plainLetters have no special meaning to a shell, in any position.
const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@+%"

// inShell makes sh run a script, for any shell of the user. Scripts are one line, without single
// quotes and exclamation marks, which csh would interpret.
func inShell(script string) string { return "exec sh -c " + quoteWord(script) }

type remote struct {
	dir string // absolute, or below the home directory, where ssh starts
	sum string // SHA-256 of the binary, hexadecimal
}

// remoteDir checks the directory of a scenario. ~/ means the home directory, where ssh starts.
func remoteDir(dir string) (string, error) {
	dir = strings.TrimPrefix(dir, "~/")
	switch {
	case dir == "" || dir == "~":
		return ".", nil
	case strings.HasPrefix(dir, "~"):
		return "", fmt.Errorf("remote_dir %s: write an absolute path, or one below the home directory", dir)
	case strings.HasPrefix(dir, "-"):
		return "", fmt.Errorf("remote_dir %s: begins with -", dir)
	}
	return dir, nil
}

// binary is named after its content, so that it never conflicts with an older one of another user
// of the directory.
func (r remote) binary() string {
	path := r.dir + "/evbench-" + r.sum[:12]
	if !strings.HasPrefix(path, "/") {
		path = "./" + path // else sh would search PATH
	}
	return path
}

// The output of the probe, line by line; earlier lines come from the user's shell.
const (
	probeBegin  = "evbench-probe 1"
	probeSystem = "system "
	probeSpace  = "space "
	probeCopy   = "copy"
	probeReady  = "ready"
)

// probe describes a host and tells whether the binary is there. If it is, the probe waits for an
// empty line, so that the caller knows when the clock is read, and runs evbench host.
func (r remote) probe(args []string) string {
	return r.head() + fmt.Sprintf(`echo "%s"; echo "%s$(uname -sm)"; `, probeBegin, probeSystem) +
		`s=$(sha256sum "$f" 2>/dev/null); ` +
		fmt.Sprintf(`if [ "${s%%%% *}" = %s ] && [ -x "$f" ]; then echo %s; read -r x || exit 1; exec "$f" host --json %s; fi; `,
			r.sum, probeReady, doubleQuote(args)) +
		`mkdir -p "$d" || exit 1; [ -w "$d" ] || { echo "$d: not writable" >&2; exit 1; }; ` +
		fmt.Sprintf(`echo "%s$(df -Pk "$d" | tail -n 1)"; echo %s`, probeSpace, probeCopy)
}

// receive writes standard input to the place of the binary: complete, verified and executable, or
// not at all.
func (r remote) receive(unique string) string {
	return r.head() + fmt.Sprintf(`t=$f.%s; trap "rm -f \"$t\"" EXIT; trap "exit 1" HUP INT TERM; `, unique) +
		`cat >"$t" || exit 1; s=$(sha256sum "$t") || exit 1; ` +
		fmt.Sprintf(`[ "${s%%%% *}" = %s ] || { echo "the binary was damaged on its way" >&2; exit 1; }; `, r.sum) +
		`chmod 755 "$t" && mv -f "$t" "$f"`
}

// workerStarted is the output of a worker's shell before the worker replaces it.
const workerStarted = "evbench-started"

func (r remote) worker(args []string) string {
	return r.head() + fmt.Sprintf(`echo %s; exec "$f" worker %s`, workerStarted, doubleQuote(args))
}

func (r remote) head() string {
	return fmt.Sprintf(`LC_ALL=C; export LC_ALL; d=%s; f=%s; `, doubleQuote([]string{r.dir}), doubleQuote([]string{r.binary()}))
}

// doubleQuote quotes words for a script that is itself in single quotes.
func doubleQuote(words []string) string {
	return strings.Join(lists.Map(words, func(w string) string { return `"` + escape.Replace(w) + `"` }), " ")
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")
