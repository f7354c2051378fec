package forage

// Brief is how the foraging ended in a few plain words, for people.
func (e Ending) Brief() string {
	switch e {
	case Done:
		return "done"
	case Budget:
		return "budget spent"
	case Through:
		return "no link left"
	case Down:
		return "start page not available"
	case Moved:
		return "moved to another site"
	case Stopped:
		return "stopped"
	}
	return string(e)
}
