package export

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
)

// DuckDB reads the tables in Parquet as they were meant.
func TestDuckDB(t *testing.T) {
	modules := os.Getenv("WAGGLE_DUCKDB")
	if modules == "" {
		t.Skip("set WAGGLE_DUCKDB to a folder in which the npm package @duckdb/node-api is installed")
	}
	in, dir := &Input{Collections: []collection.Collection{made(t)}}, t.TempDir()
	for _, name := range []string{"pages", "links"} {
		if err := os.WriteFile(filepath.Join(dir, name+".parquet"), write(t, name+"-parquet", in), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := `
const { DuckDBInstance } = require("@duckdb/node-api");
(async () => {
  const c = await (await DuckDBInstance.create(":memory:")).connect();
  for (const q of process.argv.slice(1)) console.log((await c.runAndReadAll(q)).getRows().map((r) => r.map(String).join("|")).join("\n"));
})();`
	cmd := exec.CommandContext(t.Context(), "node", "-e", script,
		"select count(*), count(distinct url), sum(relevant::int), min(year(time)) from '"+dir+"/pages.parquet'",
		"select url, list_contains(opt_outs, 'noai') from '"+dir+"/pages.parquet' where len(opt_outs) > 1",
		"select fate, count(*), count(priority) from '"+dir+"/links.parquet' group by 1 order by 1")
	cmd.Dir = modules
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := strings.TrimSpace(string(out)), "9|9|5|2000\nhttps://bees.test/shy|true\nfailed|2|2\nfetched|13|8\nskipped|1|0"; got != want {
		t.Errorf("DuckDB reads\n%s\nnot\n%s", got, want)
	}
}
