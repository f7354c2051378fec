package web

import (
	"context"
	"slices"
	"time"
)

// Stage is what a fetch does at a moment, or waits for.
type Stage string

// The stages of a fetch, in the order in which it may pass them. A fetch at StageSlow is
// one at StageRequest that has taken long.
const (
	StageRobots  Stage = "robots"  // robots.txt of the host is asked for
	StageName    Stage = "name"    // the name of the host is looked up
	StageTurn    Stage = "turn"    // it waits for its turn at the host, or at its address
	StageMemory  Stage = "memory"  // it waits for room for a body
	StageRequest Stage = "request" // the host was asked, and its answer is read
	StageSlow    Stage = "slow"
	StageBrowser Stage = "browser" // it is rendered, or waits for that
	StageExamine Stage = "examine" // it is parsed and judged, or waits for a core
	StageStore   Stage = "store"   // it waits to be written to the disk
)

// Stages are all of them in that order.
func Stages() []Stage {
	return []Stage{StageRobots, StageName, StageTurn, StageMemory, StageRequest, StageSlow, StageBrowser, StageExamine, StageStore}
}

// Brief names the stage in a few words that follow a count: "3 waiting for robots.txt".
func (s Stage) Brief() string {
	switch s {
	case StageRobots:
		return "waiting for robots.txt"
	case StageName:
		return "looking up the name of a host"
	case StageTurn:
		return "waiting for a turn at the host"
	case StageMemory:
		return "waiting for memory"
	case StageRequest:
		return "fetching"
	case StageSlow:
		return "waiting for a slow host"
	case StageBrowser:
		return "waiting for the browser"
	case StageExamine:
		return "parsing and judging"
	case StageStore:
		return "waiting for the disk"
	}
	return string(s)
}

// Idle is why a crawl has fewer fetches under way than it may have.
type Idle string

// The reasons.
const (
	IdlePaused  Idle = "paused"
	IdleNetwork Idle = "network" // it is down
	IdleActs    Idle = "acts"    // much that people told the crawl is taken in
	IdleBudget  Idle = "budget"  // the pages that are left of it are under way
	IdleEmpty   Idle = "empty"   // no link waits
	IdleDue     Idle = "due"     // no host may be asked yet
	IdleBetter  Idle = "better"  // better links than those of the hosts that may be asked are waited for
	IdleBusy    Idle = "busy"    // each host with links is being asked
)

// Idles are all of them.
func Idles() []Idle {
	return []Idle{IdlePaused, IdleNetwork, IdleActs, IdleBudget, IdleEmpty, IdleDue, IdleBetter, IdleBusy}
}

// Brief says the reason in a few words.
func (i Idle) Brief() string {
	switch i {
	case IdlePaused:
		return "the crawl is paused"
	case IdleNetwork:
		return "the network is down"
	case IdleActs:
		return "what the crawl was told is taken in"
	case IdleBudget:
		return "the last pages of the budget are under way"
	case IdleEmpty:
		return "no link waits"
	case IdleDue:
		return "no host is due yet"
	case IdleBetter:
		return "better links are waited for"
	case IdleBusy:
		return "each host that has links is being asked"
	}
	return string(i)
}

// Activity is what a crawl does at a moment.
type Activity struct {
	At time.Time `json:"at"`
	// Fetches is how many there may be at a time, Stages how many there are at each
	// stage. Idle says why there are not more, "" where there are as many as there may be.
	Fetches int           `json:"fetches"`
	Stages  map[Stage]int `json:"stages"`
	Idle    Idle          `json:"idle,omitempty"`
	// Due is when the next host may be asked; zero where none has to wait.
	Due time.Time `json:"due,omitzero"`
	// Writing is the share of the time since the telling before in which the crawl waited for
	// pages to be written to the disk, in [0,1].
	Writing float64 `json:"writing"`
	// Longest are some of the fetches: those that are at their stage for the longest time.
	Longest []Fetching `json:"longest"`
}

// MaxLongest bounds Activity.Longest.
const MaxLongest = 12

// Fetching is a fetch that is under way.
type Fetching struct {
	Host  Host      `json:"host"`
	Stage Stage     `json:"stage"`
	Since time.Time `json:"since"`
}

// Busy is how many fetches are under way.
func (a *Activity) Busy() (n int) {
	for _, of := range a.Stages {
		n += of
	}
	return n
}

// First returns the n stages that most fetches are at, the largest first.
func (a *Activity) First(n int) []Stage {
	all := slices.DeleteFunc(Stages(), func(s Stage) bool { return a.Stages[s] == 0 })
	slices.SortStableFunc(all, func(x, y Stage) int { return a.Stages[y] - a.Stages[x] })
	return all[:min(n, len(all))]
}

type stageKey struct{}

// WithStages returns a context whose fetch calls enter at each stage.
func WithStages(ctx context.Context, enter func(Stage)) context.Context {
	return context.WithValue(ctx, stageKey{}, enter)
}

// AtStage tells that the fetch of a context is at a stage.
func AtStage(ctx context.Context, s Stage) {
	if enter, _ := ctx.Value(stageKey{}).(func(Stage)); enter != nil {
		enter(s)
	}
}
