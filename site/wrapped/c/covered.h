/* Made by go test ./site/wrapped -update: the header lines that the hash of a plan covers. */
static const char *const covered[] = {"topology", "fill", "spines", "down", "hosts", "guids", "adapters", "path-bits", "readers", "builders", "undelivered", "tables", "paths", "slow", "window", "sizes", 0};
