package job

import (
	"fmt"
	"os"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
)

// TakeTopic fills in what a new job leaves out of its topic with what its critic knows
// of the topics in focus, if it goes by one: names on their paths as keywords, titles
// and descriptions of their examples as description, and, where there is neither seed
// nor example, the addresses of examples as the examples, which are seeds and targets
// as well. What the job has stays. The error is an *Error.
func (j *Job) TakeTopic() error {
	t := &j.Topic
	words, pages := len(t.Keywords) == 0 && t.Description == "", len(t.Examples) == 0 && len(j.Seeds) == 0
	if !j.byCritic() || len(j.Judge.Focus) == 0 || !words && !pages {
		return nil
	}
	b, err := os.ReadFile(j.Judge.Critic)
	if err != nil {
		return &Error{"judge.critic", fmt.Errorf("the critic: %w", err)}
	}
	c, err := judge.ReadCritic(b, j.Judge.Critic)
	if err != nil {
		return &Error{"judge.critic", err}
	}
	s, err := c.Start(j.Judge.Focus)
	if err != nil {
		return &Error{"judge.focus", err}
	}
	if words {
		t.Keywords, t.Description = s.Keywords, s.Description
	}
	if pages {
		t.Examples = s.Addresses
	}
	return nil
}

// languages are those by whose rules pages are read. A critic knows words as it was trained
// with them, by the rules of English, and next to none that was made by those of the topic.
func (m *Maker) languages() []string {
	if m.Job.byCritic() {
		return []string{text.English}
	}
	return m.first.Languages()
}

// SeedByExamples makes seeds of the examples that are addresses, if there is no seed.
func (j *Job) SeedByExamples() {
	if len(j.Seeds) > 0 {
		return
	}
	for _, e := range j.Topic.Examples {
		if IsAddress(e) {
			j.Seeds = append(j.Seeds, e)
		}
	}
}
