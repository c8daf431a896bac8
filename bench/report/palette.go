package report

import "strings"

// paint is how a subject looks in every chart of a report.
type paint struct {
	fill  string
	ink   string // the same hue, dark enough for text
	shape int
	rank  rank
}

type rank int // what is drawn last lies on top

const (
	yardstick rank = iota
	peer
	own
)

// palette gives Bursar blue and orange, which all eyes tell apart, peers muted
// hues that also differ in lightness, and yardsticks greys.
func (r Report) palette() map[string]paint {
	hues := map[rank][]paint{
		own:       {{fill: "#0b63ce", ink: "#0b57b5"}, {fill: "#e0640a", ink: "#b34a00"}},
		peer:      {{fill: "#6fb3a2", ink: "#2f7565"}, {fill: "#a3d1c4", ink: "#3f7a6c"}, {fill: "#a98bc0", ink: "#6f4f8a"}, {fill: "#c9b2dc", ink: "#76588f"}, {fill: "#c8ad5e", ink: "#7d6416"}, {fill: "#d898a4", ink: "#96485a"}},
		yardstick: {{fill: "#868e96", ink: "#59636e"}, {fill: "#adb5bd", ink: "#636c76"}, {fill: "#5c636a", ink: "#4b5259"}, {fill: "#c6ccd2", ink: "#6a737c"}},
	}
	used := map[rank]int{}
	out := map[string]paint{}
	for i, s := range r.allSubjects() {
		rank := s.rank()
		p := hues[rank][used[rank]%len(hues[rank])]
		p.rank, p.shape = rank, i
		out[s.Name] = p
		used[rank]++
	}
	return out
}

func (s Subject) rank() rank {
	switch {
	case strings.HasPrefix(s.Name, "bursar"):
		return own
	case strings.HasPrefix(s.Name, "bare"):
		return yardstick
	}
	return peer
}
