package paths

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ReadTask reads the paths of one task from files; "" is the only one there is. note is
// told of lines that are not understood.
func ReadTask(names []string, task string, note func(string)) (set []Path, err error) {
	var tasks []string
	for _, name := range names {
		more, problems, err := ReadFile(name)
		if err != nil {
			return nil, err
		}
		for _, p := range problems {
			note(p.String())
		}
		for _, p := range more {
			if !slices.Contains(tasks, p.Task) {
				tasks = append(tasks, p.Task)
			}
			if task == "" || p.Task == task {
				set = append(set, p)
			}
		}
	}
	switch {
	case task == "" && len(tasks) > 1:
		return nil, fmt.Errorf("the paths are of %d tasks: choose one with --task, of %s", len(tasks), strings.Join(tasks, ", "))
	case len(set) == 0 && task != "":
		return nil, fmt.Errorf("no path is of the task %q; there are %s", task, strings.Join(tasks, ", "))
	case len(set) == 0:
		return nil, errors.New("there is no path in the files")
	}
	return set, nil
}
