// Package job holds what a crawl is told, and makes the crawl of it.
//
// A Job is the same thing in a file, in flags and in a program. Settings
// describes each of its values once: the path of keys in the job file, what it
// is, its default, its range, the flag, and what becomes of a change when a
// crawl goes on. The checks, the example file and the help of commands are made
// of that description. An error of a value is an *Error with the path of its
// setting, so that whoever gave the value is told where: in a line of the file,
// by a flag, in a field of a form.
//
// A Maker puts a crawl together as a Job says. Each part may be given instead.
//
//	                                 example pages
//	Job ─► Fetcher ──────────────────────┐
//	 │     Parser ──────────────────► Topic ─► Judge ─► Scorer
//	 │                                           │        │
//	 └───► Frontier, Archive, Log ◄─ collection  ▼        ▼
//	                          └─────────────► crawl.Crawl
package job

// Version of waggle, as it tells servers and archives.
const Version = "0.1.0"

// Job is everything a crawl is told. A value that is zero has the default that
// Settings names.
type Job struct {
	Name       string     `yaml:"name,omitempty"`
	Contact    string     `yaml:"contact,omitempty"`
	Seeds      []string   `yaml:"seeds,omitempty"` // addresses
	Topic      Topic      `yaml:"topic,omitempty"`
	Judge      Judge      `yaml:"judge,omitempty"`
	Scorer     Scorer     `yaml:"scorer,omitempty"`
	Budget     Budget     `yaml:"budget,omitempty"`
	Scope      Scope      `yaml:"scope,omitempty"`
	Politeness Politeness `yaml:"politeness,omitempty"`
	Fetch      Fetch      `yaml:"fetch,omitempty"`
	Links      Links      `yaml:"links,omitempty"`
	Addresses  Addresses  `yaml:"addresses,omitempty"`

	strategies Strategies // that it may name beside those of waggle
}

// Topic is what is wanted.
type Topic struct {
	Description string   `yaml:"description,omitempty"`
	Keywords    []string `yaml:"keywords,omitempty"`
	Examples    []string `yaml:"examples,omitempty"`  // addresses or files
	Negatives   []string `yaml:"negatives,omitempty"` // addresses or files
	// Language are ISO 639-1 codes of its languages; nil = what it is written in.
	Language []string `yaml:"language,omitempty"`
	// Want is what counts of what is fetched: "pages", "documents" or "both".
	Want string `yaml:"want,omitempty"`
}

// Judge is how a page's relevance is measured.
type Judge struct {
	Name      string             `yaml:"name,omitempty"`
	Threshold *float64           `yaml:"threshold,omitempty"` // (0,1]; nil = the judge's own
	Set       map[string]float64 `yaml:"set,omitempty"`       // constants by name, as its description lists them
	Command   []string           `yaml:"command,omitempty"`   // program and arguments
	Critic    string             `yaml:"critic,omitempty"`    // file
	Focus     []string           `yaml:"focus,omitempty"`     // topics of the critic
	Printed   bool               `yaml:"printed,omitempty"`
	Anyway    bool               `yaml:"anyway,omitempty"`
	// CountHollow judges pages that hold nothing as others; see package hollow.
	CountHollow bool `yaml:"count-hollow,omitempty"`
	// CountCopies judges near-copies as others; see package nearcopy.
	CountCopies bool   `yaml:"count-copies,omitempty"`
	Rules       []Rule `yaml:"rules,omitempty"`
}

// Rule is a rule of the judge "rules": a page that it matches gets its weight.
type Rule struct {
	Field   string  `yaml:"field"`            // url, title or body
	Pattern string  `yaml:"pattern"`          // regular expression
	Weight  float64 `yaml:"weight,omitempty"` // [-1,1]; 0 = 1
}

// Scorer is which link goes first.
type Scorer struct {
	Name       string             `yaml:"name,omitempty"`
	Seed       uint64             `yaml:"seed,omitempty"`
	Similarity string             `yaml:"similarity,omitempty"`
	Batch      int                `yaml:"batch,omitempty"` // pages
	Set        map[string]float64 `yaml:"set,omitempty"`   // constants by name; score.Description.Settings lists them
	Model      string             `yaml:"model,omitempty"` // file
	Digest     string             `yaml:"model-digest,omitempty"`
	WordNet    string             `yaml:"wordnet,omitempty"`   // folder
	Thesaurus  string             `yaml:"thesaurus,omitempty"` // file
}

// Budget is what a crawl may spend, over all its runs.
type Budget struct {
	Pages int      `yaml:"pages,omitempty"` // 0 = no limit
	Time  Duration `yaml:"time,omitempty"`  // 0 = no limit
	// UntilGain ends the crawl when fewer relevant pages than this are expected among
	// the next 100; 0 = never.
	UntilGain float64 `yaml:"until-gain,omitempty"`
	// WaitForBetter is for how long links that are due wait until a better one, whose
	// host is not, brings a page; nil = the default, 0 = not at all.
	WaitForBetter *Duration `yaml:"wait-for-better,omitempty"`
}

// Scope is where a crawl may go.
type Scope struct {
	Reach        string   `yaml:"reach,omitempty"`
	Include      []string `yaml:"include,omitempty"`        // regular expressions
	Exclude      []string `yaml:"exclude,omitempty"`        // regular expressions
	Within       string   `yaml:"within,omitempty"`         // folder of a crawl
	MaxDepth     *int     `yaml:"max-depth,omitempty"`      // nil = the default; 0 = the seeds alone
	MaxHostPages int      `yaml:"max-host-pages,omitempty"` // 0 = no limit
	MaxHostQueue int      `yaml:"max-host-queue,omitempty"`
	MaxQueue     int      `yaml:"max-queue,omitempty"`
}

// Politeness is what the owners of sites are owed.
type Politeness struct {
	Delay         *Duration `yaml:"delay,omitempty"`     // nil = the default
	OwnHosts      []string  `yaml:"own-hosts,omitempty"` // names, each with all below it
	MaxCrawlDelay Duration  `yaml:"max-crawl-delay,omitempty"`
	AddressLanes  int       `yaml:"address-lanes,omitempty"`
	GiveUp        Duration  `yaml:"give-up,omitempty"`
	ObeyNoFollow  bool      `yaml:"obey-rel-nofollow,omitempty"`
	IgnoreTDMRep  bool      `yaml:"ignore-tdmrep,omitempty"`
}

// Fetch is how pages are fetched.
type Fetch struct {
	Workers      int      `yaml:"workers,omitempty"`
	Timeout      Duration `yaml:"timeout,omitempty"`
	MaxBody      Size     `yaml:"max-body,omitempty"`
	Memory       Size     `yaml:"memory,omitempty"`
	Types        []string `yaml:"types,omitempty"`      // names of kinds, or media types
	Through      string   `yaml:"through,omitempty"`    // address of an HTTP proxy
	ThroughCA    string   `yaml:"through-ca,omitempty"` // file
	AllowPrivate bool     `yaml:"allow-private,omitempty"`
	Secrets      string   `yaml:"secrets,omitempty"` // file
	Cookies      string   `yaml:"cookies,omitempty"` // "off", "session" or a file
	Render       string   `yaml:"render,omitempty"`
	Browsers     int      `yaml:"browsers,omitempty"`
	BrowserTime  Duration `yaml:"browser-time,omitempty"`
	BrowserBytes Size     `yaml:"browser-memory,omitempty"`
	Unsandboxed  bool     `yaml:"unsandboxed,omitempty"`
}

// Links is where links come from.
type Links struct {
	Sources []string `yaml:"sources,omitempty"` // beside elements such as a and frame
}

// Addresses is how addresses are written.
type Addresses struct {
	KeepSessions bool `yaml:"keep-session-ids,omitempty"`
	KeepTracking bool `yaml:"keep-tracking,omitempty"`
}
