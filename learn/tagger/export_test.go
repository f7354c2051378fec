package tagger

// Objective is what training minimises, with its gradient.
func Objective(sequences []Sequence, shape Shape, variance float64, x []float64) (float64, []float64) {
	grad := make([]float64, len(x))
	return newFit(sequences, shape, variance).objective(x, grad), grad
}
