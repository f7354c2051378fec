package event

import "strconv"

// Ending says how a run ended. It is a constant for programs, in the log and wherever else it is
// told; Words are for people.
type Ending string

// The ways a run ends.
const (
	BudgetSpent   Ending = "BudgetSpent"
	FrontierEmpty Ending = "FrontierEmpty"
	Stopped       Ending = "Stopped"
	// HostsDown: all links that wait are of hosts that do not answer.
	HostsDown Ending = "HostsDown"
	// GainLow: the next pages are expected to bring too few relevant ones.
	GainLow Ending = "GainLow"
)

// Endings are all of them.
func Endings() []Ending { return []Ending{BudgetSpent, FrontierEmpty, GainLow, HostsDown, Stopped} }

// Words say it to people; "" for no ending.
func (e Ending) Words() string {
	switch e {
	case BudgetSpent:
		return "the budget is spent"
	case FrontierEmpty:
		return "no link is left"
	case GainLow:
		return "the next pages are expected to bring too little"
	case HostsDown:
		return "the links left are of hosts that do not answer"
	case Stopped:
		return "it was stopped"
	}
	return Line(string(e)) // of another version
}

// WithMuted returns Words, and where no link is left, how many links mutes keep out of the
// frontier.
func (e Ending) WithMuted(links int) string {
	words := e.Words()
	if e == FrontierEmpty && links > 0 {
		words += ", but " + strconv.Itoa(links) + " that mutes set aside"
	}
	return words
}
