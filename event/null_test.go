package event

// dropNull makes the nulls of lists' elements 0 and removes those of members.
func dropNull(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case []any:
			for _, x := range v {
				f, ok := x.(map[string]any)
				number := "priority"
				if k == "dated" {
					number = "value"
				}
				if ok && f["reason"] == nil && f[number] == nil {
					f[number] = 0.0
				}
			}
		}
	}
}
