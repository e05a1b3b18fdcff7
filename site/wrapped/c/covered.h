/* Made by go test ./site/wrapped -update: the header lines that the hash of a plan covers. */
static const char *const covered_of_tree[] = {"topology", "fill", "spines", "down", "readers", "builders", 0};
static const char *const covered_of_tables[] = {"hosts", "guids", "adapters", "path-bits", "readers", "builders", "undelivered", "tables", "sizes", 0};
